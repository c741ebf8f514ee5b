"""What may have been meant by a search of the catalogue that finds nothing."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from django.db import connection

from orders.shop import catalogue, search, spelling
from orders.shop.catalogue import PosterCard, PosterFilter
from orders.shop.spelling import Vocabulary

MOST_UNKNOWN = 3
"""Words of a search that may be misspelt at once."""
MOST_TRIES = 16
"""Corrected searches that are tried, of which each is a statement."""


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """Posters that the search may have been for: `is_as_typed` if another family or price has them, otherwise found by
    `text`, the nearest words. `total` is how many there are."""

    text: str
    is_as_typed: bool
    total: int
    posters: Sequence[PosterCard]


def nearest(anywhere: PosterFilter, *, limit: int) -> Nearest | None:
    """The nearest posters to the words of a search that finds nothing, whatever its family and prices; None if nothing
    is near."""
    if posters := catalogue.first(anywhere, limit=limit):
        total = catalogue.count(anywhere)
        return Nearest(text=anywhere.text, is_as_typed=True, total=total, posters=posters)
    words = PosterFilter(text=anywhere.text, names=anywhere.names)
    corrected = replace(words, text=_correct(words))
    if not corrected.text or not (posters := catalogue.first(corrected, limit=limit)):
        return None
    total = catalogue.count(corrected)
    return Nearest(text=corrected.text, is_as_typed=False, total=total, posters=posters)


def _correct(poster_filter: PosterFilter) -> str:
    """The text with the nearest words in place of those that no poster has, so that some poster has them all; empty if
    there are none."""
    words = search.words_of(poster_filter.text)
    is_foreign = not catalogue.is_in_reader_language()
    unknown_words = [word for word in words if not catalogue.count(replace(poster_filter, text=word))]
    if not 1 <= len(unknown_words) <= MOST_UNKNOWN:
        return ""
    labels, vocabulary = _labels(poster_filter), _vocabulary()
    is_alone = len(words) == 1
    meant = {
        word: [
            *labels.nearest(word, is_foreign=is_foreign, is_alone=is_alone),
            *vocabulary.nearest(word, is_foreign=is_foreign, is_alone=is_alone),
        ]
        for word in unknown_words
    }
    choices = product(*(enumerate(meant.get(word, [word])) for word in words))
    for choice in sorted(choices, key=lambda choice: sum(rank for rank, _ in choice))[:MOST_TRIES]:
        chosen_words = [word for _, word in choice]
        text = " ".join(chosen_words)
        if len({*chosen_words}) == len({*words}) and catalogue.count(replace(poster_filter, text=text)):
            return unicodedata.normalize("NFC", text)
    return ""


def _labels(poster_filter: PosterFilter) -> Vocabulary:
    """The moods that can be searched for, and the names of moods and families in the reader's language."""
    words = {*search.MOODS, *(word for its_words in poster_filter.names.values() for word in its_words)}
    return spelling.vocabulary_of(dict.fromkeys(words, 1), names=words)


def _vocabulary() -> Vocabulary:
    """The words of all posters for sale. They are read anew once any product has changed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), max(xmin::text::bigint) FROM orders_product")
        return _vocabulary_at(cursor.fetchone())


@lru_cache(maxsize=1)
def _vocabulary_at(_generation: tuple[int, int]) -> Vocabulary:
    return spelling.vocabulary_of(_numbers_of(search.DOCUMENT), names=_numbers_of(search.NAMES))


def _numbers_of(document: str) -> dict[str, int]:
    """The words of this document of every poster for sale, each with how many have it."""
    statement = f"SELECT {document} FROM orders_product WHERE is_listed AND variant_of_id IS NULL"
    with connection.cursor() as cursor:
        cursor.execute("SELECT word, ndoc FROM ts_stat(%s)", [statement])
        return dict(cursor.fetchall())
