"""The numbers of the console's overview: exact, bounded, and by indexes."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine.figures.minutes import MINUTE, start_of_minute
from orders.engine.runtime.sql import database_now
from orders.models import (
    Alert,
    Event,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
)
from orders.selectors.desk import workflows
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.overview import overview
from orders.selectors.desk.search import page
from orders.selectors.desk.standing import RetryLimits, StandingKind
from orders.selectors.desk.supervisor import supervisor_status
from orders.selectors.desk.version import desk_version
from tests.support.factories import ago, ahead, make_alert, make_order, make_purchase
from tests.support.written_minutes import write_minute

pytestmark = pytest.mark.django_db


def ended(state: str, *, seconds: float, took: float = 4.0) -> OrderProcess:
    at = ago(seconds)
    goal = "compensate" if state == "compensated" else "complete"
    return make_order(process_state=state, goal=goal, finished_at=at, created_at=at - timedelta(seconds=took))


def placed(order: OrderProcess, *, took: float) -> None:
    assert order.finished_at is not None
    make_purchase(order.pk, total=100, placed_at=order.finished_at - timedelta(seconds=took))


@pytest.mark.pattern("T2", "T3")
def test_orders_are_counted_by_state_and_ended_orders_for_the_last_day() -> None:
    make_order(process_state="pending", created_at=ago(90))
    make_order(process_state="pending", created_at=ago(5))
    make_order(process_state="processing")
    make_order(process_state="error")
    ended("processed", seconds=5)
    ended("processed", seconds=3_000)
    ended("processed", seconds=25 * 3600)
    ended("compensated", seconds=100)
    numbers = overview(now=database_now())
    assert (numbers.pending, numbers.processing, numbers.error) == (2, 1, 1)
    assert (numbers.processed, numbers.compensated) == (2, 1)
    assert numbers.oldest_pending is not None
    assert 90 <= numbers.oldest_pending < 150


def test_orders_processed_per_minute_are_the_mean_of_the_last_ten_complete_minutes() -> None:
    now = database_now().replace(second=30, microsecond=0)
    for minute, orders in ((0, 1), (1, 2), (3, 4), (30, 8)):
        for _ in range(orders):
            order = ended("processed", seconds=0)
            order.finished_at = now - timedelta(minutes=minute)
            order.save()
    assert overview(now=now).per_minute == pytest.approx(0.6)


def test_completion_times_are_those_of_the_last_hour() -> None:
    for took in (1.0, 2.0, 3.0, 4.0, 100.0):
        placed(ended("processed", seconds=120, took=0.5), took=took)
    placed(ended("processed", seconds=2 * 3600), took=9_000.0)
    placed(ended("compensated", seconds=120), took=9_000.0)
    measure_minutes()
    done = overview(now=database_now()).done
    assert done.sample == 5
    assert done.p50 == pytest.approx(4.0, abs=1.0)
    assert done.p95 == pytest.approx(110.0, abs=10.0)


def test_orders_that_wait_count_in_the_completion_times_with_their_age() -> None:
    """While everything waits, an order that was quick says nothing."""
    placed(ended("processed", seconds=120), took=2.0)
    for _ in range(9):
        order = make_order(process_state="pending", created_at=ago(1_500))
        make_purchase(order.pk, total=100, placed_at=ago(1_500))
    measure_minutes()
    done = overview(now=database_now()).done
    assert done.sample == 10
    assert done.p50 is not None and 1_200 <= done.p50 < 1_800


def measure_minutes() -> None:
    """Writes the figures of the last minutes."""
    for back in (4, 3, 2, 1):
        write_minute(start_of_minute(database_now()) - back * MINUTE)


def test_an_empty_store_has_no_oldest_order_and_no_completion_time() -> None:
    numbers = overview(now=database_now())
    assert (numbers.oldest_pending, numbers.oldest_queued, numbers.done.p50, numbers.done.sample) == (
        None,
        None,
        None,
        0,
    )
    assert list(numbers.groups) == []


@pytest.mark.pattern("C2")
@pytest.mark.parametrize(
    ("process", "event", "waited"),
    [
        ({"not_before": 600}, None, None),  # it waits for a customer, an agent, or a time
        ({}, None, 7_200),
        ({"priority": 9}, None, 7_200),
        ({}, 80, 80),  # released by the supervisor, or resubmitted, 80 s ago
        ({"not_before": -300}, 3_000, 300),
        ({"process_state": "error"}, None, None),
    ],
)
def test_only_orders_that_wait_for_nothing_else_wait_for_a_scheduler(
    process: dict[str, Any], event: float | None, waited: float | None
) -> None:
    fields = {"process_state": "pending", "created_at": ago(7_200)} | process
    if "not_before" in fields:
        fields["not_before"] = ahead(fields["not_before"])
    order = make_order(**fields)
    if event is not None:
        Event.objects.create(
            order_id=order.pk, kind="resubmitted", actor_kind="operator", actor_name="olga", at=ago(event)
        )
    oldest = overview(now=database_now()).oldest_ready
    assert (oldest is None) is (waited is None)
    if oldest is not None and waited is not None:
        assert waited <= oldest < waited + 60


@pytest.mark.pattern("A8")
def test_a_probe_does_not_restart_the_wait_for_an_agent() -> None:
    waits = {"waiting_since": ago(1), "wanted_since": ago(900)}
    order = make_order({"bake": waits}, process_state="pending", not_before=ahead(600))
    now = database_now()
    (row,) = page(OrderFilter(), after=None, limit=5, retry_limits=RetryLimits(), now=now).orders
    stored_order = row.order
    assert stored_order.order_id == order.pk
    assert (stored_order.standing.kind, stored_order.standing.since) == (
        StandingKind.AGENT,
        waits["wanted_since"],
    )


@pytest.mark.pattern("S3")
def test_waiting_and_set_aside_submissions_are_counted() -> None:
    body = {"lines": []}
    orders = [make_order().order_id for _ in range(3)]
    SubmissionMessage.objects.create(order_id=orders[0], client="c", body=body, posted_at=ago(40))
    SetAside.objects.create(order_id=orders[1], client="c", body=body, reason="r", posted_at=ago(9))
    SetAside.objects.create(
        order_id=orders[2], client="c", body=body, reason="r", posted_at=ago(9), replayed_at=ago(1)
    )
    numbers = overview(now=database_now())
    assert (numbers.queued, numbers.set_aside) == (1, 1)
    assert numbers.oldest_queued is not None
    assert 40 <= numbers.oldest_queued < 100


@pytest.mark.pattern("O1")
def test_open_alerts_are_grouped_with_the_largest_group_first() -> None:
    for message, count in (("no", 2), ("worse", 3)):
        for _ in range(count):
            make_alert(make_order(process_state="error").order_id, message=message)
    Alert.objects.filter(message="worse").first().delete()  # type: ignore[union-attr]
    Alert.objects.create(
        order_id=make_order().order_id,
        group=Alert.objects.filter(message="no")[0].group,
        kind="step_failed",
        code="no",
        message="no",
        closed_at=ago(1),
    )
    make_alert(make_order(process_state="error").order_id, message="no")
    assert [(group.group.pattern, group.open) for group in overview(now=database_now()).groups] == [
        ("no", 3),
        ("worse", 2),
    ]


def test_the_version_changes_with_every_event_and_only_then() -> None:
    order = make_order()
    before = desk_version().rsplit("-", 1)[0]
    assert desk_version().rsplit("-", 1)[0] == before
    Event.objects.create(
        order_id=order.order_id, kind="claimed", actor_kind="scheduler", actor_name="scheduler:test"
    )
    assert desk_version().rsplit("-", 1)[0] != before


def test_no_number_of_the_overview_reads_every_order() -> None:
    """With sequential scans switched off, a plan that still has one shows that an index is missing."""
    OrderProcess.objects.bulk_create(make_rows(300))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orders_orderprocess, orders_stepstate")
        cursor.execute("SET LOCAL enable_seqscan = off")
    with CaptureQueriesContext(connection) as captured:
        overview(now=database_now())
        supervisor_status(now=database_now())
        workflows.graphs(now=database_now())
    hot = [
        query["sql"]
        for query in captured
        if "orders_orderprocess" in query["sql"] or "orders_stepstate" in query["sql"]
    ]
    assert len(hot) >= 7
    for statement in hot:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
        assert "Seq Scan on orders_orderprocess" not in plan, plan
        assert "Seq Scan on orders_stepstate" not in plan, plan


def make_rows(count: int) -> list[OrderProcess]:
    first = make_order(process_state="processed", finished_at=ago(5))
    StepState.objects.filter(process=first).delete()
    return [
        OrderProcess(
            order_id=type(first.order_id)(int=first.order_id.int + number),
            workflow=first.workflow,
            version=first.version,
            process_state="processed",
            finished_at=first.finished_at,
        )
        for number in range(1, count)
    ]
