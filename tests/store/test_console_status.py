"""The console's numbers about agents, supervisors and workflows."""

import pytest
from django.conf import settings

from orders.business import registry
from orders.engine.runtime.sql import database_now
from orders.engine.supervisor import leadership
from orders.models import (
    AgentInstance,
    Circuit,
    LeaderLease,
    SweepRecord,
)
from orders.selectors.desk import workflows
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.supervisor import supervisor_status
from orders.selectors.desk.workflows import Counts, draw, layers
from tests.support.factories import ago, ahead, joint, make_item, make_order, make_request, step_of
from tests.support.roles import a_leader
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db


def status_of(name: str) -> AgentStatus:
    return next(agent for agent in agent_statuses(now=database_now()) if agent.name == name)


@pytest.mark.pattern("A8", "A9")
def test_an_agents_status_shows_its_circuit_work_and_processes() -> None:
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
    assert [host.name for host in oven.alive] == ["agents:live"]
    assert len(oven.instances) == 2


@pytest.mark.pattern("A8")
def test_a_circuit_that_has_just_closed_is_draining_and_a_forced_circuit_has_its_forced_state() -> None:
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
def test_the_supervisor_page_shows_the_lag_and_the_results_of_sweeps() -> None:
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
    for number in range(leadership.SWEEPS_KEPT + 5):
        leadership.record_sweep("supervisor", term=1, report={"found": number + 1})
    counts = list(SweepRecord.objects.order_by("id").values_list("found", flat=True))
    assert counts == list(range(6, leadership.SWEEPS_KEPT + 6))


@pytest.mark.pattern("V1", "V6")
def test_only_sweeps_that_find_something_are_kept() -> None:
    make_order({"mix": {"state": "running", "complete_by": ago(5)}}, process_state="processing")
    leader = a_leader()
    leader.run_once()
    leader.run_once()
    (record,) = SweepRecord.objects.all()
    assert (record.found, record.recovered, record.escalated, record.steps_timed_out) == (1, 1, 0, 1)
    assert record.holder == LeaderLease.objects.get(name="supervisor").holder


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
def test_each_step_counts_its_running_waiting_delayed_and_failed_orders() -> None:
    workflow = registry.newest_workflows()["fulfil-order"]
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
    items = make_order({**first, "create-shipment": joint(2)}, workflow=workflow, process_state="processing")
    for number in (1, 2):
        make_item(items, "create-shipment", number, state="running", complete_by=ahead(9))
    make_order(  # it has ended, so its failed step no longer counts
        {"authorise-payment": "failed"}, workflow=workflow, process_state="compensated", goal="compensate"
    )
    make_order({"mix": "running"}, process_state="processing")  # another workflow
    (graph,) = workflows.graphs(now=database_now())
    counts = {node.name: node.counts for node in graph.nodes if node.counts.total}
    assert counts == {
        "reserve-stock": Counts(running=1),
        "create-shipment": Counts(running=1, waiting=1, put_off=1),
        "authorise-payment": Counts(failed=1),
    }
