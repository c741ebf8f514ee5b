"""The numbers that the warehouse gives the prints of a numbered edition, as people read them: "No. 12 of 100". Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

from babel import Locale
from babel.lists import format_list
from django.utils.translation import ngettext

from orders.business import LineName

LARGEST_EDITION = 9_999
MOST_NUMBERS = 999
"""Of one line of an order."""
SHORTEST_RUN = 3
"""Numbers in a row of which only the first and the last are written."""


@dataclass(frozen=True, kw_only=True)
class EditionNumbers:
    """The numbers of some prints, in order, and how many the edition has."""

    numbers: tuple[int, ...]
    size: int


class NumberedLine(Protocol):
    """A line of an order, as far as its numbers need it."""

    @property
    def sku(self) -> str:
        """The code of what was ordered."""

    @property
    def title(self) -> str:
        """What people call it."""


def numbers_of(result: Mapping[str, Any] | None) -> Mapping[str, EditionNumbers]:
    """The numbers that the warehouse's answer gives, by SKU. The answer may be anything."""
    editions = (result or {}).get("editions")
    return dict(filter(None, map(_read, editions if isinstance(editions, list) else [])))


def numbers_in_words(edition: EditionNumbers, *, locale: Locale) -> str:
    """Writes the numbers of some prints: "No. 12 of 100", "Nos. 12 and 14–16 of 100"."""
    words = ngettext("No. {numbers} of {size}", "Nos. {numbers} of {size}", len(edition.numbers))
    # Chinese sets numbers apart from words, which CLDR's lists do not.
    numbers = format_list(_runs(edition.numbers), locale=locale).replace("和", " 和 ")
    return words.format(numbers=numbers, size=edition.size)


def numbered_lines(
    lines: Iterable[NumberedLine],
    editions: Mapping[str, EditionNumbers],
    *,
    names: Mapping[str, LineName],
    locale: Locale,
) -> Sequence[tuple[LineName, str]]:
    """The name of each numbered line of an order, and its numbers in words. `names` are by SKU; a line without a name
    has its own title."""
    return [
        (
            names.get(line.sku) or LineName(title=line.title),
            numbers_in_words(editions[line.sku], locale=locale),
        )
        for line in lines
        if line.sku in editions
    ]


def is_numbered(data: Mapping[str, Any]) -> bool:
    """Whether an order with these data has prints with numbers. The data may be anything."""
    lines = data.get("lines")
    return isinstance(lines, list) and any(isinstance(line, Mapping) and "edition" in line for line in lines)


def _read(item: object) -> tuple[str, EditionNumbers] | None:
    if not isinstance(item, Mapping):
        return None
    sku, numbers, size = item.get("sku"), item.get("numbers"), item.get("of")
    if not isinstance(sku, str) or not isinstance(numbers, list) or not _is_number(size):
        return None
    if not 0 < len(numbers) <= MOST_NUMBERS or not all(map(_is_number, numbers)):
        return None
    return sku, EditionNumbers(numbers=tuple(sorted(numbers)), size=int(str(size)))


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_EDITION


def _runs(numbers: Sequence[int]) -> Sequence[str]:
    """The numbers, with those in a row as one: 1, 3, 4, 5 as "1", "3–5"."""
    texts: list[str] = []
    for _, grouped in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in grouped]
        texts += [f"{run[0]}–{run[-1]}"] if len(run) >= SHORTEST_RUN else map(str, run)
    return texts
