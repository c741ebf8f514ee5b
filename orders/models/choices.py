"""Makes a column's choices from the enumeration that it holds."""

from enum import StrEnum


def choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    """Returns each value, labelled with itself. `orders.wording` has the texts that people read."""
    return [(word.value, word.value.replace("_", " ")) for word in words]
