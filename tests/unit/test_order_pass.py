"""One order during one pass: what a reply does to it, what is started, who is told what, and what changes nothing."""

from collections.abc import Mapping
from typing import Any

import pytest

from orders.engine.alerts import NewAlert
from orders.engine.channels.requests import NewRequest
from orders.engine.channels.status import Status
from orders.engine.errors import WorkflowError
from orders.engine.rows import StepRow
from orders.engine.scheduler.order_pass import OrderPass
from tests.support.workflows import CAKE
from tests.unit.rows import ME, NOW, ORDER, at, process_row, reply_to, step_row, step_rows

DONE = {step.name: "completed" for step in CAKE.steps}
BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
LATE_STATES = ["processing", "pending", "error", "processed", "compensated"]


def order(states: Mapping[str, str | Mapping[str, Any]] | None = None, **process: Any) -> OrderPass:
    return OrderPass(row=process_row(**process), steps=step_rows(states), workflow=CAKE, instance=ME)


def processing(states: Mapping[str, str | Mapping[str, Any]] | None = None, **process: Any) -> OrderPass:
    return order(states, process_state="processing", **process)


def kinds(one: OrderPass) -> list[str]:
    return [event.kind for event in one.events]


def written(one: OrderPass) -> list[str]:
    return [write.step.name for write in one.step_writes()]


def asked(one: OrderPass) -> list[str]:
    names = {step.id: name for name, step in one.steps.items()}
    return [names[request.step_id] for request in one.new_requests]


def take(one: OrderPass, name: str, outcome: str = "done", **fields: Any) -> None:
    one.take(reply_to(one.steps[name], outcome, **fields), NOW)


def undoing(states: Mapping[str, str | Mapping[str, Any]], **process: Any) -> OrderPass:
    return processing(states, goal="compensate", **process)


# Claiming


@pytest.mark.pattern("C2")
def test_a_new_order_is_claimed_and_its_first_steps_are_started() -> None:
    one = order()
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.complete_by) == ("processing", ME, at(600))
    assert (one.row.started_at, one.row.not_before) == (NOW, None)
    assert asked(one) == ["mix", "heat-oven"]
    assert kinds(one) == ["claimed", "step_started", "step_started"]


@pytest.mark.pattern("C1", "T4")
def test_a_started_step_is_running_with_a_complete_by_of_its_own() -> None:
    one = order()
    one.advance(NOW)
    assert one.steps["mix"] == step_row(
        "mix",
        {
            "state": "running",
            "attempt": 1,
            "outcome": "unknown",
            "complete_by": at(30),
            "settles_at": at(35),
            "sent_at": NOW,
        },
    )
    assert [(write.step.name, write.read_attempt, write.result) for write in one.step_writes()] == [
        ("mix", 0, None),
        ("heat-oven", 0, None),
    ]


@pytest.mark.pattern("C5", "A3")
def test_a_request_carries_operation_key_needs_and_the_orders_priority() -> None:
    one = processing(BAKED | {"decorate": "completed", "box": "completed"}, priority=8)
    one.advance(NOW)
    assert one.new_requests == [
        NewRequest(
            step_id=6,
            operation="deliver-it",
            needs="bake,box",
            undo=False,
            key=f"{ORDER}/deliver/1",
            reverses="",
            priority=8,
        )
    ]


@pytest.mark.pattern("Q3")
def test_the_application_is_told_once_that_its_order_was_started() -> None:
    one = order(reply_to="shop")
    one.advance(NOW)
    assert one.statuses == [Status("shop", ORDER, "started", {})]
    again = order({"mix": "running"}, reply_to="shop", started_at=at(-9))
    again.advance(NOW)
    assert again.statuses == []


def test_an_order_that_comes_back_keeps_the_time_it_was_started_at() -> None:
    one = order(started_at=at(-900))
    one.advance(NOW)
    assert one.row.started_at == at(-900)


def test_an_order_with_nothing_to_do_is_not_written() -> None:
    one = processing({"mix": "running", "heat-oven": "running"}, locked_by=ME)
    one.advance(NOW)
    assert (one.row_changed(), written(one), one.new_requests, one.events) == (False, [], [], [])


