"""Steps whose agent cannot take them: they wait, and nothing of it counts as a failure (A8, A9, rule 9)."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from orders.engine.circuits.credit import grant_credit
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import RETRY_BUDGET, register_agents
from orders.engine.contracts import Step, Workflow, Workflows
from orders.engine.errors import Transient
from orders.engine.runtime.sql import fetch, run
from orders.engine.scheduler.role import Scheduler, SchedulerConfig
from orders.models import (
    AgentInstance,
    AgentReply,
    AgentRequest,
    Alert,
    Circuit,
    OrderProcess,
    RetryBudget,
    StepState,
)
from orders.services.orders import compensate, resubmit
from tests.support.agents import ScriptedAgent
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_host,
    a_leader,
    a_scheduler,
    alerts_of,
    answer,
    answer_everything,
    asked,
    clones,
    drain,
    event_of,
    expire,
    happened,
    running,
    staff,
    states,
    stored,
    told,
)
from tests.support.wait import until
from tests.support.workflows import CAKE, CAKES

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]

BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
PACKED = {**BAKED, "decorate": "completed", "box": "completed"}
DAY = 86_400.0
DOWN = Transient("http_503", "it is down")


def shut(agent: str = "kitchen", **fields: Any) -> None:
    """The agent's circuit is open, and no probe is due."""
    register_agents([agent], rate=None)
    given = {
        "state": "open",
        "openings": 1,
        "opened_at": ago(9),
        "cause_code": "http_503",
        "probe_at": ahead(900),
    }
    Circuit.objects.filter(agent=agent).update(**(given | fields))


def clear(agent: str = "kitchen", **fields: Any) -> None:
    """The agent's circuit is closed, and its ramp is over."""
    given = {"state": "closed", "openings": 0, "probe_at": None, "closed_at": ago(3600)}
    Circuit.objects.filter(agent=agent).update(**(given | fields))


def hire(agent: str, capacity: int) -> None:
    """So much live capacity, and no more."""
    AgentInstance.objects.filter(agent=agent).update(capacity=capacity)


def waiting(agent: str = "kitchen") -> int:
    return StepState.objects.filter(agent=agent, waiting_since__isnull=False).count()


def waited(seconds: float) -> dict[str, Any]:
    """A step that has waited for its agent for so long."""
    return {"waiting_since": ago(seconds), "wanted_since": ago(seconds)}


def has_waiting(agent: str = "kitchen") -> bool:
    return agent in grant_credit([agent], rules=BreakerRules(), now=ago(0)).waiting


def failures(order: OrderProcess) -> int:
    return stored(order).failure_count + sum(
        step.failure_count + step.undo_failure_count for step in StepState.objects.filter(process=order)
    )


def altered(name: str, **declared: Any) -> Workflows:
    """The cakes, with one step declared otherwise."""
    steps = tuple(replace(step, **declared) if step.name == name else step for step in CAKE.steps)
    return {
        (CAKE.name, CAKE.version): Workflow(
            name=CAKE.name, version=CAKE.version, steps=steps, complete_by=CAKE.complete_by
        )
    }


# --- a step without room


def test_a_step_without_room_waits_with_no_complete_by_and_no_failure() -> None:
    order = make_order(BAKED, process_state="pending", priority=7)
    scheduler = a_scheduler()
    shut()
    before = ahead(DAY)
    scheduler.run_once()
    row, box = stored(order), step_of(order, "box")
    assert (row.process_state, row.locked_by, failures(order)) == ("pending", None, 0)
    assert row.not_before is not None and before <= row.not_before <= ahead(DAY)
    assert (box.state, box.attempt, box.complete_by, box.outcome) == ("not_started", 0, None, "none")
    assert box.waiting_since is not None and ago(60) < box.waiting_since <= ago(0)
    assert (box.priority, asked(), told(order)) == (7, set(), [])
    assert happened(order) == [("waiting_for_agent", "decorate"), ("waiting_for_agent", "box")]
    since = box.waiting_since
    for _ in range(3):  # it is not looked at again, and waits since then
        assert scheduler.run_once().done["orders"] == 0
    assert step_of(order, "box").waiting_since == since
    assert len(happened(order)) == 2


