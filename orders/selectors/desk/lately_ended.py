"""The causes that ended within the last hours: what trouble there was that is over, for the overview.

`causes` has all of it; this is one cheap statement over the newest alerts of a few causes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch
from orders.selectors.desk.causes import PAUSE
from orders.selectors.desk.outage_orders import NOTICED

HOURS = 8
"""How long ago a cause may have ended."""
SHOWN = 5
MOST_READ = 500
"""The newest alerts that are read of each cause, and the most orders that are counted as having waited."""
LONGEST = timedelta(days=2)
"""How long ago the newest alert of a cause may have opened."""

_ENDED = """
    WITH ended AS MATERIALIZED (
        SELECT g.id, g.kind, g.agent, g.code, g.pattern, newest.closed_at
          FROM orders_alertgroup AS g
         CROSS JOIN LATERAL (
               SELECT closed_at FROM orders_alert
                WHERE group_id = g.id AND closed_at IS NOT NULL ORDER BY closed_at DESC LIMIT 1) AS newest
         WHERE g.last_at >= %(now)s - %(longest)s AND newest.closed_at >= %(since)s
           AND NOT EXISTS (SELECT FROM orders_alert AS a WHERE a.group_id = g.id AND a.closed_at IS NULL)
         ORDER BY newest.closed_at DESC LIMIT %(shown)s
    )
    SELECT ended.id, ended.kind, ended.agent, ended.code, ended.pattern, last.began, ended.closed_at,
           CASE WHEN ended.kind = 'outage' THEN waited.orders ELSE last.orders END
      FROM ended
     CROSS JOIN LATERAL (
           SELECT max(opened_at) FILTER (WHERE is_first) AS began
             FROM (SELECT opened_at,
                          coalesce(opened_at > max(closed_at) OVER (ORDER BY opened_at, id
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                              + CASE WHEN ended.kind = 'outage' THEN interval '0' ELSE %(pause)s END, true) AS is_first
                     FROM (SELECT id, opened_at, closed_at FROM orders_alert
                            WHERE group_id = ended.id AND closed_at IS NOT NULL
                            ORDER BY closed_at DESC LIMIT %(most)s) AS read) AS marked
     ) AS begun
     CROSS JOIN LATERAL (
           SELECT begun.began, count(DISTINCT order_id) AS orders
             FROM (SELECT order_id, opened_at FROM orders_alert
                    WHERE group_id = ended.id AND closed_at IS NOT NULL
                    ORDER BY closed_at DESC LIMIT %(most)s) AS read
            WHERE opened_at >= begun.began
     ) AS last
      LEFT JOIN LATERAL (
           SELECT count(DISTINCT order_id) AS orders
             FROM (SELECT order_id FROM orders_event
                    WHERE ended.kind = 'outage' AND kind = 'waiting_for_agent' AND detail ->> 'agent' = ended.agent
                      AND at BETWEEN begun.began - %(noticed)s AND ended.closed_at LIMIT %(most)s) AS few
     ) AS waited ON true
     ORDER BY ended.closed_at DESC
"""


@dataclass(frozen=True, kw_only=True)
class LatelyEnded:
    """A cause that is over: its group, when it was open last, and how many orders it hit, `MOST_READ` at most."""

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


def lately_ended(*, now: datetime) -> Sequence[LatelyEnded]:
    """The causes that ended within `HOURS`, the last ended first, `SHOWN` at most. One statement."""
    terms = {"now": now, "since": now - timedelta(hours=HOURS), "longest": LONGEST, "noticed": NOTICED}
    names = ("group", "kind", "agent", "code", "pattern", "began_at", "ended_at", "orders")
    return [
        LatelyEnded(**dict(zip(names, row, strict=True)))
        for row in fetch(_ENDED, {**terms, "pause": PAUSE, "most": MOST_READ, "shown": SHOWN})
    ]
