"""How many rows a pass takes: fewer after it ran out of time, more again after quick ones (rule 11)."""

QUICK = 1.0
"""Seconds. Twice the rows of a pass that took less still fit well into the 5 s that a transaction may last."""


class AdaptiveBatch:
    """The size of a role's next pass, between one row and `limit`."""

    def __init__(self, limit: int) -> None:
        self.size = limit
        self._limit = limit

    def halve(self) -> bool:
        """Halves the size after a pass that ran out of time; False if it is one row already."""
        if self.size == 1:
            return False
        self.size //= 2
        return True

    def grow(self, seconds: float) -> None:
        """Doubles the size after a pass that took that long, if it was quick."""
        if seconds < QUICK:
            self.size = min(self._limit, self.size * 2)
