"""An agent's outage: requests come back uncalled, time-outs count as no failure, and what waited drains (A8, A9)."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from orders.engine.circuits.store import register_agents
from orders.engine.runtime.sql import fetch, run
from orders.models import (
    AgentInstance,
    AgentReply,
    AgentRequest,
    Alert,
    Circuit,
    OrderProcess,
    StepState,
)
from tests.support.agents import ScriptedAgent
from tests.support.availability import (
    DOWN,
    close_circuit,
    failures,
    has_waiting,
    open_circuit,
    set_capacity,
    waiting,
)
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_host,
    a_leader,
    a_scheduler,
    clones,
    event_of,
    expire,
    requested_steps,
    running,
    staff,
    stored,
)
from tests.support.wait import until
from tests.support.workflows import BAKED, PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]


# --- deferred replies


@pytest.mark.parametrize(
    ("attempt", "calls", "outcome"), [(1, 0, "none"), (1, 1, "unknown"), (2, 0, "unknown")]
)
def test_a_request_handed_back_waits_again_and_counts_no_failure(
    attempt: int, calls: int, outcome: str
) -> None:
    order = make_order(
        PACKED | {"decorate": {"state": "running", "attempt": attempt, "sent_at": ago(3)}},
        process_state="processing",
    )
    scheduler = a_scheduler()
    open_circuit()
    make_reply(step_of(order, "decorate"), "deferred", {"code": "http_503", "message": "down"}, calls=calls)
    scheduler.run_once()
    decorate, row = step_of(order, "decorate"), stored(order)
    assert (decorate.state, decorate.outcome, decorate.answered) == ("not_started", outcome, attempt)
    assert (row.process_state, failures(order), waiting()) == ("pending", 0, 1)
    assert (decorate.sent_at is None) is (outcome == "none")
    assert event_of(order, "step_deferred").detail["cause"] == {"code": "http_503", "message": "down"}
    close_circuit()
    scheduler.run_once()
    assert step_of(order, "decorate").attempt == attempt + 1
    assert (
        AgentRequest.objects.get().key == f"{order.pk}/decorate/1"
    )  # the same key, since the call may have had its effect


@pytest.mark.pattern("C10")
def test_a_compensation_that_is_handed_back_is_sent_again_without_a_failure() -> None:
    order = make_order({"mix": "compensating"}, process_state="processing", goal="compensate")
    scheduler = a_scheduler()
    open_circuit()
    make_reply(step_of(order, "mix"), "deferred", {"code": "http_503", "message": "down"})
    scheduler.run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.complete_by, failures(order), waiting()) == ("compensating", None, 0, 1)
    close_circuit()
    scheduler.run_once()
    request = AgentRequest.objects.get()
    assert (request.compensates, request.attempt) == (True, 3)


def test_a_request_handed_back_by_an_order_that_is_to_be_compensated_leaves_nothing_to_compensate() -> None:
    order = make_order({"mix": "running"}, process_state="processing", goal="compensate")
    make_reply(step_of(order, "mix"), "deferred", {"code": "not_called", "message": ""}, calls=0)
    a_scheduler().run_once()
    assert (requested_steps(), step_of(order, "mix").outcome) == ({"tell"}, "none")


# --- the supervisor


@pytest.mark.pattern("V2")
@pytest.mark.parametrize("cause", ["open", "paused", "nobody", "none"])
def test_a_timed_out_step_counts_as_a_failure_only_if_its_agent_was_available(cause: str) -> None:
    order = make_order(PACKED | {"decorate": "running"}, process_state="processing")
    expire(order)
    leader = a_leader()
    if cause == "open":
        open_circuit()
    elif cause == "paused":
        open_circuit(state="closed", paused=True, probe_at=None)
    elif cause == "nobody":
        AgentInstance.objects.filter(agent="kitchen").delete()
    leader.run_once()
    decorate, row = step_of(order, "decorate"), stored(order)
    assert (decorate.state, decorate.outcome, row.process_state) == ("not_started", "unknown", "pending")
    detail = event_of(order, "step_timed_out").detail
    if cause == "none":
        assert (failures(order), detail["ruling"], row.not_before is not None) == (2, "retry", True)
    else:
        assert (failures(order), detail["ruling"], row.not_before) == (0, "defer", None)


@pytest.mark.pattern("V2", "C10")
def test_a_compensation_that_times_out_in_an_outage_counts_no_failure_either() -> None:
    order = make_order({"mix": "compensating"}, process_state="processing", goal="compensate")
    expire(order)
    leader = a_leader()
    open_circuit()
    leader.run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.complete_by, failures(order)) == ("compensating", None, 0)


@pytest.mark.pattern("A9", "O1")
def test_the_leader_opens_the_alert_of_an_agent_that_nobody_runs_and_closes_it() -> None:
    scheduler, leader = a_scheduler(), a_leader()
    AgentInstance.objects.filter(agent="kitchen").delete()
    leader.run_once()
    assert not Alert.objects.exists()  # nothing waits for it
    make_order(BAKED)
    scheduler.run_once()
    leader.run_once()
    leader.run_once()
    alert = Alert.objects.get()
    assert (alert.kind, alert.agent, alert.code, alert.closed_at) == ("outage", "kitchen", "no_host", None)
    staff()
    leader.run_once()
    alert.refresh_from_db()
    assert (alert.closed_at is not None, alert.closed_by) == (True, "the supervisor")


@pytest.mark.pattern("A9", "O1")
def test_missed_heartbeats_are_confirmed_before_operators_are_told() -> None:
    """A database that ends every connection holds up all heartbeats, and the hosts are well."""
    scheduler, leader = a_scheduler(), a_leader(confirm=0.5)
    AgentInstance.objects.filter(agent="kitchen").delete()
    make_order(BAKED)
    scheduler.run_once()
    leader.run_once()
    staff()
    leader.run_once()
    AgentInstance.objects.filter(agent="kitchen").delete()
    began = time.monotonic()
    until(lambda: leader.run_once() and Alert.objects.exists(), what="the alert")
    assert time.monotonic() - began >= 0.5, "the time begins anew after a heartbeat"


# --- a crowd


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("A9", "F29")
def test_waiting_orders_drain_by_priority_on_the_ramp_within_the_credit() -> None:
    """A thousand orders, five priorities; the test moves the circuit's time instead of waiting."""
    ready = PACKED | {"decorate": {}}
    for priority in (1, 3, 5, 7, 9):
        clones(make_order(ready, priority=priority), 199)
    scheduler = a_scheduler()
    open_circuit()
    for _ in range(6):
        scheduler.run_once()
    assert (waiting(), AgentRequest.objects.count()) == (1000, 0)
    capacity = 24
    set_capacity("kitchen", capacity)
    close_circuit(closed_at=ahead(300))
    sent: list[int] = []
    priorities: list[int] = []
    for tenth in range(40):
        # Each pass moves the circuit's closing into the past: the ramp of 30 s is over after ten passes.
        Circuit.objects.filter(agent="kitchen").update(
            closed_at=ahead(300) if tenth == 0 else ago(3.0 * tenth)
        )
        scheduler.run_once()
        in_this_pass = list(AgentRequest.objects.filter(agent="kitchen").values_list("priority", flat=True))
        sent.append(len(in_this_pass))
        priorities += sorted(in_this_pass, reverse=True)
        AgentRequest.objects.all().delete()  # as if all had been answered, so that more may follow
        if len(priorities) == 1000:
            break
    assert len(priorities) == 1000
    assert priorities == sorted(priorities, reverse=True)
    assert max(sent) <= 2 * capacity
    assert sent[0] == 1
    assert sent[1] < sent[5] < sent[9] <= sent[10] == 2 * capacity
    assert (waiting(), has_waiting()) == (0, False)
    assert not StepState.objects.exclude(failure_count=0).exists()
    assert not Alert.objects.exists()


