"""The choices of a column, from the enumeration that it holds."""

from collections.abc import Mapping
from enum import StrEnum


def choices(words: type[StrEnum], labels: Mapping[StrEnum, str] | None = None) -> list[tuple[str, str]]:
    """The values with their labels; a value without a label of its own is labelled with itself."""
    return [(word.value, (labels or {}).get(word, word.value.replace("_", " "))) for word in words]
