"""Aging: which claims go by age, so that a stream of higher priority does not hold up the rest for ever.

A priority that grew with age would have to be written, or computed for every row at each claim. Turns cost nothing, and
each is served by the indexes that order by priority and then by age: it looks for the oldest of each priority.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

EVERY = 4
"""Every fourth claim from a list goes by age, so what is old gets a quarter of what is taken."""
AGED = timedelta(minutes=1)
"""From when on an order counts as old. Until then priority alone decides, as the difference matters most in a rush."""


class AgeTurns:
    """Counts one process's claims. A claim that has no room is none: it could be the turn each time."""

    def __init__(self) -> None:
        self._claims: Counter[str] = Counter()

    def take(self, lists: Iterable[str]) -> set[str]:
        """Counts a claim from each of these lists. Returns those whose claim goes by age this time."""
        names = set(lists)
        self._claims.update(names)
        return {name for name in names if self._claims[name] % EVERY == 0}
