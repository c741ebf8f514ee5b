"""A bad deployment, or a database that lacks something, costs time and no order (rules 10 and 11)."""

import pytest
from django.db import connection

from orders.models import Alert, OrderProcess
from tests.support.system import System
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)
ORDERS = 20
LONGER = """
import dataclasses
from orders.shop import fulfilment

inner = fulfilment.fulfil_order

def longer(limits):
    workflow = inner(limits)
    step = dataclasses.replace(workflow.steps[0], name="wrap", after=(), needs=())
    return dataclasses.replace(workflow, steps=(*workflow.steps, step))

fulfilment.fulfil_order = longer
"""
"""A release in which version 1 of the shop's workflow has one more step."""


def open_alerts() -> list[tuple[str, str, str]]:
    alerts = Alert.objects.filter(closed_at__isnull=True).order_by("subject")
    return list(alerts.values_list("kind", "subject", "code"))


def without_outages() -> list[tuple[str, str, str]]:
    """The open alerts that are about no service."""
    return [alert for alert in open_alerts() if alert[0] != "outage"]


def completed_steps() -> int:
    return OrderProcess.objects.filter(steps__state="completed").count()


@pytest.mark.pattern("C4", "C9")
def test_orders_under_way_wait_when_a_release_changes_their_workflow_and_go_on_with_the_one_before(
    system: System,
) -> None:
    roles = system.start_all("submission", "scheduler", "agents", "supervisor")
    system.faults("carrier", down=True)
    system.place(ORDERS)
    until(lambda: completed_steps() >= ORDERS, what="the orders to be under way")
    for role in ("scheduler", "submission"):
        assert roles[role].terminate() == 0
    broken = [system.start(role, before=LONGER) for role in ("scheduler", "submission")]
    until(lambda: open_alerts() != [], what="the alert")
    system.no_faults()
    new = system.place(ORDERS)
    until(
        lambda: all(process.says("workflow refused") for process in broken), what="both to refuse it by name"
    )
    changed = [("release", "fulfil-order v1", "workflow_changed")]
    until(lambda: without_outages() == changed, what="the alert about the release")
    assert not OrderProcess.objects.filter(order_id__in=new).exists(), "new orders wait in the queue"
    for process in broken:
        assert process.terminate() == 0
    system.start_all("submission", "scheduler")
    assert set(system.wait_until_ended()) == {"processed"}
    until(lambda: open_alerts() == [], what="the alert to be closed")
    assert OrderProcess.objects.count() == 2 * ORDERS
    system.check()


@pytest.mark.pattern("C9", "S3", "F32")
def test_a_column_that_is_renamed_under_running_roles_costs_time_and_no_order(system: System) -> None:
    system.start_all("submission", "scheduler", "agents", "supervisor")
    system.place(ORDERS)
    until(lambda: completed_steps() >= 1, what="the orders to be under way")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE orders_stepstate RENAME COLUMN extended_waits TO moved")
    system.place(ORDERS)
    stopped = {("release", role, "ProgrammingError") for role in ("scheduler", "submission")}
    until(lambda: stopped <= set(open_alerts()), what="the alerts")
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM orders_orderprocess WHERE process_state = 'error'")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM orders_setaside")
        assert cursor.fetchone() == (0,)
        cursor.execute("ALTER TABLE orders_stepstate RENAME COLUMN moved TO extended_waits")
    assert set(system.wait_until_ended()) == {"processed"}
    until(lambda: open_alerts() == [], what="the alerts to be closed")
    assert OrderProcess.objects.count() == 2 * ORDERS
    system.check()