# Replies


@pytest.mark.pattern("C6", "T5")
def test_a_reply_completes_its_step_keeps_its_answer_and_starts_the_next() -> None:
    one = processing({"mix": "completed", "heat-oven": "running"})
    take(one, "heat-oven", body={"celsius": 180})
    one.advance(NOW)
    heated = one.steps["heat-oven"]
    assert (heated.state, heated.outcome, heated.answered, heated.complete_by) == (
        "completed",
        "done",
        1,
        None,
    )
    assert [(write.step.name, write.result) for write in one.step_writes()] == [
        ("heat-oven", '{"celsius": 180}'),
        ("bake", None),
    ]
    assert kinds(one) == ["step_completed", "step_started"]


@pytest.mark.pattern("C6", "Q3")
def test_the_last_reply_finishes_the_order_frees_it_and_tells_the_application() -> None:
    one = processing(DONE | {"tell": "running"}, reply_to="shop")
    take(one, "tell")
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("processed", None, None)
    assert one.statuses == [Status("shop", ORDER, "completed", {})]
    assert kinds(one) == ["step_completed", "processed"]


@pytest.mark.pattern("C3", "C9")
def test_taking_a_reply_takes_the_order_over_from_another_scheduler() -> None:
    one = processing({"mix": "running", "heat-oven": "running"}, locked_by="scheduler:dead")
    take(one, "mix")
    one.advance(NOW)
    assert (one.row.locked_by, one.row.complete_by, one.row.process_state) == (ME, at(600), "processing")


@pytest.mark.pattern("C9")
def test_an_order_goes_on_from_where_it_was_and_not_from_the_beginning() -> None:
    one = order(BAKED | {"decorate": "completed", "box": "running"}, started_at=at(-99))
    take(one, "box")
    one.advance(NOW)
    assert asked(one) == ["deliver"]
    assert one.row.locked_by == ME


@pytest.mark.pattern("C6")
@pytest.mark.parametrize("state", ["not_started", "failed"])
def test_a_reply_read_after_the_supervisor_gave_up_on_its_attempt_still_counts(state: str) -> None:
    given_up = {"state": state, "attempt": 2, "answered": 1, "outcome": "unknown", "not_before": at(60)}
    one = order({"mix": given_up, "heat-oven": "completed"}, started_at=at(-99))
    take(one, "mix")
    one.advance(NOW)
    assert (one.steps["mix"].state, one.steps["mix"].not_before, one.steps["mix"].answered) == (
        "completed",
        None,
        2,
    )
    assert asked(one) == ["bake"]


@pytest.mark.pattern("A7")
def test_a_reply_for_an_earlier_attempt_changes_nothing() -> None:
    one = processing({"mix": {"state": "running", "attempt": 2}, "heat-oven": "running"}, locked_by=ME)
    take(one, "mix", attempt=1)
    one.advance(NOW)
    assert (one.row_changed(), written(one), one.new_requests) == (False, [], [])
    (event,) = one.events
    assert (event.kind, event.step, event.attempt) == ("reply_ignored", "mix", 1)


@pytest.mark.pattern("A7")
def test_the_second_copy_of_a_reply_changes_nothing() -> None:
    one = processing({"mix": "running", "heat-oven": "running"})
    reply = reply_to(one.steps["mix"])
    one.take(reply, NOW)
    once = dict(one.steps)
    one.take(reply, NOW)
    assert one.steps == once
    assert kinds(one) == ["step_completed", "reply_ignored"]


@pytest.mark.pattern("A7")
@pytest.mark.parametrize("second", ["done", "refused", "failed", "declined"])
def test_of_two_answers_to_one_attempt_the_first_one_counts(second: str) -> None:
    one = processing({"mix": "running", "heat-oven": "running"})
    reply = reply_to(one.steps["mix"], "refused")
    one.take(reply, NOW)
    one.take(reply_to(step_row("mix", "running"), second), NOW)
    assert (one.steps["mix"].state, one.steps["mix"].outcome) == ("failed", "refused")


