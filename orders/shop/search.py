"""How posters are found by words: what a poster's words are, in SQL, and which word a misspelt one may stand for.

A word matches what begins with it, in the title, the artist's name, the description or the name of the family, whatever
its case and its diacritics. It is PostgreSQL's full text search without a dictionary, which every server has
(docs/adr/0080). What is nearest to a misspelt word is worked out from the words that there are.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

LETTERS = ("øłđıØŁĐ", "oldioLD")
"""Letters that Unicode does not take apart, and those that people type for them."""
WORD = re.compile(r"[^\W_]+")
MOST_WORDS = 8
SHORTEST_PLURAL = 4
CANDIDATES = 60
"""Words whose distance is worked out: those that share most pairs of letters."""
SHORTEST_FOREIGN = 5
"""Letters of a word that may be a misspelt one of another language than the reader's."""
SHORTEST_PART = 4
"""Letters of a word that are looked for inside others."""

DOCUMENT = (
    "to_tsvector('simple', translate(regexp_replace(normalize("
    "title || ' ' || artist || ' ' || description || ' ' || coalesce(design ->> 'family', ''), NFKD),"
    r" '[\u0300-\u036f]', '', 'g'),"
    f" '{LETTERS[0]}.-/''_@:', '{LETTERS[1]}       '))"
)
"""A poster's words, as the index of products has them (the shop's migration 0002, which must say the same)."""

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


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """All words of the posters, each with how many have it, and the words by the pairs of letters in them."""

    numbers: Mapping[str, int]
    by_pair: Mapping[str, Collection[str]]

    def nearest(self, word: str, *, is_foreign: bool = False) -> str | None:
        """The word that `word` is most likely meant to be; None if none is near. Of two as near, what more have.
        Near a word that `is_foreign`, in another language perhaps, is only one that differs in one letter, and near a
        short one none.

        A longer word that has it inside, but perhaps for its first or last letter, goes before one that differs in
        two letters: "hause" is part of "bauhaus" rather than a mistake in "hale".
        """
        if is_foreign and len(word) < SHORTEST_FOREIGN:
            return None
        shared = Counter(candidate for pair in pairs_of(word) for candidate in self.by_pair.get(pair, ()))
        reach = 1 if len(word) <= 4 else 2 if len(word) <= 8 else 3
        near = [
            (distance, -self.numbers[candidate], candidate)
            for candidate, _ in shared.most_common(CANDIDATES)
            if abs(len(candidate) - len(word)) <= reach
            and (distance := distance_of(word, candidate)) <= reach
        ]
        if near and min(near)[0] <= 1:
            return min(near)[2]
        if is_foreign:
            return None
        parts = [part for part in (word, word[1:], word[:-1]) if len(part) >= SHORTEST_PART]
        around = [
            (len(candidate), -self.numbers[candidate], candidate)
            for candidate in shared
            if len(candidate) > len(word) and any(part in candidate for part in parts)
        ]
        return min(around or near)[2] if around or near else None


def vocabulary_of(numbers: Mapping[str, int]) -> Vocabulary:
    """The vocabulary of these words."""
    by_pair: dict[str, list[str]] = {}
    for word in numbers:
        for pair in pairs_of(word):
            by_pair.setdefault(pair, []).append(word)
    return Vocabulary(numbers=numbers, by_pair=by_pair)


def pairs_of(word: str) -> set[str]:
    """The pairs of letters next to one another, with the beginning and the end."""
    padded = f" {word} "
    return {padded[at : at + 2] for at in range(len(padded) - 1)}


def distance_of(word: str, other: str) -> int:
    """How many letters have to be added, left out, replaced, or swapped with the next one."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(word, 1):
        line = [row]
        for column, its in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != its))
            if row > 1 and column > 1 and letter == other[column - 2] and word[row - 2] == its:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]
