"""What every page of the console shows at its edge: what is open, and whether the supervisor is late."""

from dataclasses import dataclass
from datetime import datetime

from orders.models import LeaderLease
from orders.selectors.database_clock import now
from orders.selectors.desk.approvals import count_waiting
from orders.selectors.desk.decisions import count_open_decisions
from orders.selectors.desk.inbox import count_open_alerts
from orders.selectors.desk.supervisor import is_late


@dataclass(frozen=True, kw_only=True)
class StatusBar:
    """Alerts, decisions and requests for approval are counted up to a bound.

    `swept_seconds` is None when there was never a sweep.
    """

    now: datetime
    open_alerts: int
    open_decisions: int
    open_approvals: int
    swept_at: datetime | None
    swept_seconds: float | None

    @property
    def late(self) -> bool:
        """Whether the supervisor is not doing its work."""
        return is_late(self.swept_seconds)


def read_status_bar() -> StatusBar:
    """The console's status bar. Five small queries."""
    at = now()
    lease = LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).only("swept_at").first()
    swept_at = lease.swept_at if lease else None
    return StatusBar(
        now=at,
        open_alerts=count_open_alerts(),
        open_decisions=count_open_decisions(now=at),
        open_approvals=count_waiting(now=at),
        swept_at=swept_at,
        swept_seconds=(at - swept_at).total_seconds() if swept_at else None,
    )
