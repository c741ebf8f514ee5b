"""Open alerts by cause: what the console's inbox, `manage.py alerts` and the API all read.

A cause is a kind of alert, an agent, an error code and the pattern of the message. Everything here stays fast with tens
of thousands of open alerts: they are counted by the index of open alerts by group, and customers and money are added up
over the newest open alerts of each group only (`at_risk.MOST_VALUED` in all), and then shown as "or more".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from orders.engine.runtime.sql import fetch
from orders.models import AlertGroup, BulkAction, GroupNote, OutgoingMessage
from orders.selectors.desk.agents import waiting_for
from orders.selectors.desk.at_risk import ValueAtRisk, makes_orders_wait, read_values
from orders.selectors.desk.bulk import actions_on_group
from orders.selectors.desk.snoozes import snooze_of
from orders.selectors.paging import Page, page_of
from orders.vocabulary import AlertKind

MOST_GROUPS = 30
"""Groups on one page of the inbox."""
MOST_CLOSED = 10_000
"""The most recently closed alerts of a group that are read for its trend."""
RECENT = timedelta(hours=1)
RISES = timedelta(minutes=10)
"""A cause rises as long as no more time than this has passed since its newest alert was opened."""
SHOWN = 20
SHOWN_NOTES = 100

_COUNTS = """
    SELECT a.group_id, count(*), min(a.opened_at), max(a.opened_at),
           count(*) FILTER (WHERE a.opened_at > %(now)s - %(recent)s),
           count(*) FILTER (WHERE a.opened_at > %(now)s - 2 * %(recent)s AND a.opened_at <= %(now)s - %(recent)s),
           max(a.id)
      FROM orders_alert AS a
     WHERE a.closed_at IS NULL AND (%(group)s::bigint IS NULL OR a.group_id = %(group)s::bigint)
     GROUP BY a.group_id
"""
_FACTS = """
    SELECT g.id, newest.message, newest.step, resolved.resolution, resolved.closed_by, resolved.closed_at,
           (SELECT count(*) FROM orders_groupnote AS n WHERE n.group_id = g.id),
           (SELECT b.id FROM orders_bulkaction AS b
             WHERE b.group_id = g.id AND b.state IN ('running', 'paused') ORDER BY b.id DESC LIMIT 1),
           late.last_hour, late.hour_before, late.newest
      FROM unnest(%(groups)s::bigint[]) AS g(id)
     CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE opened_at > %(now)s - %(recent)s) AS last_hour,
                  count(*) FILTER (WHERE opened_at > %(now)s - 2 * %(recent)s
                                     AND opened_at <= %(now)s - %(recent)s) AS hour_before,
                  max(opened_at) AS newest
             FROM (SELECT opened_at FROM orders_alert
                    WHERE group_id = g.id AND closed_at > %(now)s - 2 * %(recent)s
                    ORDER BY closed_at DESC LIMIT %(most)s) AS closed
      ) AS late
      LEFT JOIN LATERAL (
           SELECT message, step FROM orders_alert
            WHERE group_id = g.id AND closed_at IS NULL ORDER BY opened_at DESC LIMIT 1
      ) AS newest ON true
      LEFT JOIN LATERAL (
           SELECT resolution, closed_by, closed_at FROM orders_alert
            WHERE group_id = g.id AND closed_at IS NOT NULL ORDER BY closed_at DESC LIMIT 1
      ) AS resolved ON true
"""
_CLOSED = """
    SELECT g.id, c.resolution, c.closed_by, count(*)
      FROM unnest(%s::bigint[]) AS g(id)
     CROSS JOIN LATERAL (
           SELECT resolution, closed_by FROM orders_alert
            WHERE group_id = g.id AND closed_at IS NOT NULL ORDER BY closed_at DESC LIMIT %s
     ) AS c
     GROUP BY g.id, c.resolution, c.closed_by ORDER BY g.id, count(*) DESC, c.resolution, c.closed_by
