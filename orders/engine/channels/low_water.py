"""Where the rows of a queue begin, so that nobody reads past all those that have been deleted.

While a snapshot is held anywhere in the cluster (a backup, a long report), nothing that is deleted can be cleaned up.
A read that starts at the beginning of an index meets every message of that time again.
"""

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from orders.engine.runtime.sql import SETTLED_AFTER, TRANSACTION_LIMIT
from orders.engine.runtime.statements import Cursor, Sent, known, rows_of, send

REFRESH_PERIOD = 0.25
"""Seconds between two readings. So long a transaction may hesitate between taking an id and writing for the first time,
when it gets its number. Should one hesitate for longer, its row is found when all is read again."""
READ_ALL_PERIOD = 60.0
READ_ALL_SHARE = 100
"""Seconds between two reads from the very beginning, in case a transaction took longer than it may; and the part of one
process's time that they may take."""


class Reading(NamedTuple):
    """The last id that had been given out at a moment, by this process's clock.

    `before` is above the numbers of all transactions that had a number then; None until there is such a number.
    """

    at: float
    last_id: int
    before: int | None = None


class LowWater:
    """An id, `start`, below which a queue has no rows and will have none.

    Ids are given out in order but not committed in order, so a row may appear below others that are visible already.
    The ids of a reading are settled once every transaction that was under way then has ended: the server knows the
    oldest that has not (whoever only holds a snapshot is none of them), and lets none last longer than its limit.
    """

    def __init__(
        self,
        table: Literal["orders_agentrequest", "orders_agentreply", "orders_submissionmessage"],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.start = 0
        self._table = table
        self._clock = clock
        self._refreshed_at = -REFRESH_PERIOD
        self._read_all_at = clock() + READ_ALL_PERIOD
        self._readings: deque[Reading] = deque()
        self._last_id: int | None = None
        self._settled_id: int | None = None

    def refresh(self) -> None:
        """Reads where the rows begin, if it has not been read lately. Called at most once in a transaction."""
        self.send_refresh().result()

    def send_refresh(self) -> Sent[None]:
        """The same, without waiting for what it finds. `start` changes with the result."""
        now = self._clock()
        if now - self._refreshed_at < REFRESH_PERIOD:
            return known(None)
        reads_all = now >= self._read_all_at
        if reads_all:
            self._read_all_at = now + READ_ALL_SHARE * TRANSACTION_LIMIT  # unless it succeeds
        # Numbers are given out in order. This transaction gets its own now at the latest, and began after the last
        # reading.
        wants_number = bool(self._readings) and self._readings[-1].before is None
        return send(
            f"""
            SELECT (SELECT id FROM {self._table} WHERE id >= %s::bigint ORDER BY id LIMIT 1),
                   coalesce(pg_sequence_last_value('{self._table}_id_seq'), 0),
                   pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
                   CASE WHEN %s::boolean THEN pg_current_xact_id()::text::bigint END
            """,
            [0 if reads_all else self.start, wants_number],
            partial(self._take, now, reads_all),
        )

    def _take(self, now: float, reads_all: bool, cursor: Cursor) -> None:
        ((first, last_id, oldest, number),) = rows_of(cursor)
        if reads_all:
            ended = self._clock()
            self._read_all_at = ended + max(READ_ALL_PERIOD, READ_ALL_SHARE * (ended - now))
        self._refreshed_at = now
        while self._readings and self._is_settled(self._readings[0], now, oldest):
            self._settled_id = self._readings.popleft().last_id
        if self._readings and number is not None:
            self._readings.append(self._readings.pop()._replace(before=number))
        if last_id != self._last_id:
            self._readings.append(Reading(self._clock(), last_id))
            self._last_id = last_id
        if self._settled_id is not None:
            self.start = self._settled_id + 1 if first is None else min(first, self._settled_id + 1)

    def _is_settled(self, reading: Reading, now: float, oldest: int) -> bool:
        has_ended = reading.before is not None and oldest >= reading.before
        return has_ended or now - reading.at >= SETTLED_AFTER
