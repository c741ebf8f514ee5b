"""The times of causes that ended within the last hours: what trouble there was that is over, for the overview.

`causes` has all of it; this is cheap, over the newest alerts of the causes of which something was closed lately.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch
from orders.selectors.desk.causes import AT_ONCE, NUMBERED, PAUSE
from orders.selectors.desk.outage_orders import with_waiting_orders
from orders.vocabulary import AlertKind

HOURS = 8
"""How long ago a time may have ended."""
SHOWN = 5
MOST_READ = 500
"""The newest alerts that are read of each cause, and the most orders that are counted as having waited."""
LONGEST = timedelta(days=2)
"""How long ago the newest alert of a cause may have opened."""

_ENDED = f"""
    WITH chosen AS MATERIALIZED (
        SELECT g.id, g.kind, g.agent, g.code, g.pattern
          FROM orders_alertgroup AS g
         WHERE g.last_at >= %(now)s - %(longest)s
           AND EXISTS (SELECT FROM orders_alert AS a WHERE a.group_id = g.id AND a.closed_at >= %(since)s)
    ), alerts AS (
        SELECT c.id AS group_id, c.kind, a.*
          FROM chosen AS c
         CROSS JOIN LATERAL (
               (SELECT id, order_id, opened_at, closed_at FROM orders_alert
                 WHERE group_id = c.id AND closed_at IS NULL ORDER BY opened_at, id LIMIT 1)
                UNION ALL
               (SELECT id, order_id, opened_at, closed_at FROM orders_alert
                 WHERE group_id = c.id AND closed_at IS NOT NULL ORDER BY closed_at DESC LIMIT %(most)s)
         ) AS a
    ), {NUMBERED}
    ), times AS (
        SELECT group_id, min(opened_at) AS began, max(closed_at) AS ended, count(DISTINCT order_id) AS orders
          FROM numbered GROUP BY group_id, number
        HAVING count(*) = count(closed_at) AND max(closed_at) >= %(since)s
    )
    SELECT c.id, times.began, times.ended, c.kind, times.orders, NULL, c.agent, c.code, c.pattern, count(*) OVER ()
      FROM times JOIN chosen AS c ON c.id = times.group_id
     ORDER BY times.ended DESC, c.id DESC LIMIT %(shown)s
"""
"""The oldest alert that is open is enough to know which time goes on: nothing that opened after it has ended."""


@dataclass(frozen=True, kw_only=True)
class LatelyEnded:
    """A time of a cause that is over: its group, from when to when, and how many orders it hit, `MOST_READ` at most."""

    group: int
    kind: str
    agent: str
    code: str
    pattern: str
    began_at: datetime
    ended_at: datetime
    orders: int

    @property
    def more(self) -> bool:
        """Whether there may have been more orders."""
        return self.orders >= MOST_READ


def lately_ended(*, now: datetime) -> tuple[int, Sequence[LatelyEnded]]:
    """How many times ended within `HOURS`, and these, the last ended first, `SHOWN` at most. Two statements."""
    rows = fetch(
        _ENDED,
        {
            "now": now,
            "since": now - timedelta(hours=HOURS),
            "longest": LONGEST,
            "pause": PAUSE,
            "at_once": list(AT_ONCE),
            "most": MOST_READ,
            "shown": SHOWN,
        },
    )
    outages = {row[0]: row[6] for row in rows if row[3] == AlertKind.OUTAGE}
    sized = with_waiting_orders(rows, agents=outages, queues=(), until=now, most=MOST_READ, shown=1)
    names = ("group", "began_at", "ended_at", "kind", "orders", "agent", "code", "pattern")
    ended = [
        LatelyEnded(**dict(zip(names, (*row[:5], *row[6:9]), strict=True)))  # without the ids of its orders
        for row in sized
    ]
    return (rows[0][-1] if rows else 0), ended
