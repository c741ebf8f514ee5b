"""Which words a misspelt one may stand for."""

from collections.abc import Sequence

import pytest

from orders.shop.spelling import distance_of, vocabulary_of

NAMES = ("tidal", "tide", "lines", "first", "bauhaus", "harbour", "maren", "lindqvarn", "can", "greenhouse")
DESCRIPTIONS = (
    "fires",
    "hear",
    "slower",
    "colour",
    "from",
    "where",
    "mountain",
    "coat",
    "cap",
    "circles",
    "quarter",
)


def nearest(word: str, *, is_foreign: bool = False, is_alone: bool = True) -> Sequence[str]:
    vocabulary = vocabulary_of(dict.fromkeys([*NAMES, *DESCRIPTIONS], 1), names=NAMES)
    return vocabulary.nearest(word, is_foreign=is_foreign, is_alone=is_alone)


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("tidla", ["tidal"]),  # two letters swapped
        ("lnies", ["lines"]),
        ("abuhaus", ["bauhaus"]),  # the first two
        ("harbor", ["harbour"]),  # one left out
        ("harbbour", ["harbour"]),  # one too many
        ("habruor", ["harbour"]),  # two swaps
        ("lindqvist", ["lindqvarn"]),  # three letters of a long name
        ("color", ["colour"]),  # a word of a description
        ("moutain", ["mountain"]),
        ("hause", ["bauhaus"]),  # the end of a name
        ("house", ["greenhouse"]),
        ("vauhaus", ["bauhaus"]),
    ],
)
def test_a_slip_leads_to_the_word(word: str, words: Sequence[str]) -> None:
    assert nearest(word) == words


@pytest.mark.parametrize(
    "word",
    [
        *("ocean", "cheap", "forest", "flower"),
        *("car", "cat", "ca", "cann"),  # "can" and "cap" are too short to be meant
        *("form", "wheer"),  # "from" and "where" are looked for by nobody
        *("coast", "heart"),  # with so few letters, a letter makes another word
        *("maintains", "quartz"),  # two letters of a word of a description
        *("fresco", "tulip"),  # begin differently
        *("lines2", "70x100", ""),
    ],
)
def test_a_word_that_only_looks_a_little_like_another_is_no_slip(word: str) -> None:
    assert nearest(word) == []


def test_a_word_of_a_name_goes_before_one_of_a_description_that_is_a_letter_nearer() -> None:
    numbers = {"morning": 9, "mornings": 1, "circled": 9, "circlet": 1}
    described = vocabulary_of(numbers, names=[])
    assert described.nearest("mornnig") == ["morning"]
    assert described.nearest("circlex") == ["circled", "circlet"]
    named = vocabulary_of(numbers, names=["mornings", "circlet"])
    assert named.nearest("mornnig") == ["mornings", "morning"]
    assert named.nearest("circlex") == ["circlet", "circled"]


def test_a_word_among_others_may_differ_in_more_letters() -> None:
    assert nearest("tidle") == ["tide"]
    assert nearest("tidle", is_alone=False) == ["tide", "tidal"]
    assert nearest("forest", is_alone=False) == []


def test_a_word_of_another_language_may_differ_in_one_letter_only() -> None:
    assert nearest("bauhuas", is_foreign=True) == ["bauhaus"]
    assert nearest("lindqvist", is_foreign=True) == nearest("hause", is_foreign=True) == []


@pytest.mark.parametrize(
    ("word", "other", "distance"),
    [
        ("", "", 0),
        ("sea", "sea", 0),
        ("bauhuas", "bauhaus", 1),
        ("sae", "sea", 1),
        ("se", "sea", 1),
        ("seas", "sea", 1),
        ("tea", "sea", 1),
        ("", "sea", 3),
        ("harbour", "habrur", 2),
    ],
)
def test_the_distance_of_words_counts_letters_and_swaps(word: str, other: str, distance: int) -> None:
    assert distance_of(word, other) == distance_of(other, word) == distance
