"""Whether an alert group is out of sight, and until when. Pure."""

from dataclasses import dataclass
from datetime import datetime

from orders.models import AlertGroup


@dataclass(frozen=True, kw_only=True)
class Snooze:
    """Who snoozed a group when, and until when; with `most`, also until so many alerts are open."""

    by: str
    at: datetime
    until: datetime
    most: int | None


def snooze_of(group: AlertGroup, *, count: int, now: datetime) -> Snooze | None:
    """The snooze of a group with so many open alerts; None if it is not snoozed, or is so no longer."""
    if group.snoozed_until is None or group.snoozed_at is None or group.snoozed_until <= now:
        return None
    if group.snooze_most is not None and count >= group.snooze_most:
        return None
    return Snooze(by=group.snoozed_by, at=group.snoozed_at, until=group.snoozed_until, most=group.snooze_most)
