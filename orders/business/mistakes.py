"""What is wrong with a request, each thing at its place in it: `{"lines": [{}, {"sku": ["…"]}]}`, or
`{"lines": {1: {"sku": ["…"]}}}`. Pure."""

from collections.abc import Mapping
from typing import Any


def merged(first: Any, second: Any) -> Any:
    """The mistakes of both. Where both say something of the same place, the first counts."""
    first, second = _by_place(first), _by_place(second)
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return first
    both = {name: merged(first[name], second[name]) for name in first if name in second}
    return {**first, **second, **both}


def _by_place(mistakes: Any) -> Any:
    """Those of a list's items by their numbers; others as they are."""
    if isinstance(mistakes, list) and all(isinstance(item, Mapping) for item in mistakes):
        return {number: item for number, item in enumerate(mistakes) if item}
    return mistakes
