"""One order during one pass: what a reply does to it, who is told what, and what changes nothing."""

from typing import Any

import pytest

from orders.engine.alerts import NewAlert
from orders.engine.channels.status import Status
from orders.engine.scheduler.order_pass import OrderPass
from tests.support.workflows import BAKED, CAKE
from tests.unit.order_passes import DONE, asked, kinds, order, processing, take, written
from tests.unit.rows import ME, NOW, ORDER, at, reply_to, step_row, step_rows

LATE_STATES = ["processing", "pending", "error", "processed", "compensated"]


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
def test_the_last_reply_finishes_the_order_frees_it_and_notifies_the_application() -> None:
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
def test_an_order_continues_where_it_was_rather_than_from_the_beginning() -> None:
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
def test_a_refusal_puts_the_order_into_error_with_an_alert_and_notifies_the_application() -> None:
    one = processing({"mix": "running", "heat-oven": "running"}, reply_to="shop")
    take(one, "mix", "refused", body={"code": "no_flour", "message": "there is no flour"})
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("error", None, None)
    assert one.alerts == [NewAlert(ORDER, "step_failed", "no_flour", "there is no flour", "mix", "kitchen")]
    assert one.statuses == [Status("shop", ORDER, "failed", {"step": "mix", "code": "no_flour"})]
    assert kinds(one) == ["step_refused", "error"]


@pytest.mark.pattern("C7")
@pytest.mark.parametrize(("reply", "outcome"), [("refused", "refused"), ("failed", "unknown")])
def test_a_failed_step_keeps_its_known_outcome(reply: str, outcome: str) -> None:
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
def test_no_ready_step_starts_after_another_step_has_failed() -> None:
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


def test_an_earlier_error_is_cleared_when_the_step_succeeds() -> None:
    one = processing({"mix": {"state": "running", "error": {"code": "no"}}, "heat-oven": "running"})
    take(one, "mix")
    assert one.steps["mix"].error is None


# Declined: the customer can resolve it


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


def test_an_order_stays_held_for_a_running_step_while_another_waits_for_the_customer() -> None:
    one = processing({"mix": "running", "heat-oven": "running"})
    take(one, "mix", "declined")
    one.advance(NOW)
    assert (one.row.process_state, one.row.locked_by, one.row.not_before) == ("processing", ME, at(60))


@pytest.mark.pattern("C10", "V4")
def test_an_order_that_the_customer_does_not_fix_in_time_is_compensated() -> None:
    declined = {"state": "failed", "not_before": NOW}
    one = order({"mix": declined, "heat-oven": "completed"}, not_before=NOW, started_at=at(-60))
    one.advance(NOW)
    assert (one.row.goal, one.row.process_state, one.row.not_before) == ("compensate", "processing", None)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/tell/1/undo"]
    assert kinds(one) == ["claimed", "compensation_requested", "compensation_started"]
