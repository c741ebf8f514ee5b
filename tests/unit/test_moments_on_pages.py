"""A moment on a page: an age for a day, and then a date; the same as the browser then goes on counting."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from babel import Locale
from django.utils import translation

from orders.fields.locales import reader_locale
from orders.fields.money import Money
from orders.templatetags.pages import deadline, moment
from orders.wording import clock_times, units

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
ENGLISH = Locale("en")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "now"),
        (9, "now"),
        (-9, "now"),
        (10, "10 seconds ago"),
        (59.9, "59 seconds ago"),
        (60, "1 minute ago"),
        (119, "1 minute ago"),
        (5_400, "1 hour ago"),
        (86_399, "23 hours ago"),
        (86_400, "26 Nov"),
        (93_600, "26 Nov"),
        (400 * 86_400, "23 Oct 2025"),
        (-119, "in 1 minute"),
        (-90_000, "28 Nov"),
        (-60 * 86_400, "26 Jan 2027"),
    ],
)
def test_a_moment_is_an_age_for_a_day_and_then_a_date(seconds: float, text: str) -> None:
    at = NOW - timedelta(seconds=seconds)
    element = moment(at, NOW)
    assert re.sub("<[^>]+>", "", element) == text
    assert f'datetime="{at.isoformat()}"' in element
    assert str(at.year) in element.split('title="')[1].split('"')[0], "the exact time is on the element"


def test_ages_and_dates_are_in_the_readers_language() -> None:
    assert units.age(timedelta(seconds=-119), locale=Locale("hu")) == "1 perccel ezelőtt"
    assert units.day(NOW, today=NOW.date(), locale=Locale("ko")) == "11월 27일"
    assert units.day(NOW, today=NOW.date().replace(year=2027), locale=ENGLISH) == "27 Nov 2026"


def spaced(text: str) -> str:
    """A text with ordinary spaces where it has narrow ones that do not break."""
    return text.replace("\u202f", " ")


@pytest.mark.parametrize(
    ("language", "minute", "second"),
    [
        ("en", "27 Nov 2026, 14:05 UTC", "27 Nov 2026, 14:05:09"),
        ("en_US", "Nov 27, 2026, 2:05 PM UTC", "Nov 27, 2026, 2:05:09 PM"),
        ("hu", "2026. nov. 27., 14:05 UTC", "2026. nov. 27. 14:05:09"),
        ("ko", "2026. 11. 27., 14:05 UTC", "2026. 11. 27. 14시 5분 9초"),
        ("zh_Hans", "2026年11月27日, 14:05 UTC", "2026年11月27日 14:05:09"),
    ],
)
def test_the_time_of_day_is_written_as_people_write_it(language: str, minute: str, second: str) -> None:
    at, locale = NOW.replace(hour=14, minute=5, second=9), Locale.parse(language)
    with translation.override("en"):  # the dates are by the locale, the words between them in English
        assert spaced(clock_times.exact_moment(at, locale=locale)) == minute
    assert spaced(clock_times.exact_second(at, zone=UTC, locale=locale)) == second
    with translation.override(language.replace("_", "-").lower()):
        assert f'title="{second} UTC"' in spaced(moment(at, NOW))


def test_only_dates_and_times_are_written_as_in_britain() -> None:
    with translation.override("en"):
        assert units.money(Money(amount=123_450, currency="USD"), locale=reader_locale()) == "$1,234.50"
        assert reader_locale().first_week_day == Locale("en").first_week_day


@pytest.mark.parametrize(
    ("away", "text"),
    [
        (timedelta(minutes=30), "27 Nov 2026, 12:30 UTC (in 30 minutes)"),
        (timedelta(days=2), "29 Nov 2026, 12:00 UTC"),
    ],
)
def test_a_deadline_is_a_date_and_a_time_and_within_a_day_how_far_away_it_is(
    away: timedelta, text: str
) -> None:
    assert spaced(re.sub("<[^>]+>", "", deadline(NOW + away, NOW))) == text
