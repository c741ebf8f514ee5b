"""Where the rows of a queue begin, so that nobody reads past all those that have been deleted.

While a snapshot is held anywhere in the cluster (a backup, a long report), nothing that is deleted can be cleaned up.
A read that starts at the beginning of an index meets every message of that time again.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from orders.engine.runtime.sql import TRANSACTION_LIMIT, fetch

SETTLED_AFTER = TRANSACTION_LIMIT + 1.0
"""Seconds after which the transaction that took an id has ended, so that its row is visible or never will be."""
REFRESH_PERIOD = SETTLED_AFTER / 10
READ_ALL_PERIOD = 60.0
"""Seconds between two reads from the very beginning, in case a transaction took longer than it may."""


class LowWater:
    """An id, `start`, below which a queue has no rows and will have none.

    Ids are given out in order but not committed in order, so a row may appear below others that are visible already.
    """

    def __init__(
        self,
        table: Literal["orders_agentrequest", "orders_agentreply"],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.start = 0
        self._table = table
        self._clock = clock
        self._refreshed_at = -REFRESH_PERIOD
        self._read_all_at = clock()
        self._given_out: deque[tuple[float, int]] = deque()

    def refresh(self) -> None:
        """Reads where the rows begin, if it has not been read lately."""
        now = self._clock()
        if now - self._refreshed_at < REFRESH_PERIOD:
            return
        reads_all = now - self._read_all_at >= READ_ALL_PERIOD
        rows = fetch(
            f"""
            SELECT (SELECT id FROM {self._table} WHERE id >= %s ORDER BY id LIMIT 1),
                   coalesce(pg_sequence_last_value('{self._table}_id_seq'), 0)
            """,
            [0 if reads_all else self.start],
        )
        first, last = rows[0]
        self._refreshed_at = now
        self._read_all_at = now if reads_all else self._read_all_at
        self._given_out.append((self._clock(), last))
        while len(self._given_out) > 1 and now - self._given_out[1][0] >= SETTLED_AFTER:
            self._given_out.popleft()
        since, settled = self._given_out[0]
        if now - since >= SETTLED_AFTER:
            self.start = settled + 1 if first is None else min(first, settled + 1)