def test_a_step_whose_neighbour_is_under_way_waits_beside_it() -> None:
    order = make_order()  # the oven is heated, the kitchen cannot mix
    scheduler = a_scheduler()
    shut()
    scheduler.run_once()
    row = stored(order)
    assert (row.process_state, asked(), states(order)) == (
        "processing",
        {"heat-oven"},
        {"heat-oven": "running"},
    )
    assert row.not_before is not None and row.not_before > ahead(DAY - 60)
    answer(order=order)
    scheduler.run_once()
    assert (stored(order).process_state, waiting(), failures(order)) == ("pending", 1, 0)
    clear()
    scheduler.run_once()
    assert (stored(order).process_state, asked(), waiting()) == ("processing", {"mix"}, 0)
    assert step_of(order, "mix").waiting_since is None


def test_when_room_comes_the_order_goes_on_to_its_end() -> None:
    order = make_order(reply_to="app")
    scheduler = a_scheduler()
    for agent in ("kitchen", "oven", "courier", "post"):
        shut(agent)
    scheduler.run_once()
    assert (stored(order).process_state, told(order), asked()) == ("pending", [], set())
    for agent in ("kitchen", "oven", "courier", "post"):
        clear(agent)
    for _ in range(8):
        scheduler.run_once()
        answer(order=order)
    assert (stored(order).process_state, failures(order)) == ("processed", 0)
    assert told(order) == ["started", "completed"]
    assert set(StepState.objects.values_list("attempt", "waiting_since")) == {(1, None)}


@pytest.mark.pattern("A9")
def test_room_goes_to_higher_priority_first_and_then_to_the_oldest() -> None:
    scheduler = a_scheduler()
    shut()
    low, old, young = (make_order(PACKED | {"decorate": {}}, priority=priority) for priority in (1, 5, 5))
    scheduler.run_once()
    assert waiting() == 3
    clear()
    hire("kitchen", 1)  # room for two
    high = make_order(PACKED | {"decorate": {}}, priority=9)  # a new one, that never waited
    scheduler.run_once()
    assert {order.pk for order in (high, old)} == set(AgentRequest.objects.values_list("order_id", flat=True))
    assert {low.pk, young.pk} == set(
        StepState.objects.filter(waiting_since__isnull=False).values_list("process_id", flat=True)
    )
    answer_everything()
    scheduler.run_once()
    assert set(AgentRequest.objects.filter(agent="kitchen").values_list("order_id", flat=True)) == {
        young.pk,
        low.pk,
    }


@pytest.mark.pattern("A9")
def test_nothing_is_dispatched_to_an_agent_that_nobody_runs() -> None:
    order = make_order(BAKED)
    scheduler = a_scheduler()
    AgentInstance.objects.filter(agent="kitchen").delete()
    scheduler.run_once()
    assert (asked(), waiting(), stored(order).process_state) == (set(), 2, "pending")
    staff()
    scheduler.run_once()
    assert (asked(), waiting()) == ({"decorate", "box"}, 0)


# --- patience


def test_a_step_that_waited_for_as_long_as_it_may_is_an_error_with_an_alert() -> None:
    order = make_order(PACKED | {"decorate": waited(DAY + 1)}, not_before=ago(1), reply_to="app")
    scheduler = a_scheduler()
    shut()
    scheduler.run_once()
    decorate = step_of(order, "decorate")
    assert (stored(order).process_state, decorate.state, decorate.waiting_since) == ("error", "failed", None)
    assert alerts_of(order) == [("step_failed", "decorate", "agent_unavailable")]
    assert Alert.objects.get().message == "kitchen could not take this step for 86400 s"
    assert happened(order) == [("step_given_up", "decorate"), ("error", "decorate")]
    assert (told(order), has_waiting()) == (["failed"], False)


def test_room_at_the_last_moment_is_used() -> None:
    order = make_order(PACKED | {"decorate": waited(DAY + 1)}, not_before=ago(1))
    a_scheduler().run_once()
    assert (states(order)["decorate"], asked()) == ("running", {"decorate"})


