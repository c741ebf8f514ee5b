"""The drills so far, with their times, as the audit log and the alerts have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from orders.models import Alert, AuditEntry

START, END = "drill start", "chaos clear"
"""The acts that begin and end a drill."""
MOST = 20


@dataclass(frozen=True, kw_only=True)
class Drill:
    """A drill: who began it when, and the seconds from then until the first alert, until it was ended, and until the
    last of its alerts was closed. A time is None if it has not come. `open_alerts` are those not yet closed."""

    scenario: str
    by: str
    started_at: datetime
    noticed_seconds: float | None
    ended_seconds: float | None
    well_seconds: float | None
    open_alerts: int


def latest_drills() -> list[Drill]:
    """The latest drills, the newest first. An alert belongs to the drill that had begun last before it."""
    acts = AuditEntry.objects.filter(Q(act=START) | Q(act=END), allowed=True).order_by("-id")[: 3 * MOST]
    drills: list[Drill] = []
    until: datetime | None = None
    end: datetime | None = None
    for entry in acts:
        if entry.act == END:
            end = entry.at
        else:
            drills.append(_drill(entry, end, until))
            until, end = entry.at, None
    return drills[:MOST]


def _drill(entry: AuditEntry, end: datetime | None, until: datetime | None) -> Drill:
    alerts = Alert.objects.filter(opened_at__gte=entry.at)
    if until:
        alerts = alerts.filter(opened_at__lt=until)
    times = list(alerts.order_by("opened_at").values_list("opened_at", "closed_at")[:10_000])
    closed = [moment for _, moment in times if moment]
    open_alerts = len(times) - len(closed)
    return Drill(
        scenario=entry.target,
        by=entry.actor,
        started_at=entry.at,
        noticed_seconds=_seconds(entry.at, [times[0][0]] if times else []),
        ended_seconds=_seconds(entry.at, [end] if end else []),
        well_seconds=_seconds(entry.at, [max(closed)] if closed and end and not open_alerts else []),
        open_alerts=open_alerts,
    )


def _seconds(start: datetime, moments: Sequence[datetime]) -> float | None:
    return (moments[0] - start).total_seconds() if moments else None
