"""Work in brief batches: each is one transaction, which the server ends within 100 ms, and with it its locks.

A walk goes through the keys of a table in their order. `choose` reads the next keys and locks no row; `work` is given
those keys in a transaction of its own. How many keys it is given follows how long the last batch took. A batch that
takes too long is rolled back and tried with fewer keys; a single key that takes too long a few times is left behind, so
that what is slow does not stop the rest.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction

from orders.engine.runtime.sql import DATABASE_TROUBLE, fetch, ran_out_of_time

log = structlog.get_logger()

LONGEST = 0.1
"""Seconds for which a batch may hold locks."""
TRANSACTION_SHARE = 0.7
"""After this share of that time the server ends the transaction and its connection. A busy server may be late."""
STATEMENT_SHARE = 0.6
"""After this share the server ends a statement, which leaves the connection open."""
MOST_TRIES = 3
"""How often a single key is tried: on a busy machine anything may take too long once."""
MOST_SECONDS = 8.0
"""How long one walk goes on by default. All walks of a job together end before the jobs' time limit."""


@dataclass(kw_only=True)
class Pace:
    """How many rows the next batch takes."""

    size: int = 50
    largest: int = 500

    def note(self, seconds: float) -> None:
        """Notes how long a batch took: a quarter of `LONGEST` is the aim, and half of it is too long."""
        if seconds > LONGEST / 2:
            self.size = max(1, self.size // 2)
        elif seconds < LONGEST / 4:
            self.size = min(self.largest, self.size + max(1, self.size // 4))

    def note_timeout(self) -> None:
        """Notes that the server ended a batch."""
        self.size = max(1, self.size // 4)


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """The `keys` to work on next, and `last`, behind which the walk goes on; None if these are the last."""

    keys: Sequence[Any]
    last: Any


@dataclass(frozen=True, kw_only=True)
class Walk:
    """How many rows a walk changed, how many keys it left behind, and where to continue; None if it came to the end.

    `given_up` counts the batches that took too long.
    """

    changed: int
    left_behind: int
    after: Any
    given_up: int = 0


def in_batches(
    *,
    choose: Callable[[Any, int], Chunk],
    work: Callable[[Sequence[Any]], int],
    start: Any,
    pace: Pace | None = None,
    seconds: float = MOST_SECONDS,
    patience: float | None = None,
) -> Walk:
    """Walks from behind `start` until the end, or until `seconds` have passed: at least one batch.

    `choose(after, size)` returns at most `size` keys; `work(keys)` returns how many rows it changed. A batch of one key
    may take `patience` seconds, `LONGEST` by default. Raises what `choose` and `work` raise, except that they took
    too long.
    """
    pace = pace or Pace()
    changed = left_behind = given_up = tries = 0
    after, ends, lasted = start, time.monotonic() + seconds, 0.0
    while True:
        keys: Sequence[Any] = ()
        try:
            chunk = choose(after, pace.size)
            keys, began, lasted = chunk.keys, time.monotonic(), 0.0
            if keys:
                with brief_transaction(patience if len(keys) == 1 else None):
                    in_batch = work(keys)
                changed += in_batch  # only now: the commit may fail, too
                lasted = time.monotonic() - began
                pace.note(lasted)
            after, tries = chunk.last, 0
        except DATABASE_TROUBLE as error:
            if keys:
                lasted = time.monotonic() - began
            # A connection that the server has closed may not say why. If a batch's timer ran out while the server was
            # ending its transaction, the connection closes under the next statement: then the batch before was slow.
            ran_out = ran_out_of_time(error) and (bool(keys) or pace.size > 1)
            if not ran_out and lasted < LONGEST / 2:
                raise
            if not keys:
                lasted = 0.0
            _give_up(pace, error)
            given_up += 1
            tries += len(keys) == 1
            if tries == MOST_TRIES:
                log.warning("left behind", action="batch", **_named(keys[0]))
                left_behind += 1
                after, tries = chunk.last, 0
        if after is None or time.monotonic() >= ends:
            return Walk(changed=changed, left_behind=left_behind, after=after, given_up=given_up)


@contextmanager
def brief_transaction(seconds: float | None = None) -> Iterator[None]:
    """A transaction that the server ends within that time, `LONGEST` by default, whatever its client does.

    Its commit does not wait for the disk, which could take longer: a crash may undo it, as a whole, and whoever works
    in batches does it again. In a caller's transaction the caller's limits apply.
    """
    limit = LONGEST if seconds is None else seconds
    is_own = not connection.in_atomic_block
    with transaction.atomic():
        if is_own:
            # A transaction's running timer keeps its time until it is switched off.
            fetch(
                """
                SELECT set_config('transaction_timeout', '0', true), set_config('transaction_timeout', %s, true),
                       set_config('statement_timeout', %s, true), set_config('synchronous_commit', 'off', true)
                """,
                [f"{limit * share * 1000:.0f}ms" for share in (TRANSACTION_SHARE, STATEMENT_SHARE)],
            )
        yield


def _give_up(pace: Pace, error: Exception) -> None:
    """Makes batches smaller after one that took too long, whose connection the server may have closed."""
    pace.note_timeout()
    log.info("batch too slow", action="batch", size=pace.size, error=str(error).partition("\n")[0])
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


def _named(key: Any) -> dict[str, str]:
    """What a log line says of a row. Only orders are walked by a UUID."""
    return {"order_id": str(key)} if isinstance(key, UUID) else {"key": str(key)}
