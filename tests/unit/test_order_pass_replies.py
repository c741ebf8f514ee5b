"""One order during one pass: what a reply changes, who is notified, and which replies change nothing."""

from typing import Any

import pytest

from orders.engine.alerts import NewAlert
from orders.engine.channels.status import Status
from orders.engine.scheduler.order_pass import OrderPass
from tests.support.workflows import BAKED, CAKE
from tests.unit.order_passes import DONE, kinds, order, processing, requested_steps, take, written
from tests.unit.rows import ME, NOW, ORDER, at, reply_to, step_row, step_rows

LATE_STATES = ["processing", "pending", "error", "processed", "compensated"]


# Replies


@pytest.mark.pattern("C6", "T5")
def test_a_reply_completes_its_step_keeps_its_answer_and_starts_the_next() -> None:
    order_pass = processing({"mix": "completed", "heat-oven": "running"})
    take(order_pass, "heat-oven", body={"celsius": 180})
    order_pass.advance(NOW)
    heated = order_pass.steps["heat-oven"]
    assert (heated.state, heated.outcome, heated.answered, heated.complete_by) == (
        "completed",
        "done",
        1,
        None,
    )
    assert [(write.step.name, write.result) for write in order_pass.step_writes()] == [
        ("heat-oven", '{"celsius": 180}'),
        ("bake", None),
    ]
    assert kinds(order_pass) == ["step_completed", "step_started"]


@pytest.mark.pattern("C6", "Q3")
def test_the_last_reply_finishes_the_order_frees_it_and_notifies_the_application() -> None:
    order_pass = processing(DONE | {"tell": "running"}, reply_to="shop")
    take(order_pass, "tell")
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.not_before) == (
        "processed",
        None,
        None,
    )
    assert order_pass.statuses == [Status("shop", ORDER, "completed", {})]
    assert kinds(order_pass) == ["step_completed", "processed"]


@pytest.mark.pattern("C3", "C9")
def test_taking_a_reply_takes_the_order_over_from_another_scheduler() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"}, locked_by="scheduler:dead")
    take(order_pass, "mix")
    order_pass.advance(NOW)
    assert (order_pass.row.locked_by, order_pass.row.complete_by, order_pass.row.process_state) == (
        ME,
        at(600),
        "processing",
    )


@pytest.mark.pattern("C9")
def test_an_order_continues_where_it_was_rather_than_from_the_beginning() -> None:
    order_pass = order(BAKED | {"decorate": "completed", "box": "running"}, started_at=at(-99))
    take(order_pass, "box")
    order_pass.advance(NOW)
    assert requested_steps(order_pass) == ["deliver"]
    assert order_pass.row.locked_by == ME


@pytest.mark.pattern("C6")
@pytest.mark.parametrize("state", ["not_started", "failed"])
def test_a_reply_read_after_the_supervisor_gave_up_on_its_attempt_still_counts(state: str) -> None:
    given_up = {"state": state, "attempt": 2, "answered": 1, "outcome": "unknown", "not_before": at(60)}
    order_pass = order({"mix": given_up, "heat-oven": "completed"}, started_at=at(-99))
    take(order_pass, "mix")
    order_pass.advance(NOW)
    assert (
        order_pass.steps["mix"].state,
        order_pass.steps["mix"].not_before,
        order_pass.steps["mix"].answered,
    ) == (
        "completed",
        None,
        2,
    )
    assert requested_steps(order_pass) == ["bake"]


@pytest.mark.pattern("A7")
def test_a_reply_for_an_earlier_attempt_changes_nothing() -> None:
    order_pass = processing({"mix": {"state": "running", "attempt": 2}, "heat-oven": "running"}, locked_by=ME)
    take(order_pass, "mix", attempt=1)
    order_pass.advance(NOW)
    assert (order_pass.row_changed(), written(order_pass), order_pass.new_requests) == (False, [], [])
    (event,) = order_pass.events
    assert (event.kind, event.step, event.attempt) == ("reply_ignored", "mix", 1)


@pytest.mark.pattern("A7")
def test_the_second_copy_of_a_reply_changes_nothing() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"})
    reply = reply_to(order_pass.steps["mix"])
    order_pass.take(reply, NOW)
    once = dict(order_pass.steps)
    order_pass.take(reply, NOW)
    assert order_pass.steps == once
    assert kinds(order_pass) == ["step_completed", "reply_ignored"]


@pytest.mark.pattern("A7")
@pytest.mark.parametrize("second", ["done", "refused", "failed", "declined"])
def test_of_two_answers_to_one_attempt_the_first_one_counts(second: str) -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"})
    reply = reply_to(order_pass.steps["mix"], "refused")
    order_pass.take(reply, NOW)
    order_pass.take(reply_to(step_row("mix", "running"), second), NOW)
    assert (order_pass.steps["mix"].state, order_pass.steps["mix"].outcome) == ("failed", "refused")


def test_a_reply_for_a_step_that_the_order_does_not_have_is_only_noted() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"}, locked_by=ME)
    order_pass.take(reply_to(step_row("mix", "running"), step_id=99), NOW)
    order_pass.advance(NOW)
    assert (order_pass.row_changed(), written(order_pass)) == (False, [])
    assert [(event.kind, event.step, event.attempt) for event in order_pass.events] == [
        ("reply_ignored", "", 1)
    ]