def test_a_reply_for_a_step_that_the_order_does_not_have_is_only_noted() -> None:
    one = processing({"mix": "running", "heat-oven": "running"}, locked_by=ME)
    one.take(reply_to(step_row("mix", "running"), step_id=99), NOW)
    one.advance(NOW)
    assert (one.row_changed(), written(one)) == (False, [])
    assert [(event.kind, event.step, event.attempt) for event in one.events] == [("reply_ignored", "", 1)]


@pytest.mark.pattern("C6")
@pytest.mark.parametrize("process_state", LATE_STATES)
def test_a_reply_is_recorded_whatever_the_state_of_the_process(process_state: str) -> None:
    one = order(process_state=process_state, started_at=at(-9), **_lock(process_state))
    one = OrderPass(row=one.row, steps=step_rows({"mix": "running"}), workflow=CAKE, instance=ME)
    take(one, "mix")
    assert (one.steps["mix"].state, written(one)) == ("completed", ["mix"])


def _lock(process_state: str) -> dict[str, Any]:
    return {"locked_by": "scheduler:other", "complete_by": at(1)} if process_state == "processing" else {}


@pytest.mark.pattern("C7")
@pytest.mark.parametrize("process_state", ["error", "processed", "compensated"])
def test_an_order_that_has_ended_starts_nothing(process_state: str) -> None:
    one = order({"mix": "running", "heat-oven": "completed"}, process_state=process_state)
    take(one, "mix")
    one.advance(NOW)
    assert (one.row_changed(), one.new_requests, one.statuses, one.alerts) == (False, [], [], [])


# Faults


@pytest.mark.pattern("C7", "O1", "Q3")
def test_a_refusal_puts_the_order_into_error_with_an_alert_and_tells_the_application() -> None:
    one = processing({"mix": "running", "heat-oven": "running"}, reply_to="shop")
    take(one, "mix", "refused", body={"code": "no_flour", "message": "there is no flour"})
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("error", None, None)
    assert one.alerts == [NewAlert(ORDER, "step_failed", "no_flour", "there is no flour", "mix", "kitchen")]
    assert one.statuses == [Status("shop", ORDER, "failed", {"step": "mix", "code": "no_flour"})]
    assert kinds(one) == ["step_refused", "error"]


@pytest.mark.pattern("C7")
@pytest.mark.parametrize(("reply", "outcome"), [("refused", "refused"), ("failed", "unknown")])
def test_a_failed_step_keeps_what_is_known_of_its_effect(reply: str, outcome: str) -> None:
    one = processing({"mix": "running", "heat-oven": "completed"})
    take(one, "mix", reply)
    assert one.steps["mix"] == step_row(
        "mix",
        {
            "state": "failed",
            "attempt": 1,
            "answered": 1,
            "outcome": outcome,
            "settles_at": at(35),
            "error": {"code": "no", "message": "it said no"},
        },
    )


@pytest.mark.pattern("C7")
def test_a_step_that_failed_starts_nothing_that_was_ready() -> None:
    one = processing({"mix": "running"})
    take(one, "mix", "refused")
    one.advance(NOW)
    assert one.new_requests == []


@pytest.mark.pattern("C7", "O1")
def test_two_steps_that_fail_in_one_pass_raise_one_alert() -> None:
    one = processing({"mix": "running", "heat-oven": "running"})
    take(one, "mix", "refused")
    take(one, "heat-oven", "failed")
    one.advance(NOW)
    assert [alert.step for alert in one.alerts] == ["mix"]


def test_what_had_been_wrong_is_forgotten_when_the_step_succeeds() -> None:
    one = processing({"mix": {"state": "running", "error": {"code": "no"}}, "heat-oven": "running"})
    take(one, "mix")
    assert one.steps["mix"].error is None


# Declined: the customer can mend it


@pytest.mark.pattern("V4")
def test_a_declined_step_waits_for_the_customer_and_the_order_is_free_meanwhile() -> None:
    one = processing({"mix": "running", "heat-oven": "completed"})
    take(one, "mix", "declined")
    one.advance(NOW)
    declined = one.steps["mix"]
    assert (declined.state, declined.outcome, declined.not_before) == ("failed", "refused", at(60))
    assert declined.error == {"code": "no", "message": "it said no", "waits_for": "customer"}
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("pending", None, at(60))
    assert one.alerts == []
    assert kinds(one) == ["step_declined", "waiting"]


