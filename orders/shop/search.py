"""How posters are found by words, and what a poster's words are, in SQL.

A word matches what begins with it, in the title, the artist's name, the description or the name of the family, whatever
its case and its diacritics. It is PostgreSQL's full text search without a dictionary, which every server has
(docs/adr/0080). `orders/shop/spelling.py` says which of the words that there are a misspelt one may stand for.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

LETTERS = ("øłđıØŁĐ", "oldioLD")
"""Letters that Unicode does not take apart, and those that people type for them."""
WORD = re.compile(r"[^\W_]+")
MOST_WORDS = 8
SHORTEST_PLURAL = 4


def _document(texts: str) -> str:
    return (
        f"to_tsvector('simple', translate(regexp_replace(normalize({texts}, NFKD),"
        r" '[\u0300-\u036f]', '', 'g'),"
        f" '{LETTERS[0]}.-/''_@:', '{LETTERS[1]}       '))"
    )


DOCUMENT = _document(
    "title || ' ' || artist || ' ' || description || ' ' || coalesce(design ->> 'family', '')"
)
"""A poster's words, as the index of products has them (the shop's migration 0002, which must say the same)."""
NAMES = _document("title || ' ' || artist || ' ' || coalesce(design ->> 'family', '')")
"""The words of its title, its artist's name and its family."""

MOODS: Mapping[str, Sequence[str]] = {
    "calm": ("quiet", "slow", "still", "silver"),
    "quiet": ("calm", "slow"),
    "peaceful": ("calm", "quiet", "slow"),
    "serene": ("calm", "quiet", "slow"),
    "warm": ("heat", "summer", "morning", "red"),
    "cosy": ("warm", "coffee", "chair", "slippers", "lamps"),
    "cozy": ("warm", "coffee", "chair", "slippers", "lamps"),
    "cold": ("winter", "snow", "polar", "gale"),
    "dark": ("night", "black", "lamps", "constellation"),
    "night": ("dark", "stars", "lamps", "constellation"),
    "moody": ("dark", "gale", "slate", "black"),
    "happy": ("loud", "warm", "yellow", "first"),
    "cheerful": ("loud", "warm", "yellow"),
    "playful": ("loud", "bauhaus"),
    "dreamy": ("pink", "stars", "silver", "remembered"),
}
"""The moods that the search box promises, and the words of descriptions that are of that mood."""


def words_of(text: str) -> list[str]:
    """The words of a search, as `DOCUMENT` has them; at most eight."""
    return plain_words(text)[:MOST_WORDS]


def plain_words(text: str) -> list[str]:
    """The words of a text, as `DOCUMENT` has them."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not "\u0300" <= char <= "\u036f")
    return WORD.findall(plain.translate(str.maketrans(*LETTERS)).lower())


def query_of(words: Iterable[str], *, names: Mapping[str, Collection[str]]) -> str:
    """The query for `to_tsquery`: every word must match. `names` has the words of each family's name and of each mood
    in the reader's language, which find the posters of that family or mood, too."""
    return " & ".join("(" + " | ".join(f"'{form}':*" for form in _forms(word, names)) + ")" for word in words)


def _forms(word: str, names: Mapping[str, Collection[str]]) -> Iterator[str]:
    """What may stand in a poster where a search says `word`."""
    yield word
    if word.endswith("s") and len(word) >= SHORTEST_PLURAL:
        yield word[:-1]
    yield from MOODS.get(word, ())
    for name, its_words in names.items():
        if name not in MOODS:
            yield from [name] if any(part.startswith(word) for part in its_words) else ()
        elif word in its_words:
            yield from (name, *MOODS[name])
