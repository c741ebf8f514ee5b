"""The supervisor: who leads, what is overdue, and what the latest sweeps found and did."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Sum

from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.sql import fetch
from orders.models import LeaderLease, SweepRecord
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.standing import RetryLimits

LATE = 20.0
"""Seconds without a sweep after which the supervisor counts as gone. A killed leader is replaced in about 12 s."""
SHOWN = 50
"""How many of the sweeps that found something are shown."""


@dataclass(frozen=True, kw_only=True)
class SweepTotals:
    """What sweeps found and did, in orders; `steps` counts the steps that timed out."""

    found: int
    recovered: int
    escalated: int
    steps: int


@dataclass(frozen=True, kw_only=True)
class SupervisorStatus:
    """The supervisor. `leader` is None while nobody leads; `lease_seconds` is negative once the lease has lapsed.

    `overdue_orders` are past their own complete-by or have such a step; both counts stop at a bound. `lag` is how many
    seconds the most overdue of them is late; None when nothing is overdue.
    """

    leader: str | None
    term: int
    expires_at: datetime | None
    lease_seconds: float | None
    swept_at: datetime | None
    swept_seconds: float | None
    last: SweepTotals
    hour: SweepTotals
    overdue_orders: int
    overdue_steps: int
    lag: float | None
    sweeps: Sequence[SweepRecord]

    @property
    def late(self) -> bool:
        """Whether the supervisor is not doing its work."""
        return is_late(self.swept_seconds)

    @property
    def period(self) -> float:
        """Seconds between two sweeps."""
        return settings.CONFIG.supervisor_period


def is_late(swept_seconds: float | None) -> bool:
    """Whether the last sweep, that many seconds ago, is too old. None means that there never was a sweep."""
    return swept_seconds is None or swept_seconds > LATE


def retry_limits() -> RetryLimits:
    """How many failures of a step the supervisor allows in this installation."""
    rules = RetryRules(threshold=settings.CONFIG.failure_threshold)
    return RetryLimits(forward=rules.threshold, backward=rules.compensation_threshold)


def last_sweep_at() -> datetime | None:
    """When a supervisor last finished a sweep; None if none ever has."""
    return LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).values_list("swept_at", flat=True).first()


def supervisor_status(*, now: datetime) -> SupervisorStatus:
    """How the supervisor is doing. Four queries."""
    lease = LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).first() or LeaderLease(term=0)
    leads = lease.holder is not None and lease.expires_at is not None and lease.expires_at > now
    orders, steps, oldest = _overdue(now)
    sums = SweepRecord.objects.filter(at__gt=now - timedelta(hours=1)).aggregate(
        found=Sum("found", default=0),
        recovered=Sum("recovered", default=0),
        escalated=Sum("escalated", default=0),
        steps=Sum("steps_timed_out", default=0),
    )
    last = lease.last_sweep
    return SupervisorStatus(
        leader=lease.holder if leads else None,
        term=lease.term,
        expires_at=lease.expires_at,
        lease_seconds=(lease.expires_at - now).total_seconds() if lease.expires_at else None,
        swept_at=lease.swept_at,
        swept_seconds=(now - lease.swept_at).total_seconds() if lease.swept_at else None,
        last=SweepTotals(
            found=last.get("found", 0),
            recovered=last.get("recovered", 0),
            escalated=last.get("escalated", 0),
            steps=last.get("steps_timed_out", 0),
        ),
        hour=SweepTotals(**sums),
        overdue_orders=orders,
        overdue_steps=steps,
        lag=(now - oldest).total_seconds() if oldest else None,
        sweeps=list(SweepRecord.objects.order_by("-id")[:SHOWN]),
    )


def _overdue(now: datetime) -> tuple[int, int, datetime | None]:
    """Overdue orders and steps, each counted up to a bound, and the earliest complete-by among them."""
    orders, steps, oldest = fetch(
        """
        WITH steps AS (
            SELECT order_id, complete_by FROM orders_stepstate
             WHERE complete_by <= %(now)s ORDER BY complete_by LIMIT %(most)s),
        orders AS (
            SELECT order_id, complete_by FROM orders_orderprocess
             WHERE process_state = 'processing' AND complete_by <= %(now)s ORDER BY complete_by LIMIT %(most)s)
        SELECT (SELECT count(*) FROM (SELECT order_id FROM steps UNION SELECT order_id FROM orders) AS late),
               (SELECT count(*) FROM steps),
               least((SELECT min(complete_by) FROM steps), (SELECT min(complete_by) FROM orders))
        """,
        {"now": now, "most": MOST_COUNTED + 1},
    )[0]
    return orders, steps, oldest