def test_while_one_step_waits_for_the_customer_the_order_is_held_for_what_runs() -> None:
    one = processing({"mix": "running", "heat-oven": "running"})
    take(one, "mix", "declined")
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("processing", ME, at(60))


@pytest.mark.pattern("C10", "V4")
def test_an_order_that_the_customer_did_not_mend_in_time_is_undone() -> None:
    declined = {"state": "failed", "not_before": NOW}
    one = order({"mix": declined, "heat-oven": "completed"}, not_before=NOW, started_at=at(-60))
    one.advance(NOW)
    assert (one.row.goal, one.row.process_state, one.row.not_before) == ("compensate", "processing", None)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/tell/1/undo"]
    assert kinds(one) == ["claimed", "undo_requested", "undo_started"]


# Waiting


@pytest.mark.pattern("V2", "V4")
def test_an_order_with_nothing_under_way_is_pending_until_its_earliest_wait_is_over() -> None:
    waits = BAKED | {"decorate": {"not_before": at(120)}, "box": {"not_before": at(40)}}
    one = processing(waits)
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("pending", None, at(40))
    assert kinds(one) == ["waiting"]


def test_an_order_that_goes_on_waiting_says_so_only_once() -> None:
    one = order(BAKED | {"decorate": {"not_before": at(40)}, "box": "completed"}, not_before=at(40))
    one.advance(NOW)
    assert (one.row_changed(), one.events) == (False, [])


def test_an_order_with_something_under_way_stays_claimable_when_its_earliest_wait_is_over() -> None:
    one = processing(BAKED | {"decorate": {"not_before": at(40)}, "box": "running"})
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("processing", ME, at(40))


def test_a_wait_that_is_over_is_forgotten_when_its_step_is_started() -> None:
    one = processing(BAKED | {"decorate": {"not_before": NOW}, "box": "running"}, not_before=NOW)
    one.advance(NOW)
    assert (one.row.not_before, one.steps["decorate"].not_before, asked(one)) == (None, None, ["decorate"])


# The order's own complete-by


@pytest.mark.pattern("C8")
@pytest.mark.parametrize("complete_by", [0, -60])
def test_an_order_past_its_complete_by_records_the_reply_and_starts_nothing(complete_by: float) -> None:
    one = processing({"mix": "running", "heat-oven": "completed"}, complete_by=at(complete_by))
    take(one, "mix")
    one.advance(NOW)
    assert (one.steps["mix"].state, one.new_requests) == ("completed", [])
    assert (one.row.process_state, one.row.locked_by) == ("processing", "scheduler:other")


@pytest.mark.pattern("C8")
def test_an_order_past_its_complete_by_is_not_finished_either() -> None:
    one = processing(DONE, complete_by=NOW)
    one.advance(NOW)
    assert one.row.process_state == "processing"


@pytest.mark.pattern("C8")
def test_an_order_past_its_complete_by_does_not_go_on_asking_for_a_scheduler() -> None:
    """A claim takes what has a `not_before` in the past; left there, every pass would take this order again."""
    one = processing(BAKED | {"box": "running"}, complete_by=at(-1), not_before=at(-1))
    one.advance(NOW)
    assert one.row.not_before is None


@pytest.mark.pattern("C8", "V2")
def test_an_order_given_back_by_the_supervisor_gets_a_new_complete_by() -> None:
    one = order({"mix": "completed", "heat-oven": "completed"}, complete_by=at(-1), started_at=at(-700))
    one.advance(NOW)
    assert (one.row.process_state, one.row.complete_by, asked(one)) == ("processing", at(600), ["bake"])


# Retries and keys (rule 5)


@pytest.mark.pattern("A3", "A7")
def test_an_automatic_retry_is_a_new_attempt_with_the_same_key() -> None:
    one = order({"mix": {"attempt": 2, "outcome": "unknown"}, "heat-oven": "completed"}, started_at=at(-60))
    one.advance(NOW)
    assert one.steps["mix"].attempt == 3
    assert [request.key for request in one.new_requests] == [f"{ORDER}/mix/1"]


