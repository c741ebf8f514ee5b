"""What delivery costs, how long it takes, and what tax is included."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from babel import Locale
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from orders.business import BadOrderError, Money, SumRow
from orders.shop import delivery_words
from orders.shop.delivery import (
    Arrival,
    Delivery,
    Terms,
    arrival,
    expected_arrival,
    included_tax,
    summed_again,
    sums,
    working_day_after,
)
from orders.shop.description import as_json, parse
from orders.shop.pricing import NotDeliveredError, Tariff
from orders.shop.workflows import FulfilOrder
from tests.support.order_bodies import TOTAL, submitted_body

DELIVERY = {"price": 690, "fewest_days": 2, "most_days": 4}
SUMMED = {"delivery": DELIVERY, "tax": {"rate": 2000, "amount": 2232}, "total": TOTAL + 690}
GERMANY = Terms(price=690, fewest_days=2, most_days=4, tax_rate=1900)
ELSEWHERE = Terms(price=1990, fewest_days=7, most_days=14, tax_rate=0)


@pytest.mark.parametrize(
    ("total", "rate", "amount"),
    [
        (12_100, 2100, 2100),
        (6_935, 2100, 1204),  # 1203.59
        (105, 500, 5),
        (3, 5000, 1),
        (21, 500, 1),
        (63, 500, 3),
        (10_401, 400, 400),  # 400.04
        (13, 400, 1),  # 0.5: half up
        (39, 400, 2),  # 1.5: half up, and so would half to even
        (65, 400, 3),  # 2.5: half up, and not to even
        (1, 2100, 0),
        (10**15, 810, 74_930_619_796_485),
    ],
)
def test_the_tax_in_a_total_is_rounded_half_up(total: int, rate: int, amount: int) -> None:
    assert included_tax(total, rate) == amount


@given(total=st.integers(1, 2**40), rate=st.integers(1, 5000))
def test_the_tax_in_a_total_is_less_than_the_total_and_at_most_half_a_cent_off(total: int, rate: int) -> None:
    amount = included_tax(total, rate)
    assert 0 <= amount < total
    assert abs(2 * (amount * (10_000 + rate) - total * rate)) <= 10_000 + rate


@pytest.mark.parametrize(
    ("day", "count", "after"),
    [
        (date(2026, 11, 27), 1, date(2026, 11, 30)),  # Friday: Monday
        (date(2026, 11, 28), 1, date(2026, 11, 30)),  # Saturday
        (date(2026, 11, 29), 1, date(2026, 11, 30)),  # Sunday
        (date(2026, 11, 27), 2, date(2026, 12, 1)),  # over the end of a month
        (date(2026, 11, 27), 6, date(2026, 12, 7)),  # over two weekends
        (date(2026, 12, 30), 3, date(2027, 1, 4)),  # over the end of a year
        (date(2028, 2, 28), 2, date(2028, 3, 1)),  # over the day of a leap year
        (date(2026, 11, 30), 5, date(2026, 12, 7)),
    ],
)
def test_working_days_leave_out_weekends(day: date, count: int, after: date) -> None:
    assert working_day_after(day, count) == after


def test_a_delivery_should_arrive_from_its_fewest_to_its_most_working_days() -> None:
    terms = Delivery(price=0, fewest_days=2, most_days=4)
    assert arrival(terms, date(2026, 11, 27)) == Arrival(date(2026, 12, 1), date(2026, 12, 3))


@pytest.mark.parametrize(
    ("now", "is_said"),
    [
        (datetime(2026, 11, 20, tzinfo=UTC), True),
        (datetime(2026, 11, 26, 23, 59, tzinfo=UTC), True),
        (datetime(2026, 11, 27, tzinfo=UTC), False),
        (datetime(2026, 11, 27, 0, 30, tzinfo=timezone(timedelta(hours=1))), True),
    ],
)
def test_an_arrival_is_expected_until_its_last_day_has_passed(now: datetime, is_said: bool) -> None:
    """Of UTC."""
    days = expected_arrival({"delivery": DELIVERY}, datetime(2026, 11, 20, 9, tzinfo=UTC), now=now)
    assert days == (Arrival(date(2026, 11, 24), date(2026, 11, 26)) if is_said else None)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Tue 1 Dec – Thu 3 Dec"),
        ("hu", "december 1., kedd – december 3., csütörtök"),
        ("ko", "12월 1일 (화) ~ 3일 (목)"),
        ("zh_Hans", "12月1日周二至3日周四"),
    ],
)
def test_the_days_are_written_as_is_usual_in_the_language(language: str, words: str) -> None:
    days = Arrival(date(2026, 12, 1), date(2026, 12, 3))
    assert delivery_words.arrives(days, locale=Locale.parse(language)).replace("\u2009", " ") == words


@pytest.mark.parametrize(("language", "words"), [("en", "Tue 1 Dec"), ("hu", "december 1., kedd")])
def test_one_day_is_written_once(language: str, words: str) -> None:
    days = Arrival(date(2026, 12, 1), date(2026, 12, 1))
    assert delivery_words.arrives(days, locale=Locale(language)) == words


@pytest.mark.parametrize(("rate", "words"), [(2100, "21%"), (810, "8.1%"), (2550, "25.5%"), (1, "0.01%")])
def test_a_rate_is_written_without_zeros_at_its_end(rate: int, words: str) -> None:
    assert delivery_words.percentage(rate, locale=Locale("en")) == words


def test_an_order_for_a_country_has_its_terms_in_its_data() -> None:
    assert sums(12_700, GERMANY) == {
        "delivery": DELIVERY,
        "tax": {"rate": 1900, "amount": 2138},
        "total": 13_390,
    }
    assert sums(100, ELSEWHERE) == {
        "delivery": {"price": 1990, "fewest_days": 7, "most_days": 14},
        "total": 2090,
    }
    assert sums(100, None) == {"total": 100}


def test_the_tax_of_fewer_lines_is_less_and_their_delivery_costs_the_same() -> None:
    before = sums(12_700, GERMANY)
    assert summed_again(before, 3_900) == {"tax": {"rate": 1900, "amount": 733}, "total": 4_590}
    assert summed_again({"total": 5}, 3) == {"total": 3}


def test_a_country_has_its_own_terms_or_those_of_every_other_one() -> None:
    tariff = Tariff({("EUR", "DE"): GERMANY, ("EUR", ""): ELSEWHERE})
    assert tariff.terms("EUR", "DE") == GERMANY
    assert tariff.terms("EUR", "IS") == ELSEWHERE
    assert tariff.terms("USD", "DE") is None
    assert tariff.cheapest("EUR") == 690


def test_a_country_without_any_terms_is_not_served_if_its_currency_has_some() -> None:
    tariff = Tariff({("EUR", "DE"): GERMANY})
    with pytest.raises(NotDeliveredError) as refused:
        tariff.terms("EUR", "IS")
    assert refused.value.mistakes == {"ship_to": {"country": ["Nothing is delivered to IS."]}}
    assert [tariff.serves(*where) for where in (("EUR", "IS"), ("EUR", "DE"), ("USD", "IS"))] == [
        *(False, True, True)
    ]


def test_an_order_keeps_its_delivery_and_its_tax() -> None:
    data = submitted_body(**SUMMED)
    read = as_json(parse(data))
    assert {name: read[name] for name in SUMMED} == SUMMED
    assert as_json(parse(read)) == read


def test_an_order_from_before_there_was_delivery_reads_as_ever() -> None:
    read = as_json(parse(submitted_body()))
    assert read["total"] == TOTAL
    assert not {"delivery", "tax"} & read.keys()


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({**SUMMED, "total": TOTAL}, "total"),
        ({"total": TOTAL + 690}, "total"),
        ({**SUMMED, "delivery": 690}, "delivery"),
        ({**SUMMED, "delivery": {**DELIVERY, "price": -1}}, "delivery.price"),
        ({**SUMMED, "delivery": {**DELIVERY, "price": 2**31}}, "delivery.price"),
        ({**SUMMED, "delivery": {**DELIVERY, "fewest_days": 0}}, "delivery.fewest_days"),
        ({**SUMMED, "delivery": {**DELIVERY, "most_days": 1}}, "delivery.most_days"),
        ({**SUMMED, "delivery": {**DELIVERY, "most_days": 100}}, "delivery.most_days"),
        ({**SUMMED, "tax": []}, "tax"),
        ({**SUMMED, "tax": {"rate": 0, "amount": 1}}, "tax.rate"),
        ({**SUMMED, "tax": {"rate": 5001, "amount": 1}}, "tax.rate"),
        ({**SUMMED, "tax": {"rate": 2100}}, "tax.amount"),
        ({**SUMMED, "tax": {"rate": 2100, "amount": -1}}, "tax.amount"),
        ({**SUMMED, "tax": {"rate": 2100, "amount": TOTAL + 690}}, "tax.amount"),
    ],
)
def test_data_that_do_not_add_up_are_no_order(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(BadOrderError) as refused:
        parse(submitted_body(**changes))
    assert refused.value.where == where


def test_the_rows_of_a_sum_are_in_the_readers_language() -> None:
    data = submitted_body(**SUMMED)
    with translation.override("en"):
        assert FulfilOrder.sum_rows(data) == [
            SumRow(label="Delivery to France", amount=Money(amount=690, currency="EUR"), is_included=False),
            SumRow(label="Includes 20% VAT", amount=Money(amount=2232, currency="EUR"), is_included=True),
        ]
    with translation.override("hu"):
        assert FulfilOrder.sum_rows(data)[0].label != "Delivery to France"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"currency": 5, "delivery": DELIVERY},
        {"currency": "EUR", "delivery": 7, "tax": "x", "total": "y"},
        {"currency": "EUR", "tax": {"rate": 2100, "amount": 9}, "total": None},
        submitted_body(),
    ],
)
def test_an_order_whose_data_do_not_say_has_no_rows_and_no_members(data: dict[str, Any]) -> None:
    assert list(FulfilOrder.sum_rows(data)) == []
    assert FulfilOrder.client_values(data, {}) == {}


def test_an_address_in_another_form_has_rows_all_the_same() -> None:
    data = {"currency": "EUR", "delivery": DELIVERY, "ship_to": "Delft"}
    assert [row.amount.amount for row in FulfilOrder.sum_rows(data)] == [690]
