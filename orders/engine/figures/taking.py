"""When figures are taken: each minute once, by the leader, soon after it has ended."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog
from django.db import transaction

from orders.engine.figures.hours import HOUR, write_hours
from orders.engine.figures.minutes import MINUTE, start_of_minute, write_minute, write_tallies
from orders.engine.runtime.sql import DATABASE_TROUBLE, SETTLED_AFTER, database_now, fetch
from orders.engine.runtime.text import first_line

log = structlog.get_logger()

FILLED_IN = timedelta(hours=1)
"""How far back a minute is filled in that nobody has measured. Older ones are left as not measured."""
MOST_AT_ONCE = 3
"""Minutes that one sweep measures at most."""
MOST_TRIES = 3
"""How often a minute is tried whose figures the database does not deliver in time, before it is left as not
measured."""


class FigureTaker:
    """Takes what is due. `check` is called in each transaction, and raises `LeadershipLost` if another leads."""

    def __init__(self) -> None:
        self._done_until: datetime | None = None
        self._tries: Counter[datetime] = Counter()

    def run_once(self, check: Callable[[], None]) -> int:
        """Takes the figures that are due; returns of how many minutes. What fails does not hold up a sweep."""
        latest = start_of_minute(database_now() - timedelta(seconds=SETTLED_AFTER)) - MINUTE
        if self._done_until is not None and latest <= self._done_until:
            return 0
        taken, began = 0, time.monotonic()
        try:
            due = self._due(latest)
            for minute in due[:MOST_AT_ONCE]:
                self._tries[minute] += 1
                with transaction.atomic():
                    check()
                    taken += write_minute(minute)
                    if minute == latest:
                        write_tallies(minute)
            if len(due) <= MOST_AT_ONCE:
                self._write_hours(latest, check)
                self._done_until = latest
                self._tries.clear()
        except DATABASE_TROUBLE as error:
            log.warning(
                "figures not taken",
                action="figures",
                error=first_line(error),
                seconds=round(time.monotonic() - began, 1),
            )
        return taken

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

    def _write_hours(self, latest: datetime, check: Callable[[], None]) -> None:
        """Writes the hours whose minutes have been measured, or will not be."""
        until = (latest + MINUTE).replace(minute=0)
        with transaction.atomic():
            check()
            write_hours(since=until - 3 * HOUR, until=until)
