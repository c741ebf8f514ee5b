"""Work in batches that are short: each is one transaction, and its size follows how long the last one took."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, transaction

from orders.engine.runtime.sql import ran_out_of_time, run

LONGEST = 0.1
"""Seconds for which a batch may hold locks."""
STATEMENT_LIMIT = 80
"""Milliseconds after which the server ends a statement of a batch, which is then tried with a quarter of the rows."""
ROW_LIMIT = 2_000
"""The same for a batch of one row, which cannot be made smaller."""
MOST_SECONDS = 8.0
"""How long one part of a pass goes on by default. All parts together end before the jobs' time limit."""


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
class Batch:
    """How many rows a batch changed, and the key at which the next one continues; None at the end."""

    changed: int
    after: Any


def in_batches(
    work: Callable[[Any, int], Batch], *, start: Any, pace: Pace | None = None, seconds: float = MOST_SECONDS
) -> int:
    """Calls `work(after, size)` in one transaction after another, until it is done or `seconds` have passed."""
    pace = pace or Pace()
    after, changed, ends = start, 0, time.monotonic() + seconds
    while after is not None and time.monotonic() < ends:
        began = time.monotonic()
        try:
            with transaction.atomic():
                run(f"SET LOCAL statement_timeout = {ROW_LIMIT if pace.size == 1 else STATEMENT_LIMIT}")
                batch = work(after, pace.size)
        except OperationalError as error:
            if not ran_out_of_time(error) or pace.size == 1:
                raise
            pace.note_timeout()
            continue
        pace.note(time.monotonic() - began)
        after, changed = batch.after, changed + batch.changed
    return changed
