"""The alert inbox: what is wrong now, by cause. Fast with tens of thousands of open alerts.

Counts come from the index of open alerts by group. Customers and money are added up over the newest open alerts of a
group only, `MOST_VALUED` at most, and are then shown as "or more".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from orders.engine.runtime.sql import fetch
from orders.models import Alert, AlertDelivery, AlertGroup, BulkAction, GroupNote, Order, StepState
from orders.vocabulary import AlertKind

MOST_GROUPS = 30
"""Groups of one page."""
MOST_VALUED = 2_000
"""Alerts whose orders are looked at for customers and money, of all the groups shown."""
LEAST_VALUED = 50
MOST_WAITING = 10_000
MOST_EXPORTED = 50_000
MOST_CLOSED = 10_000
"""Alerts of a group closed of late that are looked at for its trend; the newest of more."""
RECENT = timedelta(hours=1)
SHOWN = 20

_OPEN = """
    SELECT a.group_id, count(*), min(a.opened_at), max(a.opened_at),
           count(*) FILTER (WHERE a.opened_at > %(now)s - %(recent)s),
           count(*) FILTER (WHERE a.opened_at > %(now)s - 2 * %(recent)s AND a.opened_at <= %(now)s - %(recent)s),
           max(a.id)
      FROM orders_alert AS a
     WHERE a.closed_at IS NULL AND (%(group)s::bigint IS NULL OR a.group_id = %(group)s::bigint)
     GROUP BY a.group_id
"""
_FACTS = """
    SELECT g.id, newest.message, newest.step, mended.resolution, mended.closed_by, mended.closed_at,
           (SELECT count(*) FROM orders_groupnote AS n WHERE n.group_id = g.id),
           (SELECT b.id FROM orders_bulkaction AS b
             WHERE b.group_id = g.id AND b.state IN ('running', 'paused') ORDER BY b.id DESC LIMIT 1),
           late.last_hour, late.hour_before
      FROM unnest(%(groups)s::bigint[]) AS g(id)
     CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE opened_at > %(now)s - %(recent)s) AS last_hour,
                  count(*) FILTER (WHERE opened_at > %(now)s - 2 * %(recent)s
                                     AND opened_at <= %(now)s - %(recent)s) AS hour_before
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
      ) AS mended ON true
"""
_VALUES = """
    SELECT g.id, o.currency, count(*), sum(o.total), count(DISTINCT lower(o.email))
      FROM unnest(%s::bigint[]) AS g(id)
     CROSS JOIN LATERAL (
           SELECT order_id FROM orders_alert
            WHERE group_id = g.id AND closed_at IS NULL AND order_id IS NOT NULL ORDER BY opened_at DESC LIMIT %s
     ) AS a
      JOIN orders_order AS o ON o.id = a.order_id
     GROUP BY g.id, o.currency ORDER BY g.id, o.currency
"""


@dataclass(frozen=True, kw_only=True)
class Mended:
    """What closed the last alert of a group that was closed."""

    how: str
    by: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class AtRisk:
    """The customers and the money, by currency in minor units, of a group's open alerts. `more`: and there are more."""

    customers: int = 0
    money: Mapping[str, int] = field(default_factory=dict)
    more: bool = False


@dataclass(frozen=True, kw_only=True)
class CauseGroup:
    """Alerts of one cause. `first_at` and `last_at` are of the open ones.

    `last_hour` and `hour_before` count what was opened then, though it be closed again by now.
    `waiting` are the steps that wait for an outage to end, counted up to `MOST_WAITING` + 1; `newest` is an alert's id.
    """

    group: AlertGroup
    open: int
    first_at: datetime
    last_at: datetime
    last_hour: int
    hour_before: int
    newest: int
    message: str
    step: str
    at_risk: AtRisk
    mended: Mended | None
    notes: int
    action: int | None
    waiting: int

    @property
    def is_outage(self) -> bool:
        return self.group.kind == AlertKind.OUTAGE

    @property
    def acknowledged(self) -> bool:
        """Whether somebody has seen it since it last began: an older acknowledgement was of an earlier time."""
        return is_acknowledged(self.group, self.first_at)

    @property
    def trend(self) -> str:
        """Whether more come than before: up, down, steady, or none when it is quiet."""
        if self.last_hour == self.hour_before:
            return "steady" if self.last_hour else "quiet"
        return "up" if self.last_hour > self.hour_before else "down"


