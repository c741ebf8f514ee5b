"""The number of an order: what it is made of, how it may be typed, and which mistakes its check character finds."""

from itertools import combinations
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.fields.order_numbers import (
    ALPHABET,
    BASE,
    EXAMPLE,
    NUMBERS,
    MistakenNumberError,
    is_written_as_number,
    number_value,
    read_number,
    spoken_number,
    value_of,
)

ORDER = UUID("5d1c6f0e-2f0b-4a38-9c1b-6f2f6e0f7a51")
NUMBER = spoken_number(ORDER)
ids = st.uuids()


def refused(text: str) -> bool:
    try:
        read_number(text)
    except MistakenNumberError:
        return True
    return False


def test_the_number_of_an_id_never_changes() -> None:
    """It is in emails, and customers have written it down."""
    assert NUMBER == "5S3E-H57A"
    assert spoken_number(UUID(int=0)) == "XGWT-53T6"


def test_the_alphabet_has_no_two_characters_that_look_alike() -> None:
    assert not set("01OILUQ") & set(ALPHABET)
    assert len(set(ALPHABET)) == len(ALPHABET) == BASE == 29
    assert all(BASE % divisor for divisor in range(2, BASE))
    assert NUMBERS == 29**7


@given(ids)
def test_a_number_has_two_groups_of_four_characters_and_is_read_as_it_is_written(order_id: UUID) -> None:
    number = spoken_number(order_id)
    assert len(number) == 9 and number[4] == "-" and set(number.replace("-", "")) <= set(ALPHABET)
    assert read_number(number) == number
    assert value_of(number) == number_value(order_id)
    assert is_written_as_number(number)


@pytest.mark.parametrize(
    "write",
    [
        str.lower,
        lambda number: number.replace("-", ""),
        lambda number: number.replace("-", " "),
        lambda number: f"  #{number} ",
        lambda number: " ".join(number.replace("-", "")),
        lambda number: number.replace("-", "–"),
        lambda number: "".join(
            chr(ord(character) + 0xFEE0) for character in number
        ),  # an East Asian keyboard's
    ],
)
def test_a_number_is_accepted_however_it_is_typed(write) -> None:  # type: ignore[no-untyped-def]
    assert read_number(write(NUMBER)) == NUMBER


@pytest.mark.parametrize(("meant", "typed"), [("D", "0OoQq"), ("7", "1"), ("J", "ILil"), ("V", "Uu")])
def test_a_character_that_no_number_has_is_read_as_the_one_it_looks_like(meant: str, typed: str) -> None:
    number = next(
        text for text in map(spoken_number, map(UUID, map("{:032x}".format, range(99)))) if meant in text
    )
    for character in typed:
        assert read_number(number.replace(meant, character)) == number


@given(ids, st.integers(0, 7), st.sampled_from(ALPHABET))
def test_any_one_character_that_is_wrong_is_found(order_id: UUID, place: int, other: str) -> None:
    characters = list(spoken_number(order_id).replace("-", ""))
    is_wrong = characters[place] != other
    characters[place] = other
    assert refused("".join(characters)) is is_wrong


@given(ids)
def test_any_two_characters_that_have_changed_places_are_found(order_id: UUID) -> None:
    number = spoken_number(order_id).replace("-", "")
    for first, second in combinations(range(8), 2):
        characters = list(number)
        characters[first], characters[second] = characters[second], characters[first]
        assert refused("".join(characters)) is (number[first] != number[second])


@pytest.mark.parametrize(
    "text", ["", "7KXM", str(ORDER), "7KXM-93DJ-7", "ada@example.com", "7KX!-93DJ", "ßßßß"]
)
def test_what_has_not_eight_characters_of_the_alphabet_is_no_number(text: str) -> None:
    assert read_number(text) is None


def test_the_example_that_forms_show_is_a_number() -> None:
    assert read_number(EXAMPLE) == EXAMPLE


@pytest.mark.parametrize(
    ("text", "is_number"), [("stephens", False), ("step-hens", True), ("7KXM 93DJ", True)]
)
def test_only_two_groups_of_four_are_surely_meant_as_a_number(text: str, is_number: bool) -> None:
    assert is_written_as_number(text) is is_number