def test_a_step_whose_remedy_is_to_undo_has_the_order_undone_when_its_patience_is_over() -> None:
    order = make_order(BAKED | {"decorate": "completed", "box": waited(DAY + 1)}, not_before=ago(1))
    scheduler = a_scheduler()
    shut()
    scheduler.run_once()
    row = stored(order)
    assert (row.goal, row.process_state, alerts_of(order)) == ("compensate", "pending", [])
    assert (step_of(order, "box").waiting_since, waiting()) == (None, 1)  # `decorate`, to be undone first
    clear()
    scheduler.run_once()
    assert asked() == {"decorate"}


def test_patience_is_the_steps_own() -> None:
    order = make_order(PACKED | {"decorate": waited(61)}, not_before=ago(1))
    scheduler = a_scheduler(workflows=altered("decorate", patience=60.0))
    shut()
    scheduler.run_once()
    assert alerts_of(order) == [("step_failed", "decorate", "agent_unavailable")]


def test_a_resubmitted_step_has_its_patience_anew() -> None:
    order = make_order(PACKED | {"decorate": waited(DAY + 1)}, not_before=ago(1))
    scheduler = a_scheduler()
    shut()
    scheduler.run_once()
    resubmit(order_id=order.pk, by="ada")
    scheduler.run_once()
    assert (stored(order).process_state, waiting()) == ("pending", 1)
    clear()
    scheduler.run_once()
    assert asked() == {"decorate"}


# --- undoing


@pytest.mark.pattern("C10")
def test_an_undo_waits_for_its_agent_likewise_and_is_an_alert_of_its_own_kind_in_the_end() -> None:
    order = make_order({"mix": "completed"}, goal="compensate")
    scheduler = a_scheduler()
    shut()
    shut("post")
    scheduler.run_once()
    assert (stored(order).process_state, waiting(), states(order)) == ("pending", 1, {"mix": "completed"})
    StepState.objects.filter(waiting_since__isnull=False).update(**waited(DAY + 1))
    OrderProcess.objects.update(not_before=ago(1))
    scheduler.run_once()
    assert alerts_of(order) == [("compensation_failed", "mix", "agent_unavailable")]
    clear()
    clear("post")
    resubmit(order_id=order.pk, by="ada")
    for _ in range(4):
        scheduler.run_once()
        answer(order=order)
    assert (stored(order).process_state, states(order)["mix"]) == ("compensated", "compensated")


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
    shut()
    make_reply(step_of(order, "decorate"), "deferred", {"code": "http_503", "message": "down"}, calls=calls)
    scheduler.run_once()
    decorate, row = step_of(order, "decorate"), stored(order)
    assert (decorate.state, decorate.outcome, decorate.answered) == ("not_started", outcome, attempt)
    assert (row.process_state, failures(order), waiting()) == ("pending", 0, 1)
    assert (decorate.sent_at is None) is (outcome == "none")
    assert event_of(order, "step_deferred").detail["cause"] == {"code": "http_503", "message": "down"}
    clear()
    scheduler.run_once()
    assert step_of(order, "decorate").attempt == attempt + 1
    assert AgentRequest.objects.get().key == f"{order.pk}/decorate/1"  # the same key: it may have been done


@pytest.mark.pattern("C10")
def test_an_undo_that_is_handed_back_is_sent_again_without_a_failure() -> None:
    order = make_order({"mix": "compensating"}, process_state="processing", goal="compensate")
    scheduler = a_scheduler()
    shut()
    make_reply(step_of(order, "mix"), "deferred", {"code": "http_503", "message": "down"})
    scheduler.run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.complete_by, failures(order), waiting()) == ("compensating", None, 0, 1)
    clear()
    scheduler.run_once()
    request = AgentRequest.objects.get()
    assert (request.undo, request.attempt) == (True, 3)


def test_a_request_handed_back_by_an_order_that_is_to_be_undone_leaves_nothing_to_undo() -> None:
    order = make_order({"mix": "running"}, process_state="processing", goal="compensate")
    make_reply(step_of(order, "mix"), "deferred", {"code": "not_called", "message": ""}, calls=0)
    a_scheduler().run_once()
    assert (asked(), step_of(order, "mix").outcome) == ({"tell"}, "none")


