"""The choices of a column, from the enumeration that it holds."""

from enum import StrEnum


def choices(words: type[StrEnum]) -> list[tuple[str, str]]:
    """Each value, labelled with itself. What people read instead is in orders/wording."""
    return [(word.value, word.value.replace("_", " ")) for word in words]