def causes(*, now: datetime, most: int = MOST_GROUPS) -> tuple[list[CauseGroup], int]:
    """The groups with open alerts, those nobody has acknowledged first, then the largest; and how many there are.

    Four queries, and one more for each outage.
    """
    counted = fetch(_OPEN, {"now": now, "recent": RECENT, "group": None})
    groups = AlertGroup.objects.in_bulk([row[0] for row in counted])
    found = [(groups[row[0]], row) for row in counted]
    found.sort(key=lambda one: (is_acknowledged(one[0], one[1][2]), -one[1][1], -one[1][0]))
    return _with_facts(found[:most], now), len(found)


def cause(group: AlertGroup, *, now: datetime) -> CauseGroup | None:
    """One group, if any of its alerts is open. Three queries, and one more for an outage."""
    counted = fetch(_OPEN, {"now": now, "recent": RECENT, "group": group.pk})
    return _with_facts([(group, row) for row in counted], now)[0] if counted else None


def is_acknowledged(group: AlertGroup, first_at: datetime) -> bool:
    """Whether somebody has seen a group since it last began, which was at `first_at`: with its oldest open alert."""
    return group.acknowledged_at is not None and group.acknowledged_at >= first_at


def _with_facts(found: Sequence[tuple[AlertGroup, tuple[Any, ...]]], now: datetime) -> list[CauseGroup]:
    ids = [group.pk for group, _ in found]
    # What was opened in these two hours and is closed was closed in them too: the index of closed ones has it.
    asked = {"groups": ids, "now": now, "recent": RECENT, "most": MOST_CLOSED}
    facts = {row[0]: row[1:] for row in fetch(_FACTS, asked)}
    values = _values(found)
    told = []
    for group, (_, count, first_at, last_at, last_hour, hour_before, newest) in found:
        message, step, how, by, at, notes, action, closed_last_hour, closed_hour_before = facts[group.pk]
        told.append(
            CauseGroup(
                group=group,
                open=count,
                first_at=first_at,
                last_at=last_at,
                last_hour=last_hour + closed_last_hour,
                hour_before=hour_before + closed_hour_before,
                newest=newest,
                message=message or group.pattern,
                step=step or "",
                at_risk=values.get(group.pk, AtRisk()),
                mended=Mended(how=how, by=by, at=at) if at is not None else None,
                notes=notes,
                action=action,
                waiting=steps_waiting(group.agent) if group.kind == AlertKind.OUTAGE else 0,
            )
        )
    return told


