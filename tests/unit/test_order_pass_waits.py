"""One order during a pass whose steps wait for a decision, an outside event, a time, or an answer that comes later."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from orders.engine import parking
from orders.engine.contracts import Workflow
from orders.engine.parking import LEFT_TO_SUPERVISOR
from orders.engine.rows import StepRow
from orders.engine.scheduler.order_pass import OrderPass
from tests.support.workflows import CAKE, FEAST
from tests.unit.order_passes import compensating, kinds, processing, requested_steps, take
from tests.unit.rows import ME, NOW, at, process_row, reply_to, step_rows

PLANNED = {"plan": "completed"}
ASKED = {"attempt": 1, "outcome": "unknown", "sent_at": at(-9)}
LATER = {"within": 900.0, "reference": "job-7", "poll_after": 60.0}


def feast(
    states: Mapping[str, str | Mapping[str, Any]], workflow: Workflow = FEAST, **process: Any
) -> OrderPass:
    row = process_row(workflow=workflow.name, version=workflow.version, **process)
    return OrderPass(row=row, steps=step_rows(states, workflow), workflow=workflow, instance=ME)


def advanced(order: OrderPass, seconds: float = 0.0) -> OrderPass:
    order.advance(at(seconds))
    return order


def standing(step: StepRow) -> tuple[Any, ...]:
    return step.state, step.attempt, step.answered, step.outcome, step.complete_by, step.not_before


# --- the waits of a workflow


@pytest.mark.pattern("C1", "C4")
def test_steps_that_wait_are_parked_without_a_request_and_without_the_order_being_held() -> None:
    order = advanced(feast(PLANNED, process_state="processing"))
    assert standing(order.steps["approve"]) == ("awaiting", 1, 0, "none", at(3_600), None)
    assert standing(order.steps["supplies"]) == ("awaiting", 1, 0, "none", at(600), None)
    assert standing(order.steps["rest"]) == ("awaiting", 1, 0, "none", None, at(60))
    assert (order.new_requests, kinds(order)) == ([], ["awaiting"] * 3)
    row = order.row
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, at(60))


def test_an_event_says_what_is_awaited_and_until_when() -> None:
    order = advanced(feast(PLANNED))
    assert [(event.step, event.attempt, event.detail) for event in order.events] == [
        ("approve", 1, {"kind": "decision", "choices": ["accept", "reject"], "until": at(3_600)}),
        ("supplies", 1, {"kind": "event", "until": at(600)}),
        ("rest", 1, {"kind": "delay", "until": at(60)}),
    ]


def test_a_parked_order_is_not_turned_to_before_the_supervisor_has_had_the_time_to_end_its_wait() -> None:
    order = advanced(feast({**PLANNED, "approve": "awaiting", "supplies": "completed", "rest": "completed"}))
    assert order.row.not_before == at(3_600) + LEFT_TO_SUPERVISOR
    assert not list(order.step_writes())


def test_a_delay_completes_by_itself_when_its_time_is_over() -> None:
    waits = {"state": "awaiting", "complete_by": None, "not_before": at(-1)}
    order = advanced(feast({**PLANNED, "approve": "completed", "supplies": "completed", "rest": waits}))
    assert standing(order.steps["rest"]) == ("completed", 1, 1, "done", None, None)
    assert requested_steps(order) == ["cook"]
    assert [write.result for write in order.step_writes()] == ["{}", None]
    assert "step_completed" in kinds(order)


def test_a_delay_until_a_moment_that_has_passed_completes_at_once() -> None:
    order = advanced(feast({**PLANNED, "rest": {"awaits_until": at(-5)}}))
    assert order.steps["rest"].state == "completed"
    assert {order.steps[name].state for name in ("approve", "supplies")} == {"awaiting"}


def test_a_delay_lasts_until_the_moment_that_the_order_names() -> None:
    order = advanced(feast({**PLANNED, "rest": {"awaits_until": at(7_000)}}))
    assert standing(order.steps["rest"]) == ("awaiting", 1, 0, "none", None, at(7_000))


@pytest.mark.pattern("C6")
def test_an_answer_completes_the_step_with_its_result() -> None:
    order = feast({**PLANNED, "approve": "awaiting", "supplies": "completed", "rest": "completed"})
    order.take(reply_to(order.steps["approve"], body={"choice": "accept", "by": "ada", "note": ""}), NOW)
    advanced(order)
    assert standing(order.steps["approve"]) == ("completed", 1, 1, "done", None, None)
    assert requested_steps(order) == ["cook"]
    assert (order.row.goal, order.row.process_state, order.row.locked_by) == ("complete", "processing", ME)


@pytest.mark.pattern("C10", "V4")
def test_a_choice_that_compensates_turns_the_goal_and_ends_the_other_waits() -> None:
    order = feast({**PLANNED, "approve": "awaiting", "supplies": "awaiting", "rest": "completed"})
    order.take(reply_to(order.steps["approve"], body={"choice": "reject", "by": "ada", "note": "no"}), NOW)
    advanced(order)
    assert order.row.goal == "compensate"
    assert (order.steps["supplies"].state, order.steps["supplies"].outcome) == ("not_started", "none")
    assert (requested_steps(order), order.new_requests[0].compensates) == (["plan"], True)
    turned = ["step_completed", "compensation_requested", "wait_ended"]
    assert [kind for kind in kinds(order) if kind in turned] == turned
    assert next(event.detail for event in order.events if event.kind == turned[1]) == {"why": "decided"}


def test_a_choice_that_compensates_also_ends_an_error() -> None:
    order = feast({"plan": "failed", "approve": "awaiting"}, process_state="error")
    order.take(reply_to(order.steps["approve"], body={"choice": "reject", "by": "ada", "note": ""}), NOW)
    advanced(order)
    assert order.is_resolved
    assert (order.row.goal, order.row.process_state) == ("compensate", "compensated")


def test_a_second_answer_changes_nothing() -> None:
    order = feast({**PLANNED, "approve": "awaiting"})
    first = reply_to(order.steps["approve"], body={"choice": "accept", "by": "ada", "note": ""})
    order.take(first, NOW)
    order.take(first._replace(id=2, body='{"choice": "reject", "by": "bob", "note": ""}'), NOW)
    assert (order.steps["approve"].state, order.row.goal) == ("completed", "complete")
    assert kinds(order) == ["step_completed", "reply_ignored"]


# --- answers that come later


@pytest.mark.pattern("C5", "A4")
def test_a_step_whose_answer_comes_later_is_parked_and_its_attempt_stays_unanswered() -> None:
    order = processing({"mix": {"state": "running", **ASKED}, "heat-oven": "completed"})
    take(order, "mix", "pending", body=LATER)
    advanced(order)
    mix = order.steps["mix"]
    assert standing(mix) == ("awaiting", 1, 0, "unknown", at(900), at(60))
    assert (mix.awaits, mix.awaits_until, mix.failure_count) == (
        {"kind": "answer", "reference": "job-7"},
        at(900),
        0,
    )
    assert (order.row.process_state, order.row.locked_by, order.row.not_before) == ("pending", None, at(60))
    assert kinds(order) == ["awaiting"]


def test_an_answer_that_overtakes_the_agents_own_wins() -> None:
    order = processing({"mix": {"state": "running", **ASKED}})
    called_back = reply_to(order.steps["mix"], body={"late": True})
    pending = reply_to(order.steps["mix"], "pending", LATER, id=2)
    order.take(called_back, NOW)
    order.take(pending, NOW)
    assert order.steps["mix"].state == "completed"
    assert kinds(order) == ["step_completed", "reply_ignored"]


def test_the_answer_counts_for_the_attempt_that_was_parked() -> None:
    order = processing({"mix": {"state": "running", **ASKED}})
    take(order, "mix", "pending", body=LATER)
    take(order, "mix", body={"late": True})
    assert standing(order.steps["mix"]) == ("completed", 1, 1, "done", None, None)


@pytest.mark.pattern("A3", "A7")
def test_when_the_agent_is_to_ask_again_the_same_key_is_sent_as_a_repeat() -> None:
    parked = {
        "state": "awaiting",
        **ASKED,
        "complete_by": at(900),
        "awaits_until": at(900),
        "not_before": at(-1),
    }
    order = advanced(
        processing({"mix": {**parked, "awaits": {"kind": "answer"}}, "heat-oven": "completed"}), 0
    )
    (request,) = order.new_requests
    assert (request.key, request.is_repeat) == (order.steps["mix"].key(), True)
    assert (order.steps["mix"].state, order.steps["mix"].attempt) == ("running", 2)
    assert (order.steps["mix"].sent_at, order.steps["mix"].awaits_until) == (at(-9), at(900))


def test_the_time_for_an_answer_counts_from_the_first_time_that_it_was_put_off() -> None:
    order = processing({"mix": {"state": "running", **ASKED, "attempt": 2, "awaits_until": at(100)}})
    take(order, "mix", "pending", body=LATER)
    assert (order.steps["mix"].complete_by, order.steps["mix"].not_before) == (at(100), at(60))


def test_a_new_generation_has_its_time_for_an_answer_from_the_start() -> None:
    order = advanced(processing({"mix": {"awaits_until": at(100), "generation": 2}, "heat-oven": "running"}))
    assert (order.steps["mix"].state, order.steps["mix"].awaits_until) == ("running", None)


def test_an_agent_that_cannot_be_asked_again_leaves_the_step_where_an_answer_still_finds_it() -> None:
    order = processing(
        {"mix": {"state": "running", **ASKED, "attempt": 2, "answered": 1, "awaits_until": at(100)}}
    )
    take(order, "mix", "deferred", body={"code": "not_called", "message": "out"}, calls=0)
    mix = order.steps["mix"]
    assert (mix.state, mix.complete_by, mix.answered, mix.outcome) == ("awaiting", at(100), 1, "unknown")
    order.advance(NOW, lambda agent, is_retry: False)
    assert (order.steps["mix"].state, order.steps["mix"].waiting_since) == ("awaiting", NOW)
    take(order, "mix", body={"late": True})
    assert order.steps["mix"].state == "completed"


def test_a_parked_step_that_waits_for_its_agent_has_the_patience_of_any_other() -> None:
    parked = {"state": "awaiting", **ASKED, "complete_by": at(900_000), "awaits_until": at(900_000)}
    waits = {"not_before": at(-1), "waiting_since": at(-90_000), "wanted_since": at(-90_000)}
    order = processing({"mix": {**parked, **waits}, "heat-oven": "completed"})
    order.advance(NOW, lambda agent, is_retry: False)
    mix = order.steps["mix"]
    assert (mix.state, mix.complete_by, mix.waiting_since) == ("failed", None, None)
    assert (mix.error or {})["code"] == "agent_unavailable"


@pytest.mark.pattern("C10")
def test_an_effect_that_may_come_later_is_compensated_at_once_when_the_goal_turns() -> None:
    parked = {"state": "awaiting", **ASKED, "awaits": {"kind": "answer", "reference": "job-7"}}
    order = advanced(compensating({"mix": parked, "heat-oven": "completed"}))
    mix = order.steps["mix"]
    assert (mix.state, mix.attempt, mix.awaits_until) == ("compensating", 2, None)
    assert mix.awaits == {"kind": "answer", "reference": "job-7"}
    assert requested_steps(order) == ["mix"]
    assert order.new_requests[0].reverses == mix.key()
    assert "wait_ended" in kinds(order)


@pytest.mark.pattern("C10")
def test_an_answer_put_off_while_the_goal_turns_is_not_waited_for() -> None:
    order = compensating({"mix": {"state": "running", **ASKED}, "heat-oven": "completed"})
    take(order, "mix", "pending", body=LATER)
    advanced(order)
    assert (order.steps["mix"].state, order.steps["mix"].attempt) == ("compensating", 2)


@pytest.mark.pattern("C10")
def test_a_compensation_may_be_answered_later_too() -> None:
    order = compensating(
        {"mix": {"state": "compensating", "compensation_sent_at": at(-9)}, "heat-oven": "completed"}
    )
    take(order, "mix", "pending", body=LATER)
    advanced(order)
    mix = order.steps["mix"]
    assert (mix.state, mix.outcome, mix.complete_by, mix.not_before) == ("awaiting", "done", at(900), at(60))
    assert mix.is_backward
    assert (order.row.process_state, order.row.not_before) == ("pending", at(60))
    order.take(reply_to(mix, body={"gone": True}, compensates=True), NOW)
    assert order.steps["mix"].state == "compensated"


def test_a_step_that_the_supervisor_has_given_up_is_parked_by_an_answer_that_was_posted_in_time() -> None:
    order = processing({"mix": {"state": "not_started", **ASKED, "not_before": at(5), "failure_count": 1}})
    take(order, "mix", "pending", body=LATER)
    assert (order.steps["mix"].state, order.steps["mix"].failure_count) == ("awaiting", 1)


def test_a_step_that_has_failed_for_good_is_not_parked_any_more() -> None:
    failed = {"state": "failed", **ASKED, "answered": 0, "error": {"code": "timed_out"}}
    order = processing({"mix": failed}, workflow=CAKE.name)
    take(order, "mix", "pending", body=LATER)
    assert (order.steps["mix"].state, kinds(order)) == ("failed", ["reply_ignored"])


def test_parking_looks_again_within_the_hour_after_the_time_is_over() -> None:
    step = step_rows({"mix": {"state": "awaiting", "complete_by": at(-30)}})[0]
    assert parking.parked_until(step, NOW) == NOW + timedelta(hours=1)
