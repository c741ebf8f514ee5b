"""Queues that do not move although every process of their role reports that all is well.

A process that has died stops reporting, and one that fails or hangs says so itself. What is left are passes that
succeed and take nothing: a session of somebody holds locks on the rows, which every pass skips, or the role overlooks
them.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

from orders.engine.role_health import ALIVE, Trouble
from orders.engine.runtime.sparing import Sparing
from orders.engine.runtime.sql import fetch
from orders.vocabulary import AlertKind

LIMIT = 40.0
"""Seconds that the same row may be the first of its queue. A role keeps an order that fails alone for 30 s before it
says so; and with two looks, one every 10 s, operators are told within a minute."""
SHARE = 100
"""The part of one process's time that the looks may take: while somebody holds a snapshot, a look meets everything that
was deleted."""

_PROCESS = """
                         CROSS JOIN LATERAL (
                               SELECT workflow, version, fingerprint
                                 FROM orders_orderprocess
                                WHERE order_id = {row}.order_id
                               OFFSET 0
                         ) AS process
"""
"""A row's order, looked up by its id."""
_IS_RUN = """
                   EXISTS (SELECT
                             FROM running
                            WHERE running.role = queues.role
                              AND running.workflow = process.workflow
                              AND running.version = process.version
                              AND process.fingerprint IN (running.fingerprint, '')
                           OFFSET 0)
"""
"""Whether a live process of the role runs the order's workflow. Orders on others wait for a release that does."""

# `OFFSET 0` has the server read a queue in its order, and look up the order of each row. With statistics that lag it
# might otherwise begin with all orders of the workflows that run, and look for each in a queue by reading all of it.
_FIRST_ROWS = f"""
    WITH live AS MATERIALIZED (
        SELECT role, versions, troubles
          FROM orders_roleinstance
         WHERE seen_at > clock_timestamp() - %(alive)s * interval '1 second'
    ), running AS MATERIALIZED (
        SELECT role, of ->> 0 AS workflow, (of ->> 1)::smallint AS version, of ->> 2 AS fingerprint
          FROM live, jsonb_array_elements(versions) AS of
    ), queues AS MATERIALIZED (
        SELECT role FROM live GROUP BY role HAVING bool_and(troubles = '[]')
    )
    SELECT role, first
      FROM queues
      JOIN LATERAL (
           SELECT (
                  SELECT format('submission %%s of order %%s', message.id, message.order_id)
                    FROM orders_submissionmessage AS message
                   ORDER BY message.id
                   LIMIT 1
                  ) AS first
            WHERE role = 'submission'
            UNION ALL
           SELECT (
                  SELECT format('reply %%s to order %%s', reply.id, reply.order_id)
                    FROM orders_agentreply AS reply
                         {_PROCESS.format(row="reply")}
                   WHERE {_IS_RUN}
                   ORDER BY reply.id
                   LIMIT 1
                  )
            WHERE role = 'scheduler'
            UNION ALL
           SELECT (
                  SELECT format('order %%s', order_id)
                    FROM orders_orderprocess AS process
                   WHERE process_state = 'pending'
                     AND not_before IS NULL
                     AND {_IS_RUN}
                   ORDER BY priority DESC, created_at
                   LIMIT 1
                  )
            WHERE role = 'scheduler'
            UNION ALL
           SELECT (
                  SELECT format('request %%s of order %%s', request.id, request.order_id)
                    FROM orders_agentrequest AS request
                   WHERE complete_by < clock_timestamp()
                     AND (leased_until IS NULL OR leased_until < clock_timestamp())
                   ORDER BY request.id
                   LIMIT 1
                  )
            WHERE role = 'agents'
            UNION ALL
           SELECT (
                  SELECT format('step %%s of order %%s', step.name, step.order_id)
                    FROM orders_stepstate AS step
                         {_PROCESS.format(row="step")}
                   WHERE step.complete_by < (SELECT clock_timestamp())
                     AND {_IS_RUN}
                   ORDER BY step.complete_by
                   LIMIT 1
                  )
            WHERE role = 'supervisor'
           OFFSET 0
           ) AS first_rows ON first IS NOT NULL
"""


class FirstRow(NamedTuple):
    """The first row of a queue whose role reports that all is well, and is able to take it."""

    role: str
    row: str


class QueueWatch:
    """What one process knows of the first rows of the queues."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sparing = Sparing(share=SHARE, clock=clock)
        self._since: dict[FirstRow, float] = {}

    def look(self) -> list[Trouble]:
        """Looks, if it is time to; returns the queues whose first row has stayed for `LIMIT`. Raises database
        errors."""
        if self._sparing.is_due():
            with self._sparing.look():
                rows = fetch(_FIRST_ROWS, {"alive": ALIVE})
            now = self._clock()
            self._since = {first: self._since.get(first, now) for first in map(FirstRow._make, rows)}
        return [_trouble(first) for first, since in self._since.items() if self._clock() - since >= LIMIT]

    def forget(self) -> None:
        """Starts anew: nothing moves while the database does not answer."""
        self._since = {}


def _trouble(first: FirstRow) -> Trouble:
    message = (
        f"the role {first.role} has passed over {first.row} for more than {LIMIT:.0f} s: another session may "
        "hold a lock on it"
    )
    return Trouble(AlertKind.STALLED, first.role, "not_taken", message)
