"""Single alerts and the orders they are about: pages for console and API, and the file of all open alerts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from orders.engine.runtime.sql import fetch
from orders.fields.numbers import LARGEST_ID, read_whole_number
from orders.models import Alert, AlertGroup, BulkAction, Order, StepState
from orders.selectors.desk.alert_groups import GroupSummary
from orders.selectors.desk.money_back import MOST_SUMMED, NOTHING, MoneyBack, money_back
from orders.selectors.paging import Page, Position, page_of

MOST_EXPORTED = 50_000
SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class GroupAlert:
    """One alert of a group, with what its order is about, and worth in minor units."""

    alert: Alert
    total: int | None
    currency: str
    email: str
    title: str


@dataclass(frozen=True, kw_only=True)
class AlertPage:
    """Some alerts, newest first. `after` is where the next page begins, empty at the end."""

    alerts: list[GroupAlert]
    after: str


def alerts_of_group(group: AlertGroup, *, closed: bool, after: str, limit: int = 25) -> AlertPage:
    """A page of a group's open or closed alerts. Two queries. An unreadable `after` gives the first page."""
    when = "closed_at" if closed else "opened_at"
    rows = _newest(group, when, closed=closed, key=_read_key(after), limit=limit)
    last = rows[limit - 1] if len(rows) > limit else None
    following = f"{getattr(last, when).isoformat()}~{last.pk}" if last else ""
    return AlertPage(alerts=_with_orders(rows[:limit]), after=following)


def closed_alerts_of_group(group: AlertGroup, *, after: Position | None, limit: int) -> Page[Alert]:
    """A page of a group's closed alerts, the last closed first, behind the position `after`. One query."""
    key = None if after is None else (after.at, min(after.order_id.int, LARGEST_ID))
    return page_of(_newest(group, "closed_at", closed=True, key=key, limit=limit), limit)


def closed_position(alert: Alert) -> Position:
    """Where a closed alert is in the list of its group: the time when it was closed, and its id."""
    assert alert.closed_at is not None
    return Position(alert.closed_at, UUID(int=alert.pk))


def _newest(
    group: AlertGroup, when: str, *, closed: bool, key: tuple[datetime, int] | None, limit: int
) -> list[Alert]:
    """The newest of a group by the time `when` and the id, below this key, and one more than `limit`."""
    alerts = Alert.objects.filter(group=group, closed_at__isnull=not closed)
    if key is not None:
        # A row comparison, which PostgreSQL answers from the index.
        alerts = alerts.extra(
            where=[f'("orders_alert"."{when}", "orders_alert"."id") < (%s, %s)'], params=[*key]
        )
    return list(alerts.order_by(f"-{when}", "-id")[: limit + 1])


def _read_key(after: str) -> tuple[datetime, int] | None:
    at, _, number = after.partition("~")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    alert_id = read_whole_number(number)
    return None if alert_id is None else (moment, alert_id)


def _with_orders(alerts: Sequence[Alert]) -> list[GroupAlert]:
    orders = Order.objects.in_bulk([alert.order_id for alert in alerts if alert.order_id])
    rows = []
    for alert in alerts:
        order = orders.get(alert.order_id) if alert.order_id else None
        rows.append(
            GroupAlert(
                alert=alert,
                total=order.total if order else None,
                currency=order.currency if order else "",
                email=order.email if order else "",
                title=order.title if order else "",
            )
        )
    return rows


@dataclass(frozen=True, kw_only=True)
class OpenAlert:
    """An open alert and the id of the step it is about; None for an outage, or a submission that was set aside."""

    alert: Alert
    step_id: int | None


def open_alerts(
    *,
    group: int | None,
    kind: str | None,
    agent: str,
    subject: str,
    code: str = "",
    before: int | None,
    limit: int,
) -> Page[OpenAlert]:
    """A page of the open alerts, newest first, below the id `before`. Two queries."""
    alerts = Alert.objects.filter(closed_at__isnull=True)
    if group is not None:
        alerts = alerts.filter(group_id=group)
    if kind is not None:
        alerts = alerts.filter(kind=kind)
    if agent:
        alerts = alerts.filter(agent=agent)
    if code:
        alerts = alerts.filter(code=code)
    if subject:
        alerts = alerts.filter(order_id__in=Order.objects.filter(subject=subject).values("id"))
    if before is not None:
        alerts = alerts.filter(pk__lt=before)
    rows = list(alerts.order_by("-id")[: limit + 1])
    order_ids = [alert.order_id for alert in rows if alert.order_id is not None]
    steps = StepState.objects.filter(process_id__in=order_ids).values_list("process_id", "name", "id")
    step_ids: Mapping[Any, int] = {(order_id, name): step_id for order_id, name, step_id in steps}
    return page_of(
        [OpenAlert(alert=alert, step_id=step_ids.get((alert.order_id, alert.step))) for alert in rows], limit
    )


