"""What pages call a state or a standing is a word of the query language, beside the name that the API has for it."""

import pytest

from orders.selectors.desk.filters import OrderFilter, describe
from orders.selectors.desk.query import QueryError, parse
from orders.selectors.desk.query_fields import FIELDS
from orders.selectors.desk.standing import StandingKind
from orders.vocabulary import ProcessState
from orders.wording.queries import EXPLANATIONS
from orders.wording.standings import STANDINGS
from orders.wording.state_labels import ORDER_STATES

LABELS = [
    *(("state", state.value, ORDER_STATES[state].label) for state in ProcessState),
    *(("standing", kind.value.replace(" ", "_"), STANDINGS[kind].label) for kind in StandingKind),
]


@pytest.mark.parametrize(("field", "name", "label"), LABELS)
def test_a_label_and_its_name_in_the_api_are_one_value_and_are_written_as_the_label(
    field: str, name: str, label: str
) -> None:
    word = label.replace(" ", "_")
    queries = [
        parse(text)
        for text in (f'{field}:"{label}"', f"{field}:{word}", f"{field}:{label.title().replace(' ', '-')}")
    ]
    assert [*queries, parse(f"{field}:{name}")] == [parse(f"{field}:{name}")] * 4
    assert queries[0].conditions[0].values == (name,)
    assert str(queries[0]) == f"{field}:{word}"
    assert describe(OrderFilter(q=f"{field}:{name}")).endswith(f" {word if field == 'state' else label}")
    assert word in FIELDS[field].allowed
    assert EXPLANATIONS[field][word].endswith(".")


def test_a_filter_of_an_old_url_is_written_with_the_word_of_the_pages() -> None:
    order_filter = OrderFilter(state="compensated", kind="extended wait", q="tidal")
    assert str(order_filter.parsed) == "state:cancelled standing:long_wait_before_a_retry tidal"


def test_an_unknown_word_is_answered_with_the_words_of_the_pages() -> None:
    with pytest.raises(QueryError) as raised:
        parse("standing:cancellation")
    assert "Did you mean standing:cancellation_failed? Choose from cancellation_failed, error," in str(
        raised.value
    )
    assert raised.value.allowed == FIELDS["standing"].allowed
    assert "compensated" not in str(raised.value)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("total:>30", "orders with a total over 30.00 in any currency"),
        ("total:>30EUR", "orders with a total over €30.00"),
        ("total:€1039,5", "orders with a total of €1,039.50"),
        ("total:..5000JPY", "orders with a total of at most ¥5,000"),
    ],
)
def test_a_total_is_said_as_the_pages_say_money(query: str, words: str) -> None:
    assert describe(OrderFilter(q=query)) == words
