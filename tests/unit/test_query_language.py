"""The query language: what is written is what is read, and nothing that cannot be read is passed over."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.selectors.desk.filters import OrderFilter, describe
from orders.selectors.desk.query import Condition, Query, QueryError, parse
from orders.selectors.desk.query_fields import ALIASES, FIELDS
from orders.selectors.desk.query_values import (
    Amounts,
    Range,
    read_ages,
    read_amounts,
    read_numbers,
    read_times,
    read_until,
)

FREE = [
    name
    for name, field in FIELDS.items()
    if not field.allowed and field.several and name not in ("id", "number", "attribute")
]
VALUE = (
    st.text(st.sampled_from('aBß7 .:,-"\\€'), min_size=2, max_size=8)
    .map(str.strip)
    .filter(lambda text: len(text) > 1)
)


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    """A condition on any field, as it is after it has been read."""
    name = draw(st.sampled_from(sorted(FIELDS)))
    field = FIELDS[name]
    if name in FREE:
        values = draw(st.lists(VALUE.filter(lambda text: text != "1"), min_size=1, max_size=3))
    elif field.allowed:
        values = draw(st.lists(st.sampled_from(field.allowed).map(field.read), min_size=1, max_size=3))
    else:
        values = [parse(field.example).conditions[0].values[0]]
    return Condition(name=name, values=tuple(values), negated=draw(st.booleans()))


@given(st.lists(conditions(), max_size=4), st.one_of(st.just(""), VALUE))
def test_a_query_is_read_as_it_is_written(parts: list[Condition], text: str) -> None:
    query = Query(conditions=tuple(parts), text=text)
    assert parse(str(query)) == query


@given(st.text(st.sampled_from('ab:"\\,- \n>.1state'), max_size=40))
def test_whatever_is_written_is_read_or_refused_and_what_is_read_stays_the_same(text: str) -> None:
    try:
        query = parse(text)
    except QueryError as error:
        assert error.word in text and str(error)
        return
    assert parse(str(query)) == query


@pytest.mark.parametrize(
    "text",
    [
        "ght  trai",
        "ada@example.org",
        "EUR 39.00",
        "method=xrd",
        'a 12" poster',
        "a, b",
        "12:30",
        "-5",
        "'; drop table",
        "sun and moon",
        "SUN AND MOON",
        "not found (twice)",
        "a | b",
    ],
)
def test_plain_words_are_what_they_always_were(text: str) -> None:
    assert parse(f" {text} ") == Query(text=text)


def test_conditions_stand_anywhere_and_in_any_order() -> None:
    query = parse('tidal state:error,pending -agent:mail title:"night train, a2" lines')
    assert query == Query(
        conditions=(
            Condition(name="state", values=("error", "pending")),
            Condition(name="agent", values=("mail",), negated=True),
            Condition(name="title", values=("night train, a2",)),
        ),
        text="tidal lines",
    )


@pytest.mark.parametrize("name", FIELDS)
def test_the_example_of_each_field_is_one(name: str) -> None:
    (condition,) = parse(FIELDS[name].example).conditions
    assert condition.name == name


def test_the_former_names_of_the_filters_are_fields() -> None:
    assert [parse(text).conditions[0].name for text in ("kind:error", "code:no", "older:2h")] == list(
        ALIASES.values()
    )


@pytest.mark.parametrize(
    ("text", "word", "says"),
    [
        ("state:error colour:red", "colour:", "There is no field “colour”. Choose from state, standing,"),
        ("state:eror", "state:eror", "Choose from pending, processing, processed, error, cancelled."),
        ("total:much", "total:much", "Enter an amount"),
        ("since:someday", "since:someday", "Enter a day or a time"),
        ("placed:2026-02-30", "placed:2026-02-30", "There is no such day."),
        ("agent: mail", "agent:", "Say which after “agent:”, as in agent:payments."),
        ("agent:mail,", "agent:", "Say which"),
        ('title:"tidal', '"tidal', "Close the quotation marks."),
        ('"a"b', '"a"', "Put a space after"),
        ("tidal OR sun", "OR", "To search for the word itself, put it in quotation marks."),
        ("state:error or agent:mail", "or", "Search for other alternatives one at a time."),
        ("state:error || agent:mail", "||", "Separate alternatives of one field with commas"),
        ("state:error AND agent:mail", "AND", "Leave it out"),
        ("state:error not agent:mail", "not", "Put - before"),
        ("(state:error tidal", "(state:error", "no brackets"),
        ("stat:error", "stat:", "Did you mean state?"),
    ],
)
def test_a_word_that_cannot_be_read_is_named_with_what_may_stand_there(
    text: str, word: str, says: str
) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert raised.value.word == word
    assert says in str(raised.value)
    assert OrderFilter(q=text).is_impossible


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3", (3, 3)),
        (">3", (4, None)),
        (">=3", (3, None)),
        ("<3", (None, 2)),
        ("<=3", (None, 3)),
        ("3..5", (3, 5)),
        ("3..", (3, None)),
    ],
)
def test_numbers_are_ranges(text: str, numbers: tuple[int | None, int | None]) -> None:
    assert read_numbers(text) == Range(*numbers)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        (">200", Amounts(20_001, None)),
        ("39,5", Amounts(3_950, 3_950)),
        ("200..300EUR", Amounts(20_000, 30_000, "EUR")),
        ("200..300JPY", Amounts(200, 300, "JPY")),
        ("JPY200..", Amounts(200, None, "JPY")),
        ("<=€39.00", Amounts(None, 3_900, "EUR")),
        (">JPY1000", Amounts(1_001, None, "JPY")),
    ],
)
def test_amounts_are_in_minor_units_of_their_currency(text: str, amounts: Amounts) -> None:
    assert read_amounts(text) == amounts


def test_times_are_those_of_the_installations_zone() -> None:
    """On a Thursday, half an hour after midnight in Berlin."""
    zone, now = ZoneInfo("Europe/Berlin"), datetime(2026, 11, 4, 23, 30, tzinfo=UTC)
    midnight = datetime(2026, 11, 4, 23, 0, tzinfo=UTC)

    def days(text: str) -> tuple[float, float]:
        start, end = read_times(text, now=now, zone=zone)
        return (start - midnight) / timedelta(days=1), (end - midnight) / timedelta(days=1)

    assert days("today") == days("thursday") == days("2026-11-05") == (0, 1)
    assert days("yesterday") == days("wednesday") == (-1, 0)
    assert days("friday") == (-6, -5)
    assert days("2026-11-01..2026-11-04") == (-4, 0)
    assert days("2026-12")[0] == 26
    assert read_times("2h", now=now, zone=zone) == (now - timedelta(hours=2), now)
    assert read_until("2h", now=now, zone=zone) == now - timedelta(hours=2)
    assert read_until("yesterday", now=now, zone=zone) == midnight
    assert read_ages("<2h") == (None, timedelta(hours=2))
    assert read_ages("2h") == (timedelta(hours=2), None)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "all orders"),
        ("tidal -waiting:anything", "orders matching tidal, that do not wait"),
        ("-waiting:carrier,mail", "orders that do not wait for carrier or mail"),
        ("state:error -agent:mail", "orders in state error, not at agent mail"),
        (
            "owner:olga -acknowledged:olga",
            "orders with an alert whose cause olga owns, without an alert whose cause olga has acknowledged",
        ),
        (
            "total:>200 -total:200..300EUR",
            "orders with a total over 200.00 in any currency, without a total of €200.00 to €300.00",
        ),
        ("failures:1 failures:>2", "orders with 1 failure, with more than 2 failures"),
        ("priority:>=5 attempts:..3", "orders of priority at least 5, with at most 3 attempts at a step"),
        ("since:2h until:yesterday", "orders placed since 2h ago, placed until yesterday"),
        (
            "-since:2026-11-01 placed:2026-11..today",
            "orders placed before 2026-11-01, placed from 2026-11 to today",
        ),
        ("age:2h age:<1d age:1h..2h", "orders older than 2h, younger than 1d, between 1h and 2h old"),
        ("-archived:no promise:late", "orders in the archive, later than promised"),
        ("paused:yes -paused:no", "orders that are paused, that are paused"),
        ("standing:compensation_failed", "orders with standing cancellation failed"),
        ("state:eror", "no orders, because the query cannot be read"),
    ],
)
def test_a_query_is_said_in_plain_words(query: str, words: str) -> None:
    assert describe(OrderFilter(q=query)) == words


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("sign", ["", "-"])
def test_each_field_has_words(name: str, sign: str) -> None:
    assert describe(OrderFilter(q=sign + FIELDS[name].example)).startswith("orders ")