# --- no longer waiting


@contextmanager
def that_waits(**process: Any) -> Iterator[tuple[OrderProcess, Scheduler]]:
    """An order with a step that waits for the kitchen."""
    order = make_order(PACKED | {"decorate": {}}, **process)
    scheduler = a_scheduler()
    shut()
    scheduler.run_once()
    assert (waiting(), has_waiting()) == (1, True)
    yield order, scheduler


def test_a_cancelled_order_waits_for_no_forward_step() -> None:
    with that_waits() as (order, scheduler):
        compensate(order_id=order.pk, by="ada")
        for agent in ("oven", "post"):
            shut(agent)
        scheduler.run_once()
        assert step_of(order, "decorate").waiting_since is None
        assert waiting() == 1  # `box`, to be undone
        assert step_of(order, "box").waiting_since is not None


def test_an_order_that_a_refusal_puts_into_error_waits_no_longer() -> None:
    order = make_order(BAKED | {"box": "running"}, process_state="processing")
    scheduler = a_scheduler()
    shut()
    scheduler.run_once()
    OrderProcess.objects.update(not_before=ago(1))
    scheduler.run_once()
    assert waiting() == 1
    make_reply(step_of(order, "box"), "refused")
    scheduler.run_once()
    assert (stored(order).process_state, waiting(), has_waiting()) == ("error", 0, False)


@pytest.mark.pattern("V3")
def test_an_order_that_the_supervisor_puts_into_error_waits_no_longer() -> None:
    order = make_order(
        {"mix": waited(9), "heat-oven": {"state": "running", "failure_count": 2}},
        process_state="processing",
    )
    expire(order, "heat-oven")
    a_leader().run_once()
    assert (stored(order).process_state, waiting(), has_waiting()) == ("error", 0, False)


def test_an_order_that_is_set_aside_waits_no_longer() -> None:
    scheduler = a_scheduler()
    shut()
    bad = make_order(PACKED | {"decorate": waited(9)}, not_before=ago(1))
    StepState.objects.filter(process=bad, name="tell").update(name="frost")
    drain(scheduler)
    assert (stored(bad).process_state, waiting(), has_waiting()) == ("error", 0, False)
    assert alerts_of(bad) == [("unprocessable", "", "WorkflowError")]


def test_a_broken_order_among_those_that_wait_is_set_aside_alone() -> None:
    """What waits is taken within the pass's batch, so that halving it finds the one (rule 11)."""
    orders = [make_order(PACKED | {"decorate": waited(9)}, not_before=ahead(99)) for _ in range(9)]
    StepState.objects.filter(process=orders[4], name="tell").update(name="frost")
    scheduler = a_scheduler(batch=8)
    drain(scheduler)
    assert [stored(order).process_state for order in orders] == [
        "error" if n == 4 else "processing" for n in range(9)
    ]
    assert Alert.objects.count() == 1


# --- the supervisor


@pytest.mark.pattern("V2")
@pytest.mark.parametrize("cause", ["open", "paused", "nobody", "none"])
def test_a_timed_out_step_counts_as_a_failure_only_if_its_agent_could_be_used(cause: str) -> None:
    order = make_order(PACKED | {"decorate": "running"}, process_state="processing")
    expire(order)
    leader = a_leader()
    if cause == "open":
        shut()
    elif cause == "paused":
        shut(state="closed", paused=True, probe_at=None)
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
def test_an_undo_that_times_out_in_an_outage_counts_no_failure_either() -> None:
    order = make_order({"mix": "compensating"}, process_state="processing", goal="compensate")
    expire(order)
    leader = a_leader()
    shut()
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


# --- keys that the remote service may have forgotten


