"""The alert inbox: the causes that are open, without those that are snoozed, which are counted and listed apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orders.models import Alert
from orders.selectors.desk.alert_groups import (
    MOST_GROUPS,
    GroupSummary,
    OpenAlerts,
    open_groups,
    summaries,
)
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.desk.snoozes import Snooze, snooze_of


class InboxView(StrEnum):
    """Which causes the inbox lists. `all` leaves out those that are snoozed; the other two do so as well."""

    ALL = "all"
    MINE = "mine"
    NOBODYS = "nobodys"
    SNOOZED = "snoozed"


@dataclass(frozen=True, kw_only=True)
class InboxRow:
    """A cause in the inbox."""

    cause: GroupSummary
    snooze: Snooze | None


@dataclass(frozen=True, kw_only=True)
class Inbox:
    """The first rows of a view, and how many causes each view has."""

    rows: Sequence[InboxRow]
    counts: Mapping[InboxView, int]
    view: InboxView

    @property
    def count(self) -> int:
        """How many causes this view has."""
        return self.counts[self.view]

    @property
    def causes(self) -> int:
        """How many causes are open, snoozed or not."""
        return self.counts[InboxView.ALL] + self.counts[InboxView.SNOOZED]


def count_open_alerts() -> int:
    """How many alerts are open, of all causes, snoozed or not, counted up to `MOST_COUNTED` + 1. One query."""
    return bounded_count(Alert.objects.filter(closed_at__isnull=True))


def read_inbox(view: InboxView, *, account: int | None, now: datetime, most: int = MOST_GROUPS) -> Inbox:
    """The inbox of an account. At most five queries."""
    groups = open_groups(now=now)
    snoozes = {alerts.group.pk: snooze_of(alerts.group, count=alerts.open, now=now) for alerts in groups}
    views: dict[InboxView, list[OpenAlerts]] = {each: [] for each in InboxView}
    for alerts in groups:
        if snoozes[alerts.group.pk] is not None:
            views[InboxView.SNOOZED].append(alerts)
            continue
        views[InboxView.ALL].append(alerts)
        if alerts.group.owner_id is None:
            views[InboxView.NOBODYS].append(alerts)
        elif alerts.group.owner_id == account:
            views[InboxView.MINE].append(alerts)
    return Inbox(
        rows=[
            InboxRow(cause=cause, snooze=snoozes[cause.group.pk])
            for cause in summaries(views[view][:most], now)
        ],
        counts={each: len(causes) for each, causes in views.items()},
        view=view,
    )
