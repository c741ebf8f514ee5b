"""What the console's command palette finds: orders, agents and causes of open alerts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.models import Circuit, OrderProcess
from orders.selectors.desk import search
from orders.selectors.desk.alert_groups import OpenAlerts, open_groups
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import OrderRow, order_progress, order_rows
from orders.selectors.desk.standing import RetryLimits

SHOWN = 5
"""How many of each kind are shown."""


@dataclass(frozen=True, kw_only=True)
class Matches:
    """The first orders, agents and groups that match, at most `SHOWN` of each."""

    orders: Sequence[OrderRow]
    agents: Sequence[str]
    groups: Sequence[OpenAlerts]


def find(order_filter: OrderFilter, *, retry_limits: RetryLimits, now: datetime) -> Matches:
    """What the words of a filter name. Orders are found as their list finds them, so not by part of an email."""
    words = order_filter.q.lower()
    agents = Circuit.objects.order_by("agent").values_list("agent", flat=True)
    return Matches(
        orders=_orders(order_filter, retry_limits, now),
        agents=[name for name in agents if words in name.lower()][:SHOWN],
        groups=[group for group in open_groups(now=now) if words in _text_of(group)][:SHOWN],
    )


def _text_of(alerts: OpenAlerts) -> str:
    group = alerts.group
    return f"{group.agent} {group.code} {group.pattern}".lower()


def _orders(order_filter: OrderFilter, retry_limits: RetryLimits, now: datetime) -> Sequence[OrderRow]:
    if order_filter.problems or order_filter.is_empty:
        return []
    ids = list(search.matching(order_filter, most=SHOWN, retry_limits=retry_limits, now=now))
    processes = OrderProcess.objects.in_bulk(ids)
    progress = order_progress(
        [processes[order_id] for order_id in ids if order_id in processes], retry_limits=retry_limits, now=now
    )
    return order_rows(progress, now=now)
