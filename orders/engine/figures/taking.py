"""When figures are taken: each minute once, by the leader, soon after it has ended."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db import transaction

from orders.engine.figures.hours import HOUR, write_hours
from orders.engine.figures.minutes import MINUTE, MinuteReading, start_of_minute, write_tallies
from orders.engine.runtime.sql import DATABASE_TROUBLE, SETTLED_AFTER, database_now, fetch
from orders.engine.runtime.text import first_line

log = structlog.get_logger()

FILLED_IN = timedelta(hours=1)
"""How far back a minute is filled in that nobody has measured. Older ones are left as not measured."""
MOST_AT_ONCE = 3
"""Minutes that one sweep measures at most."""
BUDGET = 1.0
"""Seconds after which a sweep begins no further slice of a minute; the next sweep goes on with it. A slice takes 5 s at
most (`TRANSACTION_LIMIT`), so together they stay well below the leader's lease."""
MOST_TRIES = 3
"""How often a minute is tried whose figures the database does not deliver in time, before it is left as not
measured."""


class FigureTaker:
    """Takes what is due, in slices, so that neither sweeps nor heartbeats wait for a minute in which much happened.

    Reading needs no leadership and locks nothing; only who leads may write.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._done_until: datetime | None = None
        self._tries: Counter[datetime] = Counter()
        self._reading: MinuteReading | None = None

    def run_once(self, check: Callable[[], None], *, beat: Callable[[], None]) -> int:
        """Takes the figures that are due, for about `BUDGET` seconds; returns of how many minutes.

        `check` is called in each transaction, and raises `LeadershipLost` if another leads. `beat` is called after each
        slice. What fails does not hold up a sweep.
        """
        latest = start_of_minute(database_now() - timedelta(seconds=SETTLED_AFTER)) - MINUTE
        if self._done_until is not None and latest <= self._done_until:
            return 0
        taken, began = 0, self._clock()
        try:
            for _ in range(MOST_AT_ONCE):
                reading = self._reading or self._begin(latest, check)
                if reading is None:
                    self._finish(latest, check)
                    break
                while not reading.is_complete:
                    if self._clock() - began > BUDGET:
                        return taken
                    reading.read_slice()
                    beat()
                taken += self._write(reading, check)
        except DATABASE_TROUBLE as error:
            self._reading = None  # what it has read may be from before a failover
            log.warning(
                "figures not taken",
                action="figures",
                error=first_line(error),
                seconds=round(self._clock() - began, 1),
            )
        return taken

    def _begin(self, latest: datetime, check: Callable[[], None]) -> MinuteReading | None:
        """The next minute that is due; None if there is none. The tallies of agents are kept as they are now."""
        due = self._due(latest)
        if not due:
            return None
        self._tries[due[0]] += 1
        if due[0] == latest:
            with transaction.atomic():
                check()
                write_tallies(latest)
        self._reading = MinuteReading(due[0])
        return self._reading

    def _write(self, reading: MinuteReading, check: Callable[[], None]) -> bool:
        self._reading = None
        with transaction.atomic():
            check()
            return reading.write()

    def _finish(self, latest: datetime, check: Callable[[], None]) -> None:
        """Writes the hours whose minutes have been measured, or will not be."""
        until = (latest + MINUTE).replace(minute=0)
        with transaction.atomic():
            check()
            write_hours(since=until - 3 * HOUR, until=until)
        self._done_until = latest
        self._tries.clear()

    def _due(self, latest: datetime) -> list[datetime]:
        """The minutes that have no figures, the latest first: it alone can have those of agents."""
        first = latest - FILLED_IN + MINUTE
        rows = fetch(
            """
            SELECT minute FROM generate_series(%s::timestamptz, %s::timestamptz, '1 minute') AS minute
             WHERE NOT EXISTS (SELECT FROM orders_orderfigures AS done
                                WHERE done.span = 'minute' AND done.began = minute)
               -- Before a release first ran a workflow there was nothing to be measured.
               AND minute >= (SELECT date_trunc('minute', first_seen_at) FROM orders_workflowdefinition
                               ORDER BY id LIMIT 1)
             ORDER BY minute DESC
            """,
            [first, latest],
        )
        return [minute for (minute,) in rows if self._tries[minute] < MOST_TRIES]
