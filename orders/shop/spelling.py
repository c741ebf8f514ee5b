"""Which words a misspelt one may stand for, among those that posters have.

Without a dictionary nobody knows whether a word is misspelt or only names what no poster shows: "flower" is no mistake
in "slower". So a word is near only if it begins alike and is long enough to be recognised, and the words of
descriptions, most of which nobody searches for, have to be nearer than those of titles, artists and families.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

CANDIDATES = 60
"""Words whose distance is worked out: those that share most pairs of letters."""
MOST_MEANT = 4
"""Words that one may stand for."""
MOST_WRONG = 3
"""Letters in which a word may differ from one that is meant."""
SHORTEST = 4
"""Letters of a word that may be misspelt, and of one that may be meant."""
FIRST_IDEOGRAPH = "\u2e80"
"""From here on Unicode has Chinese characters. The letters of which Korean syllables are made stand before it."""
SHORTEST_FOREIGN = 5
"""Letters of a word that may be a misspelt one of another language than the reader's."""
SHORTEST_END, SHORTEST_END_OF_CHANGED = 4, 6
"""Letters of a word, or of one without its first letter, that are looked for at the ends of longer ones."""
ENGLISH = """
about above after again against along also although always among another anybody anyone anything around away
because been before behind being below beneath beside between beyond both could does doing done down during each
either else enough even ever every everybody everyone everything from further have having hence here hers herself
himself however indeed instead into itself just less many might more most much must myself near neither never
nobody none nothing often once only onto other others ours ourselves over perhaps quite rather really said same
shall should since some somebody someone something still such than that their theirs them themselves then there
these they thing things this those though three through thus together toward towards under unless until upon
usually very were what whatever when whenever where whether which while whoever whole whom whose will with within
without would your yours yourself
"""
HUNGARIAN = """
abban abbol ahogy ahol akar akik akkor alatt aldal altal amely amelyek amelyet amikor amint annak azert azok azon
azonban azzal ebben ebbol egesz egyes egyik eleg elott errol ettol ezek ezen ezert ezzel fele felett hanem hogy
hogyan hozza illetve ilyen ilyenkor ismet itt jobban kell kellett keresztul kozott kozul legyen lehet lenne lenni
lesz lett maga magat majd masik mellett mely melyek mert minden mindenki mindent mindig mint mintha mivel most
nala nekem neki nelkul nincs olyan onnan ossze pedig persze rajta sajat szamara szerint szinte talan tehat teljes
tobb tole tovabb ugyan ugyanaz ugyanez ugyanis utan utana vagy vagyis valaki valami valamint vannak vele viszont
volna volt voltak
"""
FUNCTION_WORDS = frozenset((ENGLISH + HUNGARIAN).split())
"""Words of English and Hungarian that hold sentences together, without diacritics. Nobody searches for them.
Chinese and Korean write theirs together with others."""


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """All words of the posters, each with how many have it; those that are in `names`: titles, artists' names and
    families; and the words by the pairs of letters in them."""

    numbers: Mapping[str, int]
    names: Collection[str]
    by_pair: Mapping[str, Collection[str]]

    def nearest(self, word: str, *, is_foreign: bool = False, is_alone: bool = True) -> Sequence[str]:
        """The words that `word` is most likely meant to be, the likeliest first; none if none is near. A word of a name
        goes before one of a description that is a letter nearer, then what more posters have.

        Near a word that `is_foreign`, in another language perhaps, are only words that differ in one letter, and near
        a short one none. Otherwise a name that ends like it counts as a letter away: "hause" is part of "bauhaus". One
        that is not alone may differ in more letters: the other words must find the same poster.
        """
        if not word.isalpha() or _letters(word) < (SHORTEST_FOREIGN if is_foreign else SHORTEST):
            return []
        shared = Counter(
            candidate
            for pair in pairs_of(word)
            for candidate in self.by_pair.get(pair, ())
            if _letters(candidate) >= SHORTEST and candidate not in FUNCTION_WORDS
        )
        ranks = {} if is_foreign else dict.fromkeys(self._ending_like(word, shared), 1)
        ranks |= self._alike(word, shared, most=1 if is_foreign else MOST_WRONG, is_alone=is_alone)
        by_rank = sorted(ranks, key=lambda candidate: self._order(candidate, ranks[candidate]))
        return by_rank[:MOST_MEANT]

    def _order(self, candidate: str, rank: int) -> tuple[int, bool, int, str]:
        return rank, candidate not in self.names, -self.numbers[candidate], candidate

    def _alike(self, word: str, shared: Mapping[str, int], *, most: int, is_alone: bool) -> Mapping[str, int]:
        """The words that differ in so few letters that a slip explains them, each with its rank."""
        candidates = [
            candidate
            for candidate in shared
            if abs(len(candidate) - len(word)) <= most and _begins_like(word, candidate, letters=1)
        ]
        ranks = {}
        for candidate in nlargest(
            CANDIDATES, candidates, key=lambda candidate: (shared[candidate], candidate)
        ):
            is_name = candidate in self.names
            distance = distance_of(word, candidate)
            letters = max(_letters(word), _letters(candidate))
            if distance > min(most, _most_wrong(letters, is_name=is_name, is_alone=is_alone)):
                continue
            if distance == 1 or _begins_like(word, candidate, letters=2):
                ranks[candidate] = distance + (not is_name)
        return ranks

    def _ending_like(self, word: str, shared: Collection[str]) -> Iterator[str]:
        """The names that end like the word, or like it without its first or its last letter."""
        ends = [end for end in (word, word[:-1]) if len(end) >= SHORTEST_END]
        if len(word) > SHORTEST_END_OF_CHANGED:
            ends.append(word[1:])
        for candidate in shared:
            if candidate in self.names and len(candidate) >= len(word) and candidate.endswith(tuple(ends)):
                yield candidate


def vocabulary_of(numbers: Mapping[str, int], *, names: Collection[str]) -> Vocabulary:
    """The vocabulary of these words."""
    by_pair: dict[str, list[str]] = {}
    for word in numbers:
        for pair in pairs_of(word):
            by_pair.setdefault(pair, []).append(word)
    return Vocabulary(numbers=numbers, names=frozenset(names), by_pair=by_pair)


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


def _letters(word: str) -> int:
    """How many letters a word has; Chinese characters say more than letters, so a word of them counts for two more."""
    return len(word) + 2 if word and min(word) >= FIRST_IDEOGRAPH else len(word)


def _most_wrong(letters: int, *, is_name: bool, is_alone: bool) -> int:
    """In how many letters a word may differ from one that is meant, the longer of which has so many `letters`."""
    if not is_name:
        return (letters - 3) // 3
    return (letters - 3) // 2 if is_alone else (letters - 1) // 2


def _begins_like(word: str, other: str, *, letters: int) -> bool:
    """Whether so many of the first letters are the same, or the first two are swapped."""
    return word[:letters] == other[:letters] or word[:2] == other[1::-1]
