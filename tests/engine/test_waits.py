"""Steps that wait for a person's decision, an outside event or a time, through the roles and on real rows."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.contracts import Decision, Delay, OutsideEvent, Remedy, Step, Workflow
from orders.engine.intakes import AcceptedOrder, Submission
from orders.models import AgentRequest, Alert, Event, OrderProcess, StepState
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    drain,
    expire,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.workflows import FEAST, FEASTS

pytestmark = pytest.mark.django_db

PLANNED = {"plan": "completed"}
DECISION = {"kind": "decision", "choices": ["accept", "reject"]}
RESTED = {**PLANNED, "supplies": "completed", "rest": "completed"}


def declared_with(name: str, **changes: object) -> Workflow:
    steps = [replace(step, **changes) if step.name == name else step for step in FEAST.steps]  # type: ignore[arg-type]
    return replace(FEAST, steps=tuple(steps))


def parked(workflow: Workflow = FEAST, **fields: object) -> OrderProcess:
    """An order of which only the approval is missing; it is free and Pending."""
    approve = {"state": "awaiting", "awaits": DECISION, **fields}
    return make_order({**RESTED, "approve": approve}, workflow=workflow, not_before=ahead(7_200))


def workflows(workflow: Workflow) -> dict[tuple[str, int], Workflow]:
    return {(workflow.name, workflow.version): workflow}


@pytest.mark.pattern("C1", "C4")
def test_waits_are_parked_in_the_database_and_nothing_is_sent_or_held_for_them() -> None:
    order = make_order(PLANNED, workflow=FEAST)
    began = ago(0)
    a_scheduler(workflows=FEASTS).run_once()
    row = stored(order)
    approve, supplies, rest = (step_of(order, name) for name in ("approve", "supplies", "rest"))
    assert states(order) == {
        "plan": "completed",
        "approve": "awaiting",
        "supplies": "awaiting",
        "rest": "awaiting",
    }
    assert (row.process_state, row.locked_by, row.failure_count) == ("pending", None, 0)
    assert row.not_before == rest.not_before
    for step, seconds in ((approve, 3_600), (supplies, 600)):
        assert began + timedelta(seconds=seconds) <= step.complete_by <= ahead(seconds)
    assert rest.complete_by is None and began + timedelta(seconds=60) <= rest.not_before <= ahead(60)
    assert (approve.awaits, supplies.awaits, rest.awaits) == (DECISION, {"kind": "event"}, {"kind": "delay"})
    assert not AgentRequest.objects.exists()
    assert all(step.started_at is not None for step in (approve, supplies, rest))


def test_a_parked_order_is_not_claimed_again_until_something_happens() -> None:
    make_order(PLANNED, workflow=FEAST)
    scheduler = a_scheduler(workflows=FEASTS)
    scheduler.run_once()
    assert [scheduler.run_once().done["orders"] for _ in range(3)] == [0, 0, 0]


@pytest.mark.pattern("C6")
def test_an_answer_wakes_the_order_and_its_result_travels_on() -> None:
    order = parked()
    result = {"choice": "accept", "by": "ada", "note": "looks good"}
    make_reply(step_of(order, "approve"), body=result, calls=0)
    a_scheduler(workflows=FEASTS).run_once()
    assert step_of(order, "approve").result == result
    assert step_of(order, "approve").completed_at is not None
    request = AgentRequest.objects.get()
    assert (request.step, request.body["results"]["approve"]) == ("cook", result)
    assert stored(order).process_state == "processing"


@pytest.mark.pattern("C10")
def test_a_rejection_compensates_the_order() -> None:
    order = parked()
    make_reply(step_of(order, "approve"), body={"choice": "reject", "by": "ada", "note": ""}, calls=0)
    a_scheduler(workflows=FEASTS).run_once()
    assert (stored(order).goal, requested_steps()) == ("compensate", {"plan"})
    assert ("compensation_requested", "approve") in history(order)


def test_a_rejection_closes_the_alert_of_an_order_that_another_step_has_put_into_error() -> None:
    approve = {"state": "awaiting", "awaits": DECISION}
    order = make_order(
        {**PLANNED, "approve": approve, "supplies": "failed"}, workflow=FEAST, process_state="error"
    )
    make_alert(order.order_id)
    make_reply(step_of(order, "approve"), body={"choice": "reject", "by": "ada", "note": ""}, calls=0)
    a_scheduler(workflows=FEASTS).run_once()
    assert (stored(order).goal, stored(order).process_state) == ("compensate", "processing")
    assert not Alert.objects.filter(closed_at=None).exists()


@pytest.mark.pattern("C1")
def test_a_delay_completes_when_its_time_is_over() -> None:
    order = make_order({**PLANNED, "approve": "completed", "supplies": "completed"}, workflow=FEAST)
    scheduler = a_scheduler(workflows=FEASTS)
    scheduler.run_once()
    assert states(order)["rest"] == "awaiting"
    all_due(order)
    scheduler.run_once()
    assert (states(order)["rest"], step_of(order, "rest").result) == ("completed", {})
    assert requested_steps() == {"cook"}


# --- the time is over


@pytest.mark.pattern("V1", "V4")
def test_the_supervisor_takes_the_default_of_what_did_not_come_in_time() -> None:
    order = make_order(
        {**PLANNED, "rest": "completed", "approve": "completed", "supplies": "awaiting"},
        workflow=FEAST,
        not_before=ahead(7_200),
    )
    expire(order)
    a_leader(workflows=FEASTS).run_once()
    supplies = step_of(order, "supplies")
    assert (supplies.state, supplies.result, supplies.answered) == ("completed", {"came": False}, 1)
    assert (stored(order).process_state, stored(order).not_before) == ("pending", None)
    assert (stored(order).failure_count, supplies.failure_count) == (0, 0)
    assert Event.objects.get(order_id=order.order_id).detail == {"default": {"came": False}}
    a_scheduler(workflows=FEASTS).run_once()
    assert requested_steps() == {"cook"}


@pytest.mark.pattern("V3", "C7")
def test_a_wait_without_a_default_fails_with_an_alert_and_no_failure_is_counted() -> None:
    order = parked()
    expire(order)
    a_leader(workflows=FEASTS).run_once()
    approve = step_of(order, "approve")
    assert (approve.state, approve.outcome, approve.failure_count) == ("failed", "none", 0)
    assert (approve.error or {})["code"] == "no_answer"
    assert (stored(order).process_state, alerts_of(order)) == (
        "error",
        [("step_failed", "approve", "no_answer")],
    )
    assert history(order) == [("wait_ended", "approve"), ("error", "approve")]


@pytest.mark.pattern("V4")
def test_a_wait_whose_remedy_is_to_compensate_has_the_order_compensated() -> None:
    workflow = declared_with("approve", remedy=Remedy(then="compensate"))
    order = parked(workflow)
    expire(order)
    a_leader(workflows=workflows(workflow)).run_once()
    assert (stored(order).goal, stored(order).process_state, alerts_of(order)) == (
        "compensate",
        "pending",
        [],
    )
    a_scheduler(workflows=workflows(workflow)).run_once()
    assert requested_steps() == {"plan"}


def test_a_default_choice_that_compensates_turns_the_goal() -> None:
    workflow = declared_with("approve", waits_for=Decision(default="reject"))
    order = parked(workflow)
    expire(order)
    a_leader(workflows=workflows(workflow)).run_once()
    assert step_of(order, "approve").result == {"choice": "reject", "by": "", "note": ""}
    assert (stored(order).goal, stored(order).process_state) == ("compensate", "pending")
    request = Event.objects.get(order_id=order.order_id, kind="compensation_requested")
    assert (request.actor_kind, request.detail) == ("supervisor", {"why": "decided"})


def test_a_default_choice_that_compensates_also_ends_an_error() -> None:
    workflow = declared_with("approve", waits_for=Decision(default="reject"))
    order = make_order(
        {**PLANNED, "approve": {"state": "awaiting", "awaits": DECISION}, "supplies": "failed"},
        workflow=workflow,
        process_state="error",
    )
    make_alert(order.order_id)
    expire(order)
    a_leader(workflows=workflows(workflow)).run_once()
    assert (stored(order).goal, stored(order).process_state) == ("compensate", "pending")
    assert not Alert.objects.filter(closed_at=None).exists()


@pytest.mark.pattern("A5", "V2")
def test_an_answer_that_is_read_after_the_default_was_taken_changes_nothing() -> None:
    order = make_order({**PLANNED, "supplies": "awaiting"}, workflow=FEAST, not_before=ahead(7_200))
    make_reply(step_of(order, "supplies"), body={"came": True}, calls=0)
    expire(order, "supplies")
    a_leader(workflows=FEASTS).run_once()
    a_scheduler(workflows=FEASTS).run_once()
    assert step_of(order, "supplies").result == {"came": False}
    assert ("reply_ignored", "supplies") in history(order)


def test_the_supervisor_leaves_what_was_answered_and_delays_alone() -> None:
    order = make_order(
        {
            **PLANNED,
            "approve": {"state": "awaiting", "awaits": DECISION, "complete_by": None},
            "rest": {"state": "awaiting", "complete_by": None, "not_before": ago(5)},
        },
        workflow=FEAST,
        not_before=ahead(9),
    )
    assert a_leader(workflows=FEASTS).run_once().done.get("found", 0) == 0
    assert states(order)["approve"] == states(order)["rest"] == "awaiting"


@pytest.mark.pattern("C10")
def test_a_cancellation_ends_a_wait_with_nothing_to_reverse() -> None:
    order = parked(outcome="none")
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate", not_before=None)
    a_scheduler(workflows=FEASTS).run_once()
    approve = step_of(order, "approve")
    assert (approve.state, approve.outcome, approve.complete_by) == ("not_started", "none", None)
    assert requested_steps() == {"plan"}


@pytest.mark.pattern("C10")
def test_the_supervisor_settles_a_wait_of_an_order_that_is_being_compensated() -> None:
    order = parked()
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate", not_before=None)
    expire(order)
    a_leader(workflows=FEASTS).run_once()
    assert (step_of(order, "approve").state, stored(order).process_state) == ("not_started", "pending")


# --- whole lives


@pytest.mark.pattern("C6", "C9")
def test_an_order_goes_through_all_its_waits_whoever_of_two_schedulers_turns_to_it() -> None:
    order = make_order(PLANNED, workflow=FEAST)
    first, second = (a_scheduler(f"scheduler:{name}", workflows=FEASTS) for name in "ab")
    first.run_once()
    make_reply(step_of(order, "supplies"), body={"came": True}, calls=0)
    second.run_once()
    make_reply(step_of(order, "approve"), body={"choice": "accept", "by": "ada", "note": ""}, calls=0)
    first.run_once()
    all_due(order)
    second.run_once()
    make_reply(step_of(order, "cook"))
    drain(first)
    assert stored(order).process_state == "processed"
    assert set(states(order).values()) == {"completed"}


def test_a_workflow_that_begins_with_a_wait_is_not_started_until_it_is_over() -> None:
    steps = (
        replace(FEAST.by_name["approve"], after=()),
        Step(name="mix", agent="kitchen", operation="mix-it", after=("approve",)),
    )
    workflow = Workflow(name="asked-first", version=1, steps=steps)
    order = make_order(workflow=workflow)
    scheduler = a_scheduler(workflows=workflows(workflow))
    scheduler.run_once()
    assert (stored(order).process_state, stored(order).started_at) == ("pending", None)
    make_reply(step_of(order, "approve"), body={"choice": "accept", "by": "ada", "note": ""}, calls=0)
    scheduler.run_once()
    assert (stored(order).process_state, requested_steps()) == ("processing", {"mix"})


def test_a_moment_of_the_orders_own_is_stored_when_it_is_inserted() -> None:
    moment = ahead(5_000)
    wait = Delay(until=lambda data: datetime.fromisoformat(data["at"]))
    workflow = declared_with(
        "rest", waits_for=wait, data=lambda description: {"at": description["at"]}, after=()
    )
    submission = Submission(order_id=uuid7(), client="app", body={}, posted_at=ago(1))
    accepted = AcceptedOrder(
        submission=submission,
        workflow=workflow,
        priority=5,
        reply_to="",
        description={"at": moment.isoformat()},
    )
    state_store.create_processes([accepted])
    a_scheduler(workflows=workflows(workflow)).run_once()
    rest = StepState.objects.get(process_id=submission.order_id, name="rest")
    assert (rest.state, rest.not_before) == ("awaiting", moment)


def test_an_event_without_a_default_is_declared_like_one_with_it() -> None:
    assert OutsideEvent(within=5.0).default_result is None
