"""The supervisor: who leads, how far behind it is, and what the last sweeps found and did."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum

from orders.engine.runtime.sql import fetch
from orders.models import LeaderLease, SweepRecord
from orders.selectors.desk.health import LATE
from orders.selectors.desk.status_bar import MOST_COUNTED

SHOWN = 50
"""How many of the sweeps that found something are shown."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What sweeps found and did, in orders; `steps` are steps that timed out."""

    found: int
    recovered: int
    escalated: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class Supervision:
    """`lag` is how long the longest overdue order or step has been so, in seconds; None when nothing is overdue.

    `overdue` is counted up to a bound. `leader` is None while nobody leads.
    """

    leader: str | None
    term: int
    expires_at: datetime | None
    swept_at: datetime | None
    swept_seconds: float | None
    last: Tally
    hour: Tally
    overdue: int
    lag: float | None
    sweeps: Sequence[SweepRecord]

    @property
    def late(self) -> bool:
        """Whether the supervisor does not do its work."""
        return self.swept_seconds is None or self.swept_seconds > LATE


def supervision(*, now: datetime) -> Supervision:
    """How the supervisor is. Four queries."""
    lease = LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).first() or LeaderLease(term=0)
    overdue, oldest = fetch(
        """
        SELECT count(*), min(complete_by) FROM (
            (SELECT complete_by FROM orders_stepstate WHERE complete_by <= %(now)s
              ORDER BY complete_by LIMIT %(most)s)
            UNION ALL
            (SELECT complete_by FROM orders_orderprocess
              WHERE process_state = 'processing' AND complete_by <= %(now)s
              ORDER BY complete_by LIMIT %(most)s)) AS late
        """,
        {"now": now, "most": MOST_COUNTED + 1},
    )[0]
    leads = lease.holder is not None and lease.expires_at is not None and lease.expires_at > now
    sums = SweepRecord.objects.filter(at__gt=now - timedelta(hours=1)).aggregate(
        found=Sum("found", default=0),
        recovered=Sum("recovered", default=0),
        escalated=Sum("escalated", default=0),
        steps=Sum("steps_timed_out", default=0),
    )
    last = lease.last_sweep
    return Supervision(
        leader=lease.holder if leads else None,
        term=lease.term,
        expires_at=lease.expires_at,
        swept_at=lease.swept_at,
        swept_seconds=(now - lease.swept_at).total_seconds() if lease.swept_at else None,
        last=Tally(
            found=last.get("found", 0),
            recovered=last.get("recovered", 0),
            escalated=last.get("escalated", 0),
            steps=last.get("steps_timed_out", 0),
        ),
        hour=Tally(**sums),
        overdue=overdue,
        lag=(now - oldest).total_seconds() if oldest else None,
        sweeps=list(SweepRecord.objects.order_by("-id")[:SHOWN]),
    )