def test_what_is_left_of_the_request_of_an_earlier_attempt_is_discarded() -> None:
    one = order({"mix": {"attempt": 2, "outcome": "unknown"}}, started_at=at(-60))
    one.advance(NOW)
    assert one.superseded == [one.steps["mix"].id]


@pytest.mark.pattern("A3", "O2")
def test_the_next_generation_has_a_key_of_its_own() -> None:
    one = order({"mix": {"attempt": 1, "answered": 1, "generation": 2}, "heat-oven": "completed"})
    one.advance(NOW)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/mix/2"]


@pytest.mark.pattern("A3", "C10", "T5")
def test_an_undo_names_the_forward_key_and_carries_the_steps_own_result() -> None:
    one = undoing(BAKED | {"bake": {"state": "completed", "generation": 2}})
    one.advance(NOW)
    assert one.new_requests == [
        NewRequest(
            step_id=3,
            operation="bake-it",
            needs="mix,bake",
            undo=True,
            key=f"{ORDER}/bake/2/undo",
            reverses=f"{ORDER}/bake/2",
            priority=5,
        )
    ]
    undone = one.steps["bake"]
    assert (undone.state, undone.attempt, undone.outcome, undone.complete_by) == (
        "compensating",
        2,
        "done",
        at(30),
    )


@pytest.mark.pattern("A3", "C10")
def test_an_undo_that_was_refused_is_tried_again_under_another_key() -> None:
    one = undoing({"mix": "compensating", "heat-oven": "completed"})
    take(one, "mix", "refused")
    step = one.steps["mix"]
    assert (step.compensation_key(), step.key()) == (f"{ORDER}/mix/1/undo2", f"{ORDER}/mix/1")


@pytest.mark.pattern("A3", "C10")
def test_an_undo_whose_outcome_is_unknown_keeps_its_key() -> None:
    one = undoing({"mix": "compensating", "heat-oven": "completed"})
    take(one, "mix", "failed")
    assert one.steps["mix"].compensation_key() == f"{ORDER}/mix/1/undo"


# Undoing


@pytest.mark.pattern("C10", "Q3")
def test_the_last_undo_ends_the_order_as_compensated_and_tells_the_application() -> None:
    one = undoing({"tell": "compensating"}, reply_to="shop")
    take(one, "tell")
    one.advance(NOW)
    assert (one.row.process_state, one.row.goal, one.row.locked_by) == ("compensated", "compensate", None)
    assert one.statuses == [Status("shop", ORDER, "compensated", {})]
    assert kinds(one) == ["step_compensated", "compensated"]


@pytest.mark.pattern("T5")
def test_the_answer_to_an_undo_does_not_replace_the_answer_to_the_step() -> None:
    one = undoing({"mix": "compensating"})
    take(one, "mix", body={"thrown_away": True})
    assert [(write.step.state, write.result) for write in one.step_writes()] == [("compensated", None)]
    assert one.events[0].detail == {
        "answer": {"thrown_away": True},
        "calls": 1,
        "waited": 0.0,
        "seconds": 0.0,
        "instance": "agents:test",
    }


@pytest.mark.pattern("C10", "C7", "O1")
@pytest.mark.parametrize(("outcome", "undo_generation"), [("refused", 2), ("declined", 2), ("failed", 1)])
def test_an_undo_that_fails_puts_the_order_into_error_with_an_alert_of_its_own_kind(
    outcome: str, undo_generation: int
) -> None:
    one = undoing({"mix": "compensating"}, reply_to="shop")
    take(one, "mix", outcome)
    one.advance(NOW)
    failed = one.steps["mix"]
    assert (failed.state, failed.outcome, failed.undo_failure_count) == ("failed", "done", 1)
    assert failed.undo_generation == undo_generation
    assert (one.row.process_state, one.row.failure_count, one.row.locked_by) == ("error", 1, None)
    assert one.alerts == [NewAlert(ORDER, "compensation_failed", "no", "it said no", "mix", "kitchen")]
    assert one.statuses == [Status("shop", ORDER, "failed", {"step": "mix", "code": "no"})]
    assert kinds(one) == ["undo_failed", "error"]