@pytest.mark.pattern("C6")
@pytest.mark.parametrize("process_state", LATE_STATES)
def test_a_reply_is_recorded_whatever_the_state_of_the_process(process_state: str) -> None:
    order_pass = order(process_state=process_state, started_at=at(-9), **_lock(process_state))
    order_pass = OrderPass(
        row=order_pass.row, steps=step_rows({"mix": "running"}), workflow=CAKE, instance=ME
    )
    take(order_pass, "mix")
    assert (order_pass.steps["mix"].state, written(order_pass)) == ("completed", ["mix"])


def _lock(process_state: str) -> dict[str, Any]:
    return {"locked_by": "scheduler:other", "complete_by": at(1)} if process_state == "processing" else {}


@pytest.mark.pattern("C7")
@pytest.mark.parametrize("process_state", ["error", "processed", "compensated"])
def test_an_order_that_has_ended_starts_nothing(process_state: str) -> None:
    order_pass = order({"mix": "running", "heat-oven": "completed"}, process_state=process_state)
    take(order_pass, "mix")
    order_pass.advance(NOW)
    assert (order_pass.row_changed(), order_pass.new_requests, order_pass.statuses, order_pass.alerts) == (
        False,
        [],
        [],
        [],
    )


# Faults


@pytest.mark.pattern("C7", "O1", "Q3")
def test_a_refusal_puts_the_order_into_error_with_an_alert_and_notifies_the_application() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"}, reply_to="shop")
    take(order_pass, "mix", "refused", body={"code": "no_flour", "message": "there is no flour"})
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.not_before) == (
        "error",
        None,
        None,
    )
    assert order_pass.alerts == [
        NewAlert(ORDER, "step_failed", "no_flour", "there is no flour", "mix", "kitchen")
    ]
    failure = {"step": "mix", "code": "no_flour", "message": "there is no flour"}
    assert order_pass.statuses == [Status("shop", ORDER, "failed", {"reason": "step_failed", **failure})]
    assert kinds(order_pass) == ["step_refused", "error"]


@pytest.mark.pattern("C7")
@pytest.mark.parametrize(("reply", "outcome"), [("refused", "refused"), ("failed", "unknown")])
def test_a_failed_step_keeps_its_known_outcome(reply: str, outcome: str) -> None:
    order_pass = processing({"mix": "running", "heat-oven": "completed"})
    take(order_pass, "mix", reply)
    assert order_pass.steps["mix"] == step_row(
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
def test_no_ready_step_starts_after_another_step_has_failed() -> None:
    order_pass = processing({"mix": "running"})
    take(order_pass, "mix", "refused")
    order_pass.advance(NOW)
    assert order_pass.new_requests == []


@pytest.mark.pattern("C7", "O1")
def test_two_steps_that_fail_in_one_pass_raise_one_alert() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"})
    take(order_pass, "mix", "refused")
    take(order_pass, "heat-oven", "failed")
    order_pass.advance(NOW)
    assert [alert.step for alert in order_pass.alerts] == ["mix"]


def test_an_earlier_error_is_cleared_when_the_step_succeeds() -> None:
    order_pass = processing({"mix": {"state": "running", "error": {"code": "no"}}, "heat-oven": "running"})
    take(order_pass, "mix")
    assert order_pass.steps["mix"].error is None


# Declined: the customer can resolve the refusal


@pytest.mark.pattern("V4")
def test_a_declined_step_waits_for_the_customer_and_the_order_is_free_meanwhile() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "completed"})
    take(order_pass, "mix", "declined")
    order_pass.advance(NOW)
    declined = order_pass.steps["mix"]
    assert (declined.state, declined.outcome, declined.not_before) == ("failed", "refused", at(60))
    assert declined.error == {"code": "no", "message": "it said no", "waits_for": "customer"}
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.not_before) == (
        "pending",
        None,
        at(60),
    )
    assert order_pass.alerts == []
    assert kinds(order_pass) == ["step_declined", "waiting"]


def test_an_order_stays_held_for_a_running_step_while_another_waits_for_the_customer() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"})
    take(order_pass, "mix", "declined")
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.not_before) == (
        "processing",
        ME,
        at(60),
    )


@pytest.mark.pattern("C10", "V4")
def test_an_order_that_the_customer_does_not_fix_in_time_is_compensated() -> None:
    declined = {"state": "failed", "not_before": NOW}
    order_pass = order({"mix": declined, "heat-oven": "completed"}, not_before=NOW, started_at=at(-60))
    order_pass.advance(NOW)
    assert (order_pass.row.goal, order_pass.row.process_state, order_pass.row.not_before) == (
        "compensate",
        "processing",
        None,
    )
    assert [request.key for request in order_pass.new_requests] == [f"{ORDER}/tell/1/undo"]
    assert kinds(order_pass) == ["claimed", "compensation_requested", "compensation_started"]


@pytest.mark.parametrize("exchange", ['{"status": 201, "answered": {}}', None])
def test_the_history_has_what_was_sent_and_answered_if_the_host_has_said_so(exchange: str | None) -> None:
    order_pass = processing({"mix": "completed", "heat-oven": "running"})
    order_pass.take(reply_to(order_pass.steps["heat-oven"], exchange=exchange), NOW)
    (event,) = [event for event in order_pass.events if event.kind == "step_completed"]
    assert (event.detail or {}).get("exchange") == (exchange and {"status": 201, "answered": {}})