"""


@dataclass(frozen=True, kw_only=True)
class OpenAlerts:
    """The open alerts of one group, counted. `newest` is the id of the newest; `last_hour` counts those opened then."""

    group: AlertGroup
    open: int
    first_at: datetime
    last_at: datetime
    last_hour: int
    hour_before: int
    newest: int

    @property
    def is_outage(self) -> bool:
        return self.group.kind == AlertKind.OUTAGE

    @property
    def has_orders(self) -> bool:
        return AlertKind.are_about_orders(self.group.kind)

    @property
    def makes_orders_wait(self) -> bool:
        """Whether it is about an agent for which orders wait."""
        return makes_orders_wait(self.group.kind)

    @property
    def first_seen(self) -> datetime:
        """When the cause first occurred, even if every alert of that time is closed."""
        return min(self.group.first_at, self.first_at)

    @property
    def acknowledged(self) -> bool:
        """Whether it was acknowledged since it last began. An older acknowledgement was of an earlier occurrence."""
        return self.group.acknowledged_at is not None and self.group.acknowledged_at >= self.first_at

    @property
    def acknowledged_at(self) -> datetime | None:
        """When it was acknowledged; None if it was not since it last began."""
        return self.group.acknowledged_at if self.acknowledged else None

    @property
    def acknowledged_by(self) -> str:
        """Who acknowledged it; empty if nobody has since it last began."""
        return self.group.acknowledged_by if self.acknowledged else ""


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """How, by whom and when the most recently closed alert of a group was resolved."""

    how: str
    by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class GroupSummary(OpenAlerts):
    """An open group with everything that the inbox shows of it.

    `last_hour` and `hour_before` count every alert that was opened then, even if it has been closed since, and
    `last_seen` is when the newest of them all was opened; `rises` says whether that was a moment ago. `waiting` counts
    the steps that wait for an outage to end, up to `MOST_COUNTED` + 1. `action` is the bulk action under way.
    """

    message: str
    step: str
    at_risk: ValueAtRisk
    resolved: Resolution | None
    notes: int
    action: int | None
    waiting: int
    last_seen: datetime
    rises: bool

    @property
    def trend(self) -> str:
        """Whether more are opened than before: up, down, steady, over if they were and it has stopped, or quiet when
        there were none."""
        if not self.last_hour and not self.hour_before:
            return "quiet"
        if self.last_hour < self.hour_before:
            return "down"
        if not self.rises:
            return "over"
        return "up" if self.last_hour > self.hour_before else "steady"


def open_groups(*, now: datetime, group: AlertGroup | None = None) -> list[OpenAlerts]:
    """Every group with open alerts, or one of them: unacknowledged groups first, then the largest. Two queries."""
    rows = fetch(_COUNTS, {"now": now, "recent": RECENT, "group": group.pk if group else None})
    groups = (
        {group.pk: group}
        if group
        else AlertGroup.objects.select_related("owner").in_bulk([row[0] for row in rows])
    )
    names = ("open", "first_at", "last_at", "last_hour", "hour_before", "newest")
    counted = [
        OpenAlerts(group=groups[group_id], **dict(zip(names, counts, strict=True)))
        for group_id, *counts in rows
    ]
    return sorted(counted, key=lambda alerts: (alerts.acknowledged, -alerts.open, -alerts.group.pk))


def group_summaries(*, now: datetime, most: int = MOST_GROUPS) -> tuple[list[GroupSummary], int]:
    """The first of `open_groups` with everything the inbox shows, and how many there are. At most five queries."""
    groups = open_groups(now=now)
    return summaries(groups[:most], now), len(groups)


def group_summary(group: AlertGroup, *, now: datetime) -> GroupSummary | None:
    """One group; None if none of its alerts is open. At most four queries."""
    return next(iter(summaries(open_groups(now=now, group=group), now)), None)


def group_page(
    *,
    before: int | None,
    limit: int,
    now: datetime,
    kind: str | None = None,
    agent: str = "",
    code: str = "",
    acknowledged: bool | None = None,
    owner: str | None = None,
    snoozed: bool | None = None,
) -> Page[OpenAlerts]:
    """A page of the groups with open alerts, the newest group first, below the id `before`. Two queries.

    With `kind`, `agent` and `code` only those of that cause; with `acknowledged` only those that
    somebody has acknowledged or, if it is False, only the others; with `snoozed` likewise. With `owner` only those of
    this account or, if it is empty, only those that nobody owns.
    """
    groups = [
        alerts
        for alerts in open_groups(now=now)
        if (before is None or alerts.group.pk < before)
        and kind in (None, alerts.group.kind)
        and agent in ("", alerts.group.agent)
        and code in ("", alerts.group.code)
        and acknowledged in (None, alerts.acknowledged)
        and owner in (None, alerts.group.owner_name)
        and snoozed in (None, snooze_of(alerts.group, count=alerts.open, now=now) is not None)
    ]
    return page_of(sorted(groups, key=lambda alerts: alerts.group.pk, reverse=True), limit)


def summaries(groups: Sequence[OpenAlerts], now: datetime) -> list[GroupSummary]:
    """These groups with everything that the inbox shows of them. At most three queries."""
    if not groups:
        return []
    ids = [alerts.group.pk for alerts in groups]
    # An alert that was opened in these two hours and is closed was also closed in them: the index of closed alerts has
    # it.
    rows = fetch(_FACTS, {"groups": ids, "now": now, "recent": RECENT, "most": MOST_CLOSED})
    facts = {row[0]: row[1:] for row in rows}
    values = values_at_risk(groups)
    agents = sorted({alerts.group.agent for alerts in groups if alerts.is_outage})
    waiting = waiting_for(agents) if agents else {}
    return [_summary(alerts, facts[alerts.group.pk], values, waiting, now) for alerts in groups]


def _summary(
    alerts: OpenAlerts,
    facts: tuple[Any, ...],
    values: Mapping[int, ValueAtRisk],
    waiting: Mapping[str, int],
    now: datetime,
) -> GroupSummary:
    message, step, how, by, at, notes, action, closed_last_hour, closed_hour_before, newest_closed = facts
    group = alerts.group
    last_seen = max(alerts.last_at, newest_closed or alerts.last_at)
    return GroupSummary(
        group=group,
        open=alerts.open,
        first_at=alerts.first_at,
        last_at=alerts.last_at,
        last_hour=alerts.last_hour + closed_last_hour,
        hour_before=alerts.hour_before + closed_hour_before,
        newest=alerts.newest,
        message=message or group.pattern,
        step=step or "",
        at_risk=values.get(group.pk, ValueAtRisk()),
        resolved=Resolution(how=how, by=by, at=at) if at is not None else None,
        notes=notes,
        action=action,
        waiting=waiting.get(group.agent, 0) if alerts.is_outage else 0,
        last_seen=last_seen,
        rises=now - last_seen <= RISES,
    )


def values_at_risk(groups: Sequence[OpenAlerts]) -> dict[int, ValueAtRisk]:
    """What is at risk by each of these groups, by its id. One query, and one more if orders wait for agents; `groups`
    may not be empty."""
    return read_values(
        {alerts.group.pk: alerts.open for alerts in groups},
        agents={alerts.group.pk: alerts.group.agent for alerts in groups if alerts.makes_orders_wait},
    )


@dataclass(frozen=True, kw_only=True)
class ClosedAlerts:
    """The closed alerts of a group, `MOST_CLOSED` at most: how many were resolved how, and by whom."""

    group: AlertGroup
    by_resolution: Mapping[tuple[str, str], int]

    @property
    def count(self) -> int:
        return sum(self.by_resolution.values())


def closed_alerts(*, most: int = MOST_GROUPS) -> list[ClosedAlerts]:
    """The groups with closed alerts, the most recently opened first, `most` at most. Two queries."""
    groups = {group.pk: group for group in AlertGroup.objects.order_by("-last_at", "-id")[:most]}
    counts: dict[int, dict[tuple[str, str], int]] = {}
    for group_id, resolution, by, count in fetch(_CLOSED, [list(groups), MOST_CLOSED]):
        counts.setdefault(group_id, {})[resolution, by] = count
    return [
        ClosedAlerts(group=group, by_resolution=counts[number])
        for number, group in groups.items()
        if number in counts
    ]


@dataclass(frozen=True, kw_only=True)
class GroupHistory:
    """What people did about a group, and who was notified, newest first."""

    notes: list[GroupNote]
    actions: list[BulkAction]
    messages: list[OutgoingMessage]


def group_history(group: AlertGroup) -> GroupHistory:
    """The newest notes, bulk actions and notifications of a group. Four queries."""
    return GroupHistory(
        notes=list(group.notes.order_by("-id")[:SHOWN_NOTES]),
        actions=list(actions_on_group(group)[:SHOWN]),
        messages=list(group.messages.order_by("-id")[:SHOWN]),
    )


def find_group(group_id: int) -> AlertGroup | None:
    """A group by its id."""
    return AlertGroup.objects.select_related("owner").filter(pk=group_id).first()