@pytest.mark.pattern("C10")
def test_a_late_answer_to_the_forward_call_changes_nothing_once_its_undo_was_sent() -> None:
    one = undoing({"mix": {"state": "compensating", "attempt": 3, "outcome": "unknown"}}, locked_by=ME)
    one.take(reply_to(one.steps["mix"], "done", attempt=2, undo=False), NOW)
    one.advance(NOW)
    assert (written(one), kinds(one)) == ([], ["reply_ignored"])


@pytest.mark.pattern("C10")
def test_a_forward_call_that_completes_while_the_order_is_undone_is_undone_at_once() -> None:
    one = undoing({"mix": "completed", "heat-oven": "completed", "bake": "running"})
    take(one, "bake")
    one.advance(NOW)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/bake/1/undo"]


@pytest.mark.pattern("C10")
def test_a_forward_call_that_is_refused_while_the_order_is_undone_is_no_error() -> None:
    one = undoing({"mix": "completed", "heat-oven": "completed", "bake": "running"})
    take(one, "bake", "refused")
    one.advance(NOW)
    assert ([request.key for request in one.new_requests], one.alerts) == ([f"{ORDER}/mix/1/undo"], [])


@pytest.mark.pattern("C10")
def test_a_call_that_may_still_land_is_waited_for_and_nobody_holds_the_order() -> None:
    unknown = {"state": "not_started", "attempt": 1, "outcome": "unknown", "settles_at": at(5)}
    one = order({"mix": unknown}, goal="compensate", started_at=at(-60))
    one.advance(NOW)
    assert (one.row.process_state, one.row.not_before, one.new_requests) == ("pending", at(5), [])


# Taking back what nobody has begun


@pytest.mark.pattern("C10")
def test_what_runs_of_an_order_that_is_undone_can_be_taken_back() -> None:
    one = undoing({"mix": "running", "heat-oven": "running", "bake": "not_started"})
    assert [step.name for step in one.recallable()] == ["mix", "heat-oven"]


@pytest.mark.pattern("C10")
@pytest.mark.parametrize(
    "process",
    [{"goal": "complete"}, {"goal": "compensate", "process_state": "error", "locked_by": None}],
    ids=["the order goes forward", "the order is in Error"],
)
def test_nothing_is_taken_back_unless_the_order_is_being_undone(process: dict[str, Any]) -> None:
    fields = {"process_state": "processing", "locked_by": ME, "complete_by": at(600)} | process
    assert order({"mix": "running"}, **fields).recallable() == []


@pytest.mark.pattern("C10")
@pytest.mark.parametrize(("attempt", "outcome"), [(1, "none"), (2, "unknown")])
def test_a_request_taken_back_before_any_agent_had_it_has_done_nothing(attempt: int, outcome: str) -> None:
    """But an attempt before it may have."""
    one = undoing({"mix": {"state": "running", "attempt": attempt}})
    one.recalled(one.steps["mix"].id)
    back = one.steps["mix"]
    assert (back.state, back.outcome, back.answered, back.complete_by) == (
        "not_started",
        outcome,
        attempt,
        None,
    )
    assert kinds(one) == ["step_recalled"]


@pytest.mark.pattern("C10")
def test_an_order_whose_only_request_was_taken_back_is_undone_without_waiting() -> None:
    one = undoing({"mix": "running"})
    one.recalled(one.steps["mix"].id)
    one.advance(NOW)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/tell/1/undo"]


@pytest.mark.pattern("A7")
def test_a_reply_to_a_request_that_was_taken_back_changes_nothing() -> None:
    one = undoing({"mix": "running"})
    reply = reply_to(one.steps["mix"])
    one.recalled(one.steps["mix"].id)
    recalled: StepRow = one.steps["mix"]
    one.take(reply, NOW)
    assert one.steps["mix"] is recalled


# What cannot be


def test_stored_steps_of_another_workflow_are_an_error_for_the_batch_to_isolate() -> None:
    one = OrderPass(row=process_row(), steps=step_rows()[:3], workflow=CAKE, instance=ME)
    with pytest.raises(WorkflowError):
        one.advance(NOW)