@pytest.mark.pattern("F14", "A3")
def test_a_step_with_an_expired_key_is_not_sent_again_nor_by_a_resubmission() -> None:
    week = CAKE.by_name["decorate"].key_retention
    lost = {"attempt": 1, "outcome": "unknown", "sent_at": ago(week + 1)}
    order = make_order(PACKED | {"decorate": lost})
    scheduler = a_scheduler()
    for _ in range(2):
        scheduler.run_once()
        decorate = step_of(order, "decorate")
        assert (decorate.state, decorate.outcome, decorate.attempt) == ("failed", "unknown", 1)
        assert (stored(order).process_state, asked()) == ("error", set())
        assert Alert.objects.get(closed_at=None).code == "key_expired"
        resubmit(order_id=order.pk, by="ada")


@pytest.mark.pattern("F14")
def test_an_expired_key_has_nothing_undone_by_itself_but_an_operator_may() -> None:
    week = CAKE.by_name["box"].key_retention
    lost = {"attempt": 1, "outcome": "unknown", "sent_at": ago(week + 1)}
    order = make_order(BAKED | {"decorate": "completed", "box": lost})  # its remedy is to undo the order
    scheduler = a_scheduler()
    scheduler.run_once()
    assert alerts_of(order) == [("step_failed", "box", "key_expired")]
    compensate(order_id=order.pk, by="ada")
    scheduler.run_once()
    assert asked() == {"decorate", "box"}


@pytest.mark.pattern("F14", "O2")
def test_a_new_generation_has_a_new_key_whose_time_begins_when_it_is_sent() -> None:
    week = CAKE.by_name["decorate"].key_retention
    order = make_order(
        PACKED | {"decorate": {"state": "failed", "sent_at": ago(week + 1)}}, process_state="error"
    )
    resubmit(order_id=order.pk, by="ada")
    a_scheduler().run_once()
    sent = step_of(order, "decorate").sent_at
    assert sent is not None and sent > ago(600)


# --- the budget of retries


@pytest.mark.pattern("A2")
def test_retries_wait_for_the_budget_and_new_work_does_not() -> None:
    again = PACKED | {"decorate": {"attempt": 1, "outcome": "unknown", "failure_count": 1}}
    clones(make_order(again), 49)
    staff()
    RetryBudget.objects.create(name=RETRY_BUDGET, tokens=0.0, refilled_at=ahead(300))
    scheduler = Scheduler(
        config=SchedulerConfig(instance="scheduler:a", retries=10.0, batch=40), workflows=CAKES
    )
    new = [make_order(BAKED) for _ in range(9)]
    for _ in range(4):
        RetryBudget.objects.update(refilled_at=ahead(300))  # nothing is refilled
        scheduler.run_once()
    # A part of each pass is kept for those, however many retries wait.
    assert {order.pk for order in new} == set(AgentRequest.objects.values_list("order_id", flat=True))
    assert waiting() == 50
    RetryBudget.objects.update(tokens=7.0, refilled_at=ahead(300))
    AgentRequest.objects.all().delete()
    scheduler.run_once()
    assert (AgentRequest.objects.count(), waiting()) == (7, 43)


@pytest.mark.pattern("A2")
def test_a_pass_draws_no_more_retries_than_it_has_room_for() -> None:
    again = PACKED | {"decorate": {"attempt": 1, "outcome": "unknown", "failure_count": 1}}
    clones(make_order(again), 49)
    scheduler = a_scheduler()
    hire("kitchen", 1)
    RetryBudget.objects.create(name=RETRY_BUDGET, tokens=20.0, refilled_at=ahead(300))
    scheduler.run_once()
    assert AgentRequest.objects.count() == 2
    assert RetryBudget.objects.get().tokens == 18.0


# --- a crowd


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("A9", "F29")
def test_a_crowd_that_waited_drains_by_priority_on_the_ramp_within_its_room() -> None:
    """A thousand orders, five priorities; time is made by moving the circuit's."""
    ready = PACKED | {"decorate": {}}
    for priority in (1, 3, 5, 7, 9):
        clones(make_order(ready, priority=priority), 199)
    scheduler = a_scheduler()
    shut()
    for _ in range(6):
        scheduler.run_once()
    assert (waiting(), AgentRequest.objects.count()) == (1000, 0)
    capacity = 60
    hire("kitchen", capacity)
    clear(closed_at=ahead(300))
    sent: list[int] = []
    priorities: list[int] = []
    for tenth in range(40):
        # The circuit closed so long ago: the ramp of 30 s is over after ten passes.
        Circuit.objects.filter(agent="kitchen").update(
            closed_at=ahead(300) if tenth == 0 else ago(3.0 * tenth)
        )
        scheduler.run_once()
        in_this_pass = list(AgentRequest.objects.filter(agent="kitchen").values_list("priority", flat=True))
        sent.append(len(in_this_pass))
        priorities += sorted(in_this_pass, reverse=True)
        AgentRequest.objects.all().delete()  # all of them are answered, and more may follow
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


