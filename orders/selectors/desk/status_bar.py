"""What every page of the console says at its edge: how many alerts are open, and whether the supervisor is late."""

from dataclasses import dataclass
from datetime import datetime

from orders.engine.runtime.sql import database_now
from orders.models import Alert, LeaderLease
from orders.selectors.desk.health import LATE

MOST_COUNTED = 10_000
"""Where counting stops: beyond it a number is shown as "10,000+"."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """`swept_seconds` is None when no sweep was ever made."""

    now: datetime
    open_alerts: int
    swept_at: datetime | None
    swept_seconds: float | None

    @property
    def late(self) -> bool:
        """Whether the supervisor does not do its work."""
        return self.swept_seconds is None or self.swept_seconds > LATE


def now() -> datetime:
    """The database's clock, for views: it alone decides what is overdue."""
    return database_now()


def frame() -> Frame:
    """What the frame of a page shows. Three small queries."""
    at = database_now()
    lease = LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).only("swept_at").first()
    swept_at = lease.swept_at if lease else None
    return Frame(
        now=at,
        open_alerts=Alert.objects.filter(closed_at__isnull=True)[: MOST_COUNTED + 1].count(),
        swept_at=swept_at,
        swept_seconds=(at - swept_at).total_seconds() if swept_at else None,
    )
