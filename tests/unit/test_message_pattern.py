"""Which messages have one cause: those that differ only in ids, numbers, email addresses and quoted words (O1)."""

import string
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.engine.runtime.text import LONGEST_PATTERN, message_pattern

pytestmark = pytest.mark.pattern("O1")

WORDS = st.text(
    string.ascii_letters.translate(str.maketrans("", "", "abcdefABCDEF")), min_size=1, max_size=12
)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no answer within 5.0 s", "no answer within … s"),
        ("it answered 503\n  Service   Unavailable", "it answered … Service Unavailable"),
        ("order 0193a1b2-0000-7000-8000-0000000000aa is closed", "order … is closed"),
        ("key 9f86d081884c7d659a2feaa0 was used", "key … was used"),
        ("no such SKU 'POSTER-1' here", "no such SKU … here"),
        ("mail to ada@example.org bounced", "mail to … bounced"),
        ("at 12:30:01, 1,000.5 units", "at …, … units"),
        ("a facade of decade-old deadbeef", "a facade of decade-old deadbeef"),  # words, not ids
        ("", ""),
    ],
)
def test_values_that_differ_between_orders_are_removed(message: str, expected: str) -> None:
    assert message_pattern(message) == expected


def test_the_subject_of_a_message_is_kept() -> None:
    message = "nobody has 'bake v2', not even 3 of 7, as bake v2 was"
    assert message_pattern(message, keep="bake v2") == "nobody has 'bake v2', not even … of …, as bake v2 was"


@given(
    st.lists(WORDS, min_size=1, max_size=6),
    st.uuids(),
    st.uuids(),
    st.integers(0, 10**12),
    st.integers(0, 10**12),
)
def test_messages_that_differ_only_in_ids_and_numbers_share_a_pattern(
    words: list[str], first_id: UUID, second_id: UUID, first_number: int, second_number: int
) -> None:
    text = " ".join(words)
    first, second = (
        message_pattern(f"{text} {key} after {n} s")
        for key, n in ((first_id, first_number), (second_id, second_number))
    )
    assert first == second == f"{text} … after … s"[:LONGEST_PATTERN]


@given(st.text())
def test_any_text_has_a_pattern_of_bounded_length_on_one_line(message: str) -> None:
    pattern = message_pattern(message)
    assert len(pattern) <= LONGEST_PATTERN
    assert "\n" not in pattern
    assert message_pattern(message) == pattern
