"""The query language: what is written is what is read, and nothing that cannot be read is passed over."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.selectors.desk.filters import OrderFilter
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
    if not field.allowed and field.several and name not in ("id", "attribute")
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
        values = draw(st.lists(st.sampled_from(field.allowed), min_size=1, max_size=3))
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
        ("state:error colour:red", "colour:", "There is no field “colour”. There are state, standing,"),
        ("state:eror", "state:eror", "Choose from pending, processing, processed, error, compensated."),
        ("total:much", "total:much", "Enter an amount"),
        ("since:someday", "since:someday", "Enter a day or a time"),
        ("placed:2026-02-30", "placed:2026-02-30", "There is no such day."),
        ("agent: mail", "agent:", "Say which after “agent:”, as in agent:payments."),
        ("agent:mail,", "agent:", "Say which"),
        ('title:"tidal', '"tidal', "Close the quotation marks."),
        ('"a"b', '"a"', "Put a space after"),
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