def _values(found: Sequence[tuple[AlertGroup, tuple[Any, ...]]]) -> dict[int, AtRisk]:
    if not found:
        return {}
    most = max(LEAST_VALUED, MOST_VALUED // len(found))
    counts = {group.pk: row[1] for group, row in found}
    told: dict[int, AtRisk] = {}
    for group_id, currency, _count, total, customers in fetch(_VALUES, [list(counts), most]):
        known = told.get(group_id, AtRisk(more=counts[group_id] > most))
        told[group_id] = AtRisk(
            customers=known.customers + customers,
            money={**known.money, currency: int(total)},
            more=known.more,
        )
    return told


def steps_waiting(agent: str) -> int:
    """How many steps wait for an agent, up to `MOST_WAITING` + 1."""
    waiting = StepState.objects.filter(agent=agent, waiting_since__isnull=False)
    return waiting[: MOST_WAITING + 1].count()


@dataclass(frozen=True, kw_only=True)
class GroupAlert:
    """One alert of a group, with what its order is worth."""

    alert: Alert
    total: int | None
    currency: str
    email: str


@dataclass(frozen=True, kw_only=True)
class AlertPage:
    """Some alerts, newest first; `after` is what the next page begins behind, empty at the end."""

    alerts: list[GroupAlert]
    after: str


def alerts_page(group: AlertGroup, *, closed: bool, after: str, limit: int = 25) -> AlertPage:
    """A page of a group's open alerts, or of its closed ones. Two queries. A strange `after` is the first page."""
    when = "closed_at" if closed else "opened_at"
    chosen = Alert.objects.filter(group=group, closed_at__isnull=not closed)
    if (behind := _read_key(after)) is not None:
        # A row comparison, which PostgreSQL takes from the index.
        chosen = chosen.extra(
            where=[f'("orders_alert"."{when}", "orders_alert"."id") < (%s, %s)'], params=[*behind]
        )
    rows = list(chosen.order_by(f"-{when}", "-id")[: limit + 1])
    more = rows[limit - 1] if len(rows) > limit else None
    key = f"{getattr(more, when).isoformat()}~{more.pk}" if more else ""
    return AlertPage(alerts=_with_orders(rows[:limit]), after=key)


def _read_key(after: str) -> tuple[datetime, int] | None:
    at, _, number = after.partition("~")
    try:
        return datetime.fromisoformat(at), int(number[:18])
    except ValueError:
        return None


def _with_orders(alerts: Sequence[Alert]) -> list[GroupAlert]:
    orders = Order.objects.in_bulk([one.order_id for one in alerts if one.order_id])
    told = []
    for alert in alerts:
        placed = orders.get(alert.order_id) if alert.order_id else None
        told.append(
            GroupAlert(
                alert=alert,
                total=placed.total if placed else None,
                currency=placed.currency if placed else "",
                email=placed.email if placed else "",
            )
        )
    return told


def joined_since(group: AlertGroup, action: BulkAction, *, limit: int = SHOWN) -> list[GroupAlert]:
    """The newest open alerts that joined a group after an action on it was asked for, of orders it does not take."""
    chosen = Alert.objects.filter(group=group, closed_at__isnull=True, opened_at__gt=action.created_at)
    mine = action.items.values("order_id")
    return _with_orders(list(chosen.exclude(order_id__in=mine).order_by("-opened_at", "-id")[:limit]))


def orders_of_group(group_id: int, *, upto: int | None = None, most: int) -> list[UUID]:
    """The orders with an open alert of a group, the oldest alert first; with `upto`, those of alerts up to that one."""
    chosen = _of_orders(group_id, upto).order_by("opened_at", "id")
    return [one for one in chosen.values_list("order_id", flat=True)[:most] if one]


def count_orders_of_group(group_id: int, *, upto: int | None = None, most: int) -> int:
    """How many orders `orders_of_group` gives."""
    return _of_orders(group_id, upto)[:most].count()


def _of_orders(group_id: int, upto: int | None) -> QuerySet[Alert]:
    chosen = Alert.objects.filter(group_id=group_id, closed_at__isnull=True, order_id__isnull=False)
    return chosen if upto is None else chosen.filter(pk__lte=upto)


@dataclass(frozen=True, kw_only=True)
class GroupHistory:
    """What people did about a group and were told of it, newest first."""

    notes: list[GroupNote]
    actions: list[BulkAction]
    deliveries: list[AlertDelivery]


def group_history(group: AlertGroup) -> GroupHistory:
    """Three queries."""
    return GroupHistory(
        notes=list(group.notes.order_by("-id")[:100]),
        actions=list(group.actions.order_by("-created_at")[:SHOWN]),
        deliveries=list(group.deliveries.order_by("-created_at")[:SHOWN]),
    )


def find_group(group_id: int) -> AlertGroup | None:
    """A group by its number."""
    return AlertGroup.objects.filter(pk=group_id).first()


COLUMNS = (
    *(
        "opened_at",
        "group",
        "kind",
        "agent",
        "step",
        "code",
        "message",
        "order",
        "email",
        "total",
        "currency",
    ),
    *("acknowledged_by", "told_at"),
)
"""The columns of `export`; `total` is in minor units."""


def export(*, group_id: int | None = None) -> Iterable[tuple[Any, ...]]:
    """The open alerts, of a group or of all, the newest first, `MOST_EXPORTED` at most. One query."""
    return fetch(
        """
        SELECT a.opened_at, a.group_id, a.kind, a.agent, a.step, a.code, a.message, a.order_id, o.email, o.total,
               o.currency,
               CASE WHEN g.acknowledged_at >= min(a.opened_at) OVER (PARTITION BY a.group_id)
                    THEN g.acknowledged_by ELSE '' END,
               a.notified_at
          FROM orders_alert AS a JOIN orders_alertgroup AS g ON g.id = a.group_id
          LEFT JOIN orders_order AS o ON o.id = a.order_id
         WHERE a.closed_at IS NULL AND (%(group)s::bigint IS NULL OR a.group_id = %(group)s::bigint)
         ORDER BY a.opened_at DESC LIMIT %(most)s
        """,
        {"group": group_id, "most": MOST_EXPORTED},
    )
