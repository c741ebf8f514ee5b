"""Amounts, durations, numbers and moments in words."""

from datetime import timedelta

import pytest
from babel import Locale

from orders.fields.money import Money
from orders.wording.units import (
    ENGLISH,
    bounded,
    counted,
    duration,
    elapsed,
    money,
    nearest_relative,
    number,
    plain_money,
    relative,
    short_duration,
    short_relative,
    spoken_duration,
    time_left,
)

GERMAN = Locale("de")


@pytest.mark.parametrize(
    ("seconds", "words", "in_short"),
    [
        (-3, "0 ms", "0 ms"),
        (0.0124, "12 ms", "12 ms"),
        (0.9996, "1.0 s", "1.0 s"),
        (3.21, "3.2 s", "3.2 s"),
        (9.96, "10 s", "10 s"),
        (59.4, "59 s", "59 s"),
        (59.9, "1 min", "59 s"),
        (312, "5 min 12 s", "5 min"),
        (3_599.7, "1 h", "59 min"),
        (11_100, "3 h 5 min", "3 h"),
        (356_400, "4 d 3 h", "4 d"),
    ],
)
def test_durations_have_the_units_that_matter(seconds: float, words: str, in_short: str) -> None:
    assert (duration(seconds), short_duration(seconds)) == (words, in_short)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.0124, "0.012"),
        (59.9996, "1:00.000"),
        (62.345, "1:02.345"),
        (3_753.4, "1:02:33"),
        (-0.5, "-0.500"),
    ],
)
def test_moments_are_shown_relative_to_the_start(seconds: float, shown: str) -> None:
    assert elapsed(seconds) == shown


def test_numbers_have_the_right_plural() -> None:
    assert [counted(count, "order") for count in (0, 1, 1_200)] == ["0 orders", "1 order", "1,200 orders"]


def test_a_count_that_stopped_at_its_limit_says_so() -> None:
    assert [bounded(count, 10_000) for count in (3, 10_000, 10_001)] == ["3", "10,000", "10,000+"]
    assert [number(value) for value in (1_234, 0.5)] == ["1,234", "0.5"]


def test_an_amount_is_written_in_its_readers_format() -> None:
    price = Money(amount=103_900, currency="EUR")
    assert money(price, locale=ENGLISH) == "€1,039.00"
    assert money(price, locale=ENGLISH, short=True) == "€1,039"
    assert money(Money(amount=3_950, currency="EUR"), locale=ENGLISH, short=True) == "€39.50"
    assert money(price, locale=GERMAN) == "1.039,00\xa0€"
    assert plain_money(price) == "EUR 1,039.00"


def test_an_amount_has_the_decimals_of_its_currency() -> None:
    assert Money(amount=103_900, currency="EUR").figures == "1039.00"
    assert Money(amount=3_900, currency="JPY").figures == "3900"
    assert plain_money(Money(amount=3_900, currency="JPY")) == "JPY 3,900"


def test_a_moment_is_shown_relative_to_now() -> None:
    assert relative(timedelta(seconds=-12)) == "12 seconds ago"
    assert relative(timedelta(minutes=2)) == "in 2 minutes"
    assert relative(timedelta(minutes=2), locale=GERMAN) == "in 2 Minuten"
    assert [short_relative(seconds) for seconds in (290, -12)] == ["in 5 min", "12 s ago"]
    assert spoken_duration(130, locale=ENGLISH) == "2 minutes"


@pytest.mark.parametrize(
    ("away", "words"),
    [
        (timedelta(days=7, seconds=-1), "in 7 days"),
        (timedelta(days=6, hours=11), "in 6 days"),
        (timedelta(hours=23, minutes=40), "in 1 day"),
        (timedelta(seconds=59.6), "in 1 minute"),
        (timedelta(seconds=-89), "1 minute ago"),
        (timedelta(minutes=-100), "2 hours ago"),
        (timedelta(seconds=0.2), "0 seconds ago"),
    ],
)
def test_a_moment_is_rounded_to_the_nearest_unit(away: timedelta, words: str) -> None:
    assert nearest_relative(away) == words


def test_the_time_that_is_left_is_rounded_to_the_nearest_unit() -> None:
    lengths = (0.3, 8.26, 29.6, 59.7, 3_570, 604_799)
    assert [time_left(seconds) for seconds in lengths] == ["300 ms", "8.3 s", "30 s", "1 min", "1 h", "7 d"]
