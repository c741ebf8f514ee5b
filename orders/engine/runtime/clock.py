"""Time inside one process.

The database's clock decides; a local clock may only stop work earlier. What the database grants is a number of seconds
left, and a `Deadline` counts them down on the monotonic clock, so a wrong wall clock changes nothing (F27).
"""

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """A moment on this process's monotonic clock."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """The moment that many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds until the moment; negative once it has passed."""
        return self.at - time.monotonic()
