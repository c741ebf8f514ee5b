"""What may have been meant by a search of the catalogue that finds nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from django.db import connection

from orders.shop import catalogue, search
from orders.shop.catalogue import PosterCard, PosterFilter
from orders.shop.search import Vocabulary


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
    """The text with the nearest words in place of those that no poster has; empty if there are none."""
    words = search.words_of(poster_filter.text)
    vocabulary = _vocabulary()
    is_foreign = not catalogue.is_in_reader_language()
    corrected = [
        word
        if catalogue.count(replace(poster_filter, text=word))
        else vocabulary.nearest(word, is_foreign=is_foreign)
        for word in words
    ]
    return "" if None in corrected or corrected == words else " ".join(filter(None, corrected))


def _vocabulary() -> Vocabulary:
    """The words of all posters for sale. They are read anew once any product has changed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), max(xmin::text::bigint) FROM orders_product")
        return _vocabulary_at(cursor.fetchone())


@lru_cache(maxsize=1)
def _vocabulary_at(_generation: tuple[int, int]) -> Vocabulary:
    statement = f"SELECT {search.DOCUMENT} FROM orders_product WHERE is_listed AND variant_of_id IS NULL"
    with connection.cursor() as cursor:
        cursor.execute("SELECT word, ndoc FROM ts_stat(%s)", [statement])
        return search.vocabulary_of(dict(cursor.fetchall()))
