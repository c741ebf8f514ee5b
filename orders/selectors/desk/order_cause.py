"""What is known of the cause of an order's alert: how it was last fixed, by its closed alerts, and its newest note."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch
from orders.models import Alert, AlertGroup, GroupNote

TOGETHER = timedelta(minutes=10)
"""What one person does in the same way within this time is one fix."""
MOST_READ = 500
"""The closed alerts of a cause that are read, the newest."""
EDITED_AND_RESUBMITTED = "edited and resubmitted"
"""How the alert of an order is resolved that was corrected before it was tried again."""
CORRECTED = "corrected by the customer"
"""How the alert of an order is resolved whose customer corrected it and had it tried again."""
ACTS = ("resubmitted", EDITED_AND_RESUBMITTED, "edited", "skipped", "settled", "paid again", CORRECTED)
"""The resolutions by which an order goes on. One that was cancelled was not fixed."""

_LAST = """
    WITH closed AS MATERIALIZED (
        SELECT order_id, closed_at, closed_by, resolution FROM orders_alert
         WHERE group_id = %(group)s AND closed_at IS NOT NULL
         ORDER BY closed_at DESC LIMIT %(most)s
    ), fixed AS (
        SELECT * FROM closed
         WHERE resolution = ANY(%(acts)s)
           AND NOT EXISTS (SELECT FROM orders_alert AS again
                            WHERE again.order_id = closed.order_id AND again.opened_at >= closed.closed_at)
    ), last AS (
        SELECT * FROM fixed ORDER BY closed_at DESC LIMIT 1
    )
    SELECT last.closed_at, last.closed_by, last.resolution, count(*)
      FROM last JOIN fixed USING (closed_by, resolution)
     WHERE fixed.closed_at > last.closed_at - %(together)s
     GROUP BY last.closed_at, last.closed_by, last.resolution
"""


@dataclass(frozen=True, kw_only=True)
class LastFix:
    """When orders with a cause were last fixed, by whom, how, and how many of `MOST_READ` at most."""

    at: datetime
    by: str
    how: str
    orders: int


def last_fix(group: AlertGroup) -> LastFix | None:
    """The last fix of a cause; None if there is none. An order that failed again was not fixed. One statement."""
    rows = fetch(_LAST, {"group": group.pk, "most": MOST_READ, "acts": list(ACTS), "together": TOGETHER})
    return next((LastFix(at=at, by=by, how=how, orders=count) for at, by, how, count in rows), None)


def newest_note(group: AlertGroup) -> GroupNote | None:
    """The newest note on a cause. One query."""
    return group.notes.order_by("-id").first()


def edited_by(alerts: Iterable[Alert]) -> str:
    """Who closed the last of an order's alerts, if that was by an edit; empty otherwise."""
    closed = [(alert.closed_at, alert.pk, alert) for alert in alerts if alert.closed_at is not None]
    last = max(closed)[2] if closed else None
    return last.closed_by if last is not None and last.resolution == EDITED_AND_RESUBMITTED else ""
