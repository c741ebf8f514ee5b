"""Says after how many seconds it is worth trying again while the database cannot be reached."""

import random
import threading
import time
from collections.abc import Callable

LONGEST = 15
"""The longest time until somebody is to try again, before chance makes it up to twice as long."""


class Outages:
    """What a process knows of the outage that it sees. Threads may share it."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[int, int], int] = random.randint,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()
        self._began = self._over_at = float("-inf")

    def note(self) -> int:
        """Notes a request that failed for want of the database. Returns in how many seconds it is worth trying again.

        An outage is likely to last about half as long again as it has lasted. Chance keeps clients that failed together
        from coming back together. When none has failed since they all should have come back, the outage is over.
        """
        with self._lock:
            now = self._clock()
            if now > self._over_at:
                self._began = now
            least = min(LONGEST, max(1, int((now - self._began) / 2)))
            self._over_at = max(self._over_at, now + 2 * (2 * least))
        return self._chance(least, 2 * least)


OUTAGES = Outages()
"""This process's."""
