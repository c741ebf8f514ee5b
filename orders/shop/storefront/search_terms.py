"""What the words of a search mean that no poster says of itself: moods, sizes and editions, and words that are true of
every product. All of them are read in the reader's language."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

from orders.shop import catalogue
from orders.shop.models import Edition
from orders.shop.search import plain_words

MOOD_WORDS: Mapping[str, str | Promise] = {
    "calm": pgettext_lazy("words for a mood, with commas, that posters are searched by", "calm"),
    "quiet": pgettext_lazy("words for a mood, with commas, that posters are searched by", "quiet"),
    "peaceful": pgettext_lazy("words for a mood, with commas, that posters are searched by", "peaceful"),
    "serene": pgettext_lazy("words for a mood, with commas, that posters are searched by", "serene"),
    "warm": pgettext_lazy("words for a mood, with commas, that posters are searched by", "warm"),
    "cosy": pgettext_lazy("words for a mood, with commas, that posters are searched by", "cosy"),
    "cozy": pgettext_lazy("words for a mood, with commas, that posters are searched by", "cozy"),
    "cold": pgettext_lazy("words for a mood, with commas, that posters are searched by", "cold"),
    "dark": pgettext_lazy("words for a mood, with commas, that posters are searched by", "dark"),
    "night": pgettext_lazy("words for a mood, with commas, that posters are searched by", "night"),
    "moody": pgettext_lazy("words for a mood, with commas, that posters are searched by", "moody"),
    "happy": pgettext_lazy("words for a mood, with commas, that posters are searched by", "happy"),
    "cheerful": pgettext_lazy("words for a mood, with commas, that posters are searched by", "cheerful"),
    "playful": pgettext_lazy("words for a mood, with commas, that posters are searched by", "playful"),
    "dreamy": pgettext_lazy("words for a mood, with commas, that posters are searched by", "dreamy"),
}
"""The words of each of `search.MOODS`."""
SIGNED_WORDS = pgettext_lazy(
    "words for prints that are signed, with commas, that posters are searched by", "signed, numbered, limited"
)
IDLE_WORDS = pgettext_lazy(
    "words for what every product is, with commas, which a search ignores",
    "poster, posters, print, prints, edition, editions, size",
)
SIZE = re.compile(r"(?<![^\W_])([0-9]{1,4})\s*[x×*]\s*([0-9]{1,4})(?:\s*cm)?(?![^\W_])", re.IGNORECASE)
"""A size as people write it, in centimetres: "60x80", "60 × 80 cm"."""


@dataclass(frozen=True, kw_only=True)
class SearchTerms:
    """A search, taken apart: the `text` that a poster must have, and the `size` and the `edition` that it must be sold
    in. Each is empty if the search does not name it."""

    text: str
    size: str = ""
    edition: str = ""


def mood_words() -> Mapping[str, Collection[str]]:
    """The words of each mood in the reader's language."""
    return {mood: plain_words(str(words)) for mood, words in MOOD_WORDS.items()}


def read_terms(text: str, *, sizes: Collection[str]) -> SearchTerms:
    """Takes a search apart. A size or an edition that nothing is sold in remains part of the text."""
    text, size = _take_size(text, sizes)
    text, edition = _take_edition(text)
    idle_words = plain_words(str(IDLE_WORDS))
    parts = [part for part in text.split() if not _is_made_of(part, idle_words)]
    return SearchTerms(text=" ".join(parts), size=size, edition=edition)


def _take_size(text: str, sizes: Collection[str]) -> tuple[str, str]:
    """The text without the first size in it that is sold, and that size."""
    for match in SIZE.finditer(text):
        size = f"{match[1]}x{match[2]}"
        if size in sizes:
            return f"{text[: match.start()]} {text[match.end() :]}", size
    return text, ""


def _take_edition(text: str) -> tuple[str, str]:
    """The text without the edition in it, if that is sold, and the edition."""
    for edition in Edition:
        label = re.search(re.escape(str(edition.label)), text, re.IGNORECASE)
        if label and catalogue.is_sold_in(edition):
            return f"{text[: label.start()]} {text[label.end() :]}", edition
    signed_words = plain_words(str(SIGNED_WORDS))
    parts = [part for part in text.split() if not _is_made_of(part, signed_words)]
    if len(parts) < len(text.split()) and catalogue.is_sold_in(Edition.SIGNED):
        return " ".join(parts), Edition.SIGNED
    return text, ""


def _is_made_of(part: str, words: Collection[str]) -> bool:
    """Whether a part of a search has words, and only these."""
    own_words = plain_words(part)
    return bool(own_words) and all(word in words for word in own_words)
