"""The numbers of the console: exact, bounded, and by indexes."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine.runtime.sql import database_now
from orders.engine.supervisor import leadership
from orders.models import (
    AgentInstance,
    Alert,
    Circuit,
    Event,
    LeaderLease,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
    SweepRecord,
)
from orders.selectors.desk import workflows
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.overview import overview
from orders.selectors.desk.search import page
from orders.selectors.desk.standing import Kind, Tries
from orders.selectors.desk.supervisor import supervisor_status
from orders.selectors.desk.version import desk_version
from orders.selectors.desk.workflows import Counts, draw, layers
from orders.workflow.versions import declared
from tests.support.factories import ago, ahead, make_alert, make_order, make_purchase, make_request, step_of
from tests.support.roles import a_leader
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db


def ended(state: str, *, seconds: float, took: float = 4.0) -> OrderProcess:
    at = ago(seconds)
    goal = "compensate" if state == "compensated" else "complete"
    return make_order(process_state=state, goal=goal, finished_at=at, created_at=at - timedelta(seconds=took))


def placed(order: OrderProcess, *, took: float) -> None:
    assert order.finished_at is not None
    make_purchase(order.pk, total=100, placed_at=order.finished_at - timedelta(seconds=took))


@pytest.mark.pattern("T2", "T3")
def test_orders_are_counted_by_state_and_the_ended_ones_of_a_day() -> None:
    make_order(process_state="pending", created_at=ago(90))
    make_order(process_state="pending", created_at=ago(5))
    make_order(process_state="processing")
    make_order(process_state="error")
    ended("processed", seconds=5)
    ended("processed", seconds=3_000)
    ended("processed", seconds=25 * 3600)
    ended("compensated", seconds=100)
    found = overview(now=database_now())
    assert (found.pending, found.processing, found.error) == (2, 1, 1)
    assert (found.processed, found.compensated) == (2, 1)
    assert found.oldest_pending is not None
    assert 90 <= found.oldest_pending < 150


def test_throughput_counts_each_minute_and_leaves_out_the_one_under_way() -> None:
    now = database_now().replace(second=30, microsecond=0)
    for minute, orders in ((0, 1), (1, 2), (3, 4), (30, 8)):
        for _ in range(orders):
            order = ended("processed", seconds=0)
            order.finished_at = now - timedelta(minutes=minute)
            order.save()
    found = overview(now=now)
    assert [minute.processed for minute in found.minutes] == [0] * 7 + [4, 0, 2, 1]
    assert found.per_minute == pytest.approx(0.6)


def test_the_times_from_placing_to_done_are_those_of_the_last_hour() -> None:
    for took in (1.0, 2.0, 3.0, 4.0, 100.0):
        placed(ended("processed", seconds=60, took=0.5), took=took)
    placed(ended("processed", seconds=2 * 3600), took=9_000.0)
    placed(ended("compensated", seconds=60), took=9_000.0)
    done = overview(now=database_now()).done
    assert done.sample == 5
    assert done.p50 == pytest.approx(3.0)
    assert done.p95 == pytest.approx(80.8)


def test_an_empty_store_has_no_oldest_order_and_no_time_to_done() -> None:
    found = overview(now=database_now())
    assert (found.oldest_pending, found.oldest_queued, found.done.p50, found.done.sample) == (
        None,
        None,
        None,
        0,
    )
    assert list(found.groups) == []


@pytest.mark.pattern("C2")
@pytest.mark.parametrize(
    ("process", "event", "waited"),
    [
        ({"not_before": 600}, None, None),  # for a customer, an agent, or a time
        ({}, None, 7_200),
        ({"priority": 9}, None, 7_200),
        ({}, 80, 80),  # given back by the supervisor, or resubmitted, only then
        ({"not_before": -300}, 3_000, 300),
        ({"process_state": "error"}, None, None),
    ],
)
def test_only_an_order_that_waits_for_nothing_but_a_scheduler_is_waiting_for_one(
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
    found = overview(now=database_now()).oldest_ready
    assert (found is None) is (waited is None)
    if found is not None and waited is not None:
        assert waited <= found < waited + 60


@pytest.mark.pattern("A8")
def test_a_probe_does_not_begin_the_wait_for_an_agent_anew() -> None:
    waits = {"waiting_since": ago(1), "wanted_since": ago(900)}
    order = make_order({"bake": waits}, process_state="pending", not_before=ahead(600))
    now = database_now()
    (row,) = page(OrderFilter(), after=None, limit=5, tries=Tries(), now=now).orders
    found = row.order
    assert found.order_id == order.pk
    assert (found.standing.kind, found.standing.since) == (Kind.AGENT, waits["wanted_since"])


@pytest.mark.pattern("S3")
def test_submissions_that_wait_and_those_set_aside_are_counted() -> None:
    body = {"lines": []}
    orders = [make_order().order_id for _ in range(3)]
    SubmissionMessage.objects.create(order_id=orders[0], client="c", body=body, posted_at=ago(40))
    SetAside.objects.create(order_id=orders[1], client="c", body=body, reason="r", posted_at=ago(9))
    SetAside.objects.create(
        order_id=orders[2], client="c", body=body, reason="r", posted_at=ago(9), replayed_at=ago(1)
    )
    found = overview(now=database_now())
    assert (found.queued, found.set_aside) == (1, 1)
    assert found.oldest_queued is not None
    assert 40 <= found.oldest_queued < 100


@pytest.mark.pattern("O1")
def test_open_alerts_are_grouped_the_largest_first() -> None:
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


def status_of(name: str) -> AgentStatus:
    return next(agent for agent in agent_statuses(now=database_now()) if agent.name == name)


@pytest.mark.pattern("A8", "A9")
def test_an_agents_status_tells_circuit_work_and_processes() -> None:
    Circuit.objects.create(
        agent="oven", state="open", cause_code="down", cause_message="refused", probe_at=ahead(3)
    )
    for instance, seen in (("agents:live", 2), ("agents:dead", 60)):
        AgentInstance.objects.create(
            agent="oven",
            instance=instance,
            capacity=8,
            in_flight=3,
            recent_calls=10,
            recent_failures=4,
            p95_seconds=0.25,
            seen_at=ago(seen),
        )
    order = make_order({"bake": "running"}, process_state="processing")
    make_request(step_of(order, "bake"), leased_by="agents:live", leased_until=ahead(8))
    make_order({"bake": {"waiting_since": ago(9)}}, process_state="pending")
    make_order({"bake": {"waiting_since": ago(9)}}, process_state="pending")
    oven = status_of("oven")
    assert (oven.state, oven.waiting, oven.requests, oven.in_hand) == ("open", 2, 1, 1)
    assert (oven.capacity, oven.in_flight, oven.recent_calls, oven.recent_failures) == (8, 3, 10, 4)
    assert oven.p95 == pytest.approx(0.25)
    assert [one.name for one in oven.alive] == ["agents:live"]
    assert len(oven.instances) == 2


@pytest.mark.pattern("A8")
def test_a_circuit_that_has_just_closed_is_draining_and_a_forced_one_is_what_it_is_forced_to() -> None:
    half = settings.CONFIG.ramp / 2
    Circuit.objects.create(agent="oven", closed_at=ago(half))
    Circuit.objects.create(agent="post", forced="open", forced_until=ahead(60), closed_at=ago(half))
    Circuit.objects.create(agent="courier", forced="open", forced_until=ago(60))
    oven, post, courier = (status_of(name) for name in ("oven", "post", "courier"))
    assert oven.is_draining
    assert 50 <= oven.ramp_percent <= 100
    assert (post.state, post.is_forced, post.is_draining) == ("open", True, False)
    assert (courier.state, courier.is_forced) == ("closed", False)


@pytest.mark.pattern("V6", "V7")
def test_the_supervisor_page_tells_lag_and_what_sweeps_found() -> None:
    LeaderLease.objects.create(
        name="supervisor",
        holder="supervisor:a",
        term=3,
        expires_at=ahead(9),
        swept_at=ago(1),
        last_sweep={"found": 2, "recovered": 1, "escalated": 1, "steps_timed_out": 2},
    )
    leadership.record_sweep("supervisor", term=3, report={"found": 2, "recovered": 1, "escalated": 1})
    leadership.record_sweep("supervisor", term=2, report={"found": 9})  # its term is over
    SweepRecord.objects.create(
        at=ago(7_200),
        holder="supervisor:old",
        term=1,
        found=40,
        recovered=40,
        escalated=0,
        steps_timed_out=0,
    )
    make_order({"mix": {"state": "running", "complete_by": ago(70)}}, process_state="processing")
    watch = supervisor_status(now=database_now())
    assert (watch.leader, watch.term, watch.late) == ("supervisor:a", 3, False)
    assert (watch.hour.found, watch.hour.recovered, watch.hour.escalated) == (2, 1, 1)
    assert watch.last.steps == 2
    assert (watch.overdue_orders, watch.overdue_steps) == (1, 1)
    assert watch.lag is not None
    assert 70 <= watch.lag < 130
    assert [sweep.holder for sweep in watch.sweeps] == ["supervisor:old", "supervisor:a"]


def test_only_the_newest_sweeps_are_kept() -> None:
    LeaderLease.objects.create(name="supervisor", holder="supervisor:a", term=1, expires_at=ahead(9))
    for found in range(leadership.SWEEPS_KEPT + 5):
        leadership.record_sweep("supervisor", term=1, report={"found": found + 1})
    kept = list(SweepRecord.objects.order_by("id").values_list("found", flat=True))
    assert kept == list(range(6, leadership.SWEEPS_KEPT + 6))


@pytest.mark.pattern("V1", "V6")
def test_a_sweep_that_finds_something_is_kept_and_one_that_finds_nothing_is_not() -> None:
    make_order({"mix": {"state": "running", "complete_by": ago(5)}}, process_state="processing")
    leader = a_leader()
    leader.run_once()
    leader.run_once()
    (kept,) = SweepRecord.objects.all()
    assert (kept.found, kept.recovered, kept.escalated, kept.steps_timed_out) == (1, 1, 0, 1)
    assert kept.holder == LeaderLease.objects.get(name="supervisor").holder


@pytest.mark.pattern("C4")
def test_a_workflow_is_drawn_from_left_to_right() -> None:
    assert layers(CAKE) == [["mix", "heat-oven"], ["bake"], ["decorate", "box"], ["deliver"], ["tell"]]
    graph = draw(CAKE, {"bake": Counts(running=2)})
    assert [node.name for node in graph.nodes] == [step.name for step in CAKE.steps]
    by_name = {node.name: node for node in graph.nodes}
    for step in CAKE.steps:
        for other in step.after:
            assert by_name[other].right < by_name[step.name].left
    assert by_name["bake"].counts.running == 2
    assert len(graph.arrows) == sum(len(step.after) for step in CAKE.steps)
    assert all(node.left >= 0 and node.right <= graph.width for node in graph.nodes)


@pytest.mark.pattern("C1", "T4")
def test_each_step_counts_what_runs_waits_is_put_off_and_has_failed() -> None:
    (workflow,) = declared(settings.CONFIG)
    Circuit.objects.create(agent="carrier")
    first = {"reserve-stock": "completed", "authorise-payment": "completed"}
    make_order({"reserve-stock": "running"}, workflow=workflow, process_state="processing")
    make_order({**first, "create-shipment": {"waiting_since": ago(5)}}, workflow=workflow)
    make_order(
        {**first, "create-shipment": {"not_before": ahead(60), "attempt": 1}},
        workflow=workflow,
        not_before=ahead(60),
    )
    make_order({"authorise-payment": "failed"}, workflow=workflow, process_state="error")
    make_order(  # it has ended: its failed step is nobody's business any more
        {"authorise-payment": "failed"}, workflow=workflow, process_state="compensated", goal="compensate"
    )
    make_order({"mix": "running"}, process_state="processing")  # another workflow
    (graph,) = workflows.graphs(now=database_now())
    counts = {node.name: node.counts for node in graph.nodes if node.counts.total}
    assert counts == {
        "reserve-stock": Counts(running=1),
        "create-shipment": Counts(waiting=1, put_off=1),
        "authorise-payment": Counts(failed=1),
    }


def test_the_version_changes_with_every_event_and_not_without_one() -> None:
    order = make_order()
    before = desk_version().rsplit("-", 1)[0]
    assert desk_version().rsplit("-", 1)[0] == before
    Event.objects.create(
        order_id=order.order_id, kind="claimed", actor_kind="scheduler", actor_name="scheduler:test"
    )
    assert desk_version().rsplit("-", 1)[0] != before


def test_no_number_of_the_overview_is_read_by_looking_at_every_order() -> None:
    """With the sequential scan switched off no plan that remains may still be one: there is an index for each."""
    OrderProcess.objects.bulk_create(make_rows(300))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orders_orderprocess, orders_stepstate")
        cursor.execute("SET LOCAL enable_seqscan = off")
    with CaptureQueriesContext(connection) as captured:
        overview(now=database_now())
        supervisor_status(now=database_now())
        workflows.graphs(now=database_now())
    hot = [
        one["sql"]
        for one in captured
        if "orders_orderprocess" in one["sql"] or "orders_stepstate" in one["sql"]
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