def a_request_for_mix() -> OrderProcess:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_request(step_of(order, "mix"))
    return order


def replies() -> Counter[str]:
    return Counter(AgentReply.objects.values_list("outcome", flat=True))


# --- the host


@pytest.mark.django_db(transaction=True)
def test_a_host_hands_requests_back_uncalled_while_the_circuit_is_open() -> None:
    for _ in range(3):
        a_request_for_mix()
    open_circuit(cause_message="it is down")
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    assert (kitchen.requests, AgentRequest.objects.count(), replies()) == ([], 0, {"deferred": 3})
    reply = AgentReply.objects.first()
    assert reply is not None
    assert (reply.calls, reply.body) == (0, {"code": "not_called", "message": "it is down"})


@pytest.mark.django_db(transaction=True)
def test_a_host_makes_one_probe_of_a_half_open_circuit_and_closes_it() -> None:
    register_agents({"kitchen": None})
    for _ in range(3):
        a_request_for_mix()
    open_circuit(state="half_open", probe_at=ahead(45))
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    assert (len(kitchen.requests), replies()) == (1, {"deferred": 2, "done": 1})
    assert Circuit.objects.get().state == "closed"


@pytest.mark.django_db(transaction=True)
def test_a_probe_that_fails_is_handed_back_too_and_opens_the_circuit_again() -> None:
    a_request_for_mix()
    open_circuit(state="half_open", probe_at=ahead(45))
    kitchen = ScriptedAgent("kitchen", DOWN)
    a_host(kitchen).run_once()
    assert (len(kitchen.requests), replies()) == (1, {"deferred": 1})
    assert AgentReply.objects.get().calls == 1
    row = Circuit.objects.get()
    assert (row.state, row.openings, row.cause_code) == ("open", 2, "http_503")


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O1", "F29")
def test_an_outage_costs_waits_and_one_alert_and_every_order_continues_after_it() -> None:
    """One host and one scheduler, from the first failure to the end. The test cuts every wait for a probe short."""
    orders = [make_order({"heat-oven": "completed"}) for _ in range(20)]
    scheduler = a_scheduler()
    AgentInstance.objects.filter(agent="kitchen").delete()
    is_down = True

    async def at_first_down(request: Any) -> dict[str, bool]:
        if is_down:
            raise DOWN
        return {"ok": True}

    kitchen = ScriptedAgent("kitchen", at_first_down, capacity=8)

    def circuit_is(state: str) -> Callable[[], bool]:
        def look() -> bool:
            scheduler.run_once()
            return Circuit.objects.filter(agent="kitchen", state=state).exists()

        return look

    def all_wait() -> bool:
        scheduler.run_once()
        return waiting() == len(orders)

    def all_mixed() -> bool:
        run(
            "UPDATE orders_circuit SET closed_at = closed_at - interval '10 s', probe_at = probe_at - interval '10 s'"
        )
        scheduler.run_once()
        return StepState.objects.filter(name="mix", state="completed").count() == len(orders)

    with running(a_host(kitchen, poll=0.02, heartbeat=0.2, grace=0.1)) as ended:
        until(lambda: AgentInstance.objects.filter(agent="kitchen").exists(), what="a heartbeat")
        until(circuit_is("open"), what="the opening of the circuit")
        until(all_wait, what="every step to wait")
        assert Alert.objects.filter(kind="outage", closed_at=None).count() == 1
        calls = len(kitchen.requests)
        for _ in range(5):
            scheduler.run_once()
        assert len(kitchen.requests) <= calls + 5  # only probes, at most one per pass
        is_down = False
        until(all_mixed, what="every order to continue")
        assert not ended.done()
    assert fetch("SELECT count(*) FROM orders_orderprocess WHERE failure_count > 0") == [(0,)]
    assert not OrderProcess.objects.filter(process_state="error").exists()
    assert Alert.objects.count() == Alert.objects.exclude(closed_at=None).count()
    assert set(Alert.objects.values_list("kind", flat=True)) == {"outage"}
