"""When a list that is ordered by time is read from its beginning, and when only what is new in it.

While a snapshot is held anywhere in the cluster (a backup, a long report), the entries of rows that have left a list
cannot be cleaned up, and they lie at its beginning: orders that were ready, steps that were under way. Each read from
there meets all of them.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from orders.engine.runtime.sparing import Sparing
from orders.engine.runtime.sql import DATABASE_TROUBLE, SETTLED_AFTER

T = TypeVar("T")

SETTLED = timedelta(seconds=SETTLED_AFTER)
SHARE = 20
"""Reads from the beginning take up to this part of one process's time. A quick one is followed by another at once, so
nothing changes until the dead entries are many."""


class WholeReads:
    """Reads one list, of which this process takes what it finds.

    What a read has left because it was full, or has not taken because its transaction failed, is read from the
    beginning again. All else that is older than `since`, such as an order that an operator resubmits, with the time it
    was placed at, is found by the next whole read. A whole read that does not end in the time that a transaction may
    last is not repeated at once either, so that what is new goes on.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._sparing = Sparing(share=SHARE, clock=clock)
        self._since: datetime | None = None
        self._whole: datetime | None = None
        self._is_whole = False

    def read(self, look: Callable[[datetime | None], list[T]], *, limit: int, now: datetime) -> list[T]:
        """Returns what `look` gives, at most `limit`: of all times with None, else from the given one on.

        `now` is the database's time from before the read.
        """
        since = self.begin()
        try:
            rows = look(since)
        except DATABASE_TROUBLE:
            self.fail(now)
            raise
        self.end(len(rows), limit=limit, now=now)
        return rows

    @property
    def is_due(self) -> bool:
        """Whether the next read is one from the beginning."""
        return self._since is None or self._sparing.is_due()

    def begin(self) -> datetime | None:
        """From when on to read now; None: from the beginning. `end` or `fail` comes next."""
        self._whole = None
        self._is_whole = self.is_due
        if not self._is_whole:
            return self._since
        self._sparing.begin()
        return None

    def end(self, number: int, *, limit: int, now: datetime) -> None:
        """Notes how many rows a read has given."""
        if self._is_whole:
            self._is_whole = False
            self._sparing.end()
            self._since = None
            self._whole = now if number < limit else None

    def fail(self, now: datetime) -> None:
        """Notes that the database has ended the read, if one was under way."""
        if self._is_whole:
            self._is_whole = False
            self._sparing.end()
            self._since = self._since or now - SETTLED

    def confirm(self) -> None:
        """Notes that what was found has been taken: the transaction has been committed."""
        if self._whole is not None:
            self._since, self._whole = self._whole - SETTLED, None
