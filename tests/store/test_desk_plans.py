"""What operators read costs the same with 30,000 finished orders: no selector reads a whole big table."""

from collections.abc import Callable

import pytest

from orders.engine.runtime.sql import database_now
from orders.models import AlertGroup
from orders.selectors.desk import agents, alert_groups, alerts, order_ids, search, set_aside, supervisor
from orders.selectors.desk.filters import NOTHING_DONE, OrderFilter
from orders.selectors.desk.standing import RetryLimits
from tests.support.plans import full_tables, plans_of, some_orders

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]


def test_no_selector_of_the_desk_reads_a_whole_table_of_orders_steps_or_alerts() -> None:
    now, limits = database_now(), RetryLimits()
    group = AlertGroup.objects.get()
    part = some_orders(1)[0].hex[-8:]
    reads: dict[str, Callable[[], object]] = {
        "agents": lambda: agents.agent_statuses(now=now),
        "orders needing agents": lambda: agents.orders_needing(["kitchen", "oven"]),
        "supervisor": lambda: supervisor.supervisor_status(now=now),
        "alert groups": lambda: alert_groups.group_summaries(now=now),
        "closed alerts": lambda: alert_groups.closed_alerts(),
        "orders of groups": lambda: alerts.newest_orders_of_groups([group.pk], most=12),
        "alerts of a group": lambda: alerts.alerts_of_group(group, closed=True, after=""),
        "set aside": lambda: set_aside.set_aside_submissions(),
        "orders": lambda: search.page(OrderFilter(), after=None, limit=30, retry_limits=limits, now=now),
        "waiting orders": lambda: search.page(
            OrderFilter(waiting=NOTHING_DONE), after=None, limit=30, retry_limits=limits, now=now
        ),
        "an order's id": lambda: order_ids.orders_like(part),
    }
    hot = {"orders_orderprocess", "orders_stepstate", "orders_event"}
    whole = {
        what: set.union(*(plan.scanned_whole for plan in plans_of(read))) & hot
        for what, read in reads.items()
    }
    assert whole == {what: set() for what in reads}