# --- the host


def a_request_for_mix() -> OrderProcess:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_request(step_of(order, "mix"))
    return order


def replies() -> Counter[str]:
    return Counter(AgentReply.objects.values_list("outcome", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_host_hands_requests_back_uncalled_while_the_circuit_is_open() -> None:
    for _ in range(3):
        a_request_for_mix()
    shut(cause_message="it is down")
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    assert (kitchen.asked, AgentRequest.objects.count(), replies()) == ([], 0, {"deferred": 3})
    reply = AgentReply.objects.first()
    assert reply is not None
    assert (reply.calls, reply.body) == (0, {"code": "not_called", "message": "it is down"})


@pytest.mark.django_db(transaction=True)
def test_a_host_makes_one_probe_of_a_half_open_circuit_and_closes_it() -> None:
    register_agents(["kitchen"], rate=None)
    for _ in range(3):
        a_request_for_mix()
    shut(state="half_open", probe_at=ahead(45))
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    assert (len(kitchen.asked), replies()) == (1, {"deferred": 2, "done": 1})
    assert Circuit.objects.get().state == "closed"


@pytest.mark.django_db(transaction=True)
def test_a_probe_that_fails_is_handed_back_too_and_opens_the_circuit_again() -> None:
    a_request_for_mix()
    shut(state="half_open", probe_at=ahead(45))
    kitchen = ScriptedAgent("kitchen", DOWN)
    a_host(kitchen).run_once()
    assert (len(kitchen.asked), replies()) == (1, {"deferred": 1})
    assert AgentReply.objects.get().calls == 1
    row = Circuit.objects.get()
    assert (row.state, row.openings, row.cause_code) == ("open", 2, "http_503")


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O1", "F29")
def test_an_outage_costs_waits_and_one_alert_and_when_it_is_over_every_order_goes_on() -> None:
    """One host and one scheduler, from the first failure to the end; every wait for a probe is cut short."""
    orders = [make_order({"heat-oven": "completed"}) for _ in range(20)]
    scheduler = a_scheduler()
    AgentInstance.objects.filter(agent="kitchen").delete()
    is_down = True

    async def at_first_down(request: Any) -> dict[str, bool]:
        if is_down:
            raise DOWN
        return {"ok": True}

    kitchen = ScriptedAgent("kitchen", at_first_down, capacity=8)

    def is_(state: str) -> Callable[[], bool]:
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
        until(lambda: AgentInstance.objects.filter(agent="kitchen").exists(), seconds=30, what="a heartbeat")
        until(is_("open"), seconds=30, what="the circuit's opening")
        until(all_wait, seconds=30, what="every step's waiting")
        assert Alert.objects.filter(kind="outage", closed_at=None).count() == 1
        calls = len(kitchen.asked)
        for _ in range(5):
            scheduler.run_once()
        assert len(kitchen.asked) <= calls + 5  # nothing but probes, one a pass at most
        is_down = False
        until(all_mixed, seconds=60, what="every order's going on")
        assert not ended.done()
    assert fetch("SELECT count(*) FROM orders_orderprocess WHERE failure_count > 0") == [(0,)]
    assert not OrderProcess.objects.filter(process_state="error").exists()
    assert Alert.objects.count() == Alert.objects.exclude(closed_at=None).count()
    assert set(Alert.objects.values_list("kind", flat=True)) == {"outage"}


def test_every_step_of_the_cake_has_patience_for_a_day() -> None:
    """What the tests here take for granted."""
    assert {step.patience for step in CAKE.steps} == {DAY}
    assert Step.__dataclass_fields__["patience"].default == DAY