def joined_since(group: AlertGroup, action: BulkAction, *, limit: int = SHOWN) -> list[GroupAlert]:
    """The newest open alerts that joined a group after an action on it began, except those of the action's own
    orders."""
    alerts = Alert.objects.filter(group=group, closed_at__isnull=True, opened_at__gt=action.created_at)
    own = action.items.values("order_id")
    return _with_orders(list(alerts.exclude(order_id__in=own).order_by("-opened_at", "-id")[:limit]))


def orders_of_group(group_id: int, *, upto: int | None = None, most: int) -> list[UUID]:
    """The orders with an open alert of a group, oldest alert first; with `upto`, no alert newer than that one."""
    alerts = _order_alerts(group_id, upto).order_by("opened_at", "id")
    return [order_id for order_id in alerts.values_list("order_id", flat=True)[:most] if order_id]


def group_money_back(cause: GroupSummary) -> MoneyBack:
    """The money that cancelling the orders of an open group gives back. At most three queries."""
    if not cause.at_risk.money:
        return NOTHING
    return money_back(orders_of_group(cause.group.pk, upto=cause.newest, most=MOST_SUMMED + 1))


def count_orders_of_group(group_id: int, *, upto: int | None = None, most: int) -> int:
    """How many orders `orders_of_group` gives."""
    return _order_alerts(group_id, upto)[:most].count()


def newest_orders_of_groups(group_ids: Sequence[int], *, most: int) -> dict[int, list[UUID]]:
    """The orders with an open alert of each group, the newest alert first, `most` of each. One query."""
    orders: dict[int, list[UUID]] = {group_id: [] for group_id in group_ids}
    rows = fetch(
        """
        SELECT g.id, a.order_id
          FROM unnest(%s::bigint[]) AS g(id)
         CROSS JOIN LATERAL (
               SELECT order_id, opened_at, id FROM orders_alert
                WHERE group_id = g.id AND closed_at IS NULL AND order_id IS NOT NULL
                ORDER BY opened_at DESC, id DESC LIMIT %s
         ) AS a
         ORDER BY a.opened_at DESC, a.id DESC
        """,
        [list(group_ids), most],
    )
    for group_id, order_id in rows:
        orders[group_id].append(order_id)
    return orders


def _order_alerts(group_id: int, upto: int | None) -> QuerySet[Alert]:
    alerts = Alert.objects.filter(group_id=group_id, closed_at__isnull=True, order_id__isnull=False)
    return alerts if upto is None else alerts.filter(pk__lte=upto)


def orders_with_alert(
    *,
    code: str | None = None,
    agent: str | None = None,
    kind: str | None = None,
    group: int | None = None,
    most: int,
) -> list[UUID]:
    """The orders with an open alert that matches every argument, oldest alert first, `most` + 1 at most."""
    conditions = {"code": code, "agent": agent, "kind": kind, "group_id": group}
    fields = {name: value for name, value in conditions.items() if value is not None}
    alerts = Alert.objects.filter(closed_at__isnull=True, order_id__isnull=False, **fields)
    rows = alerts.order_by("opened_at", "id").values_list("order_id", flat=True)[: most + 1]
    return [order_id for order_id in rows if order_id]


COLUMNS = (
    *("opened_at", "group", "kind", "agent", "step", "code", "message", "order", "email", "total"),
    *("currency", "acknowledged_by", "told_at", "owner"),
)
"""The columns of `export`; `total` is in minor units."""


def export(*, group_id: int | None = None) -> Iterable[tuple[Any, ...]]:
    """The open alerts of one group or of all, newest first, `MOST_EXPORTED` at most. One query."""
    return fetch(
        """
        SELECT a.opened_at, a.group_id, a.kind, a.agent, a.step, a.code, a.message, a.order_id, o.email, o.total,
               o.currency,
               CASE WHEN g.acknowledged_at >= min(a.opened_at) OVER (PARTITION BY a.group_id)
                    THEN g.acknowledged_by ELSE '' END,
               a.notified_at, coalesce(u.username, '')
          FROM orders_alert AS a JOIN orders_alertgroup AS g ON g.id = a.group_id
          LEFT JOIN auth_user AS u ON u.id = g.owner_id
          LEFT JOIN orders_order AS o ON o.id = a.order_id
         WHERE a.closed_at IS NULL AND (%(group)s::bigint IS NULL OR a.group_id = %(group)s::bigint)
         ORDER BY a.opened_at DESC LIMIT %(most)s
        """,
        {"group": group_id, "most": MOST_EXPORTED},
    )
