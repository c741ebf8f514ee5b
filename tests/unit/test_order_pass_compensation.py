"""One order that is being compensated, during one pass."""

from typing import Any

import pytest

from orders.engine.alerts import NewAlert
from orders.engine.channels.status import Status
from orders.engine.rows import StepRow
from tests.unit.order_passes import compensating, kinds, order, take, written
from tests.unit.rows import ME, NOW, ORDER, at, reply_to

# Compensating


@pytest.mark.pattern("C10", "Q3")
def test_the_last_compensation_ends_the_order_as_compensated_and_notifies_the_application() -> None:
    order_pass = compensating({"tell": "compensating"}, reply_to="shop")
    take(order_pass, "tell")
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.goal, order_pass.row.locked_by) == (
        "compensated",
        "compensate",
        None,
    )
    assert order_pass.statuses == [Status("shop", ORDER, "compensated", {})]
    assert kinds(order_pass) == ["step_compensated", "compensated"]


@pytest.mark.pattern("T5")
def test_the_answer_to_a_compensation_does_not_replace_the_answer_to_the_step() -> None:
    order_pass = compensating({"mix": "compensating"})
    take(order_pass, "mix", body={"thrown_away": True})
    assert [(write.step.state, write.result) for write in order_pass.step_writes()] == [("compensated", None)]
    assert order_pass.events[0].detail == {
        "answer": {"thrown_away": True},
        "calls": 1,
        "waited": 0.0,
        "seconds": 0.0,
        "instance": "agents:test",
    }


@pytest.mark.pattern("C10", "C7", "O1")
@pytest.mark.parametrize(
    ("outcome", "compensation_generation"), [("refused", 2), ("declined", 2), ("failed", 1)]
)
def test_a_compensation_that_fails_puts_the_order_into_error_with_an_alert_of_its_own_kind(
    outcome: str, compensation_generation: int
) -> None:
    order_pass = compensating({"mix": "compensating"}, reply_to="shop")
    take(order_pass, "mix", outcome)
    order_pass.advance(NOW)
    failed = order_pass.steps["mix"]
    assert (failed.state, failed.outcome, failed.compensation_failure_count) == ("failed", "done", 1)
    assert failed.compensation_generation == compensation_generation
    assert (order_pass.row.process_state, order_pass.row.failure_count, order_pass.row.locked_by) == (
        "error",
        1,
        None,
    )
    assert order_pass.alerts == [NewAlert(ORDER, "compensation_failed", "no", "it said no", "mix", "kitchen")]
    failure = {"reason": "compensation_failed", "step": "mix", "code": "no", "message": "it said no"}
    assert order_pass.statuses == [Status("shop", ORDER, "failed", failure)]
    assert kinds(order_pass) == ["compensation_failed", "error"]


@pytest.mark.pattern("C10")
def test_a_late_answer_to_the_forward_call_changes_nothing_once_its_compensation_was_sent() -> None:
    order_pass = compensating(
        {"mix": {"state": "compensating", "attempt": 3, "outcome": "unknown"}}, locked_by=ME
    )
    order_pass.take(reply_to(order_pass.steps["mix"], "done", attempt=2, compensates=False), NOW)
    order_pass.advance(NOW)
    assert (written(order_pass), kinds(order_pass)) == ([], ["reply_ignored"])


@pytest.mark.pattern("C10")
def test_a_forward_call_that_completes_while_the_order_is_compensated_is_compensated_at_once() -> None:
    order_pass = compensating({"mix": "completed", "heat-oven": "completed", "bake": "running"})
    take(order_pass, "bake")
    order_pass.advance(NOW)
    assert [request.key for request in order_pass.new_requests] == [f"{ORDER}/bake/1/undo"]


@pytest.mark.pattern("C10")
def test_a_forward_call_that_is_refused_while_the_order_is_compensated_is_no_error() -> None:
    order_pass = compensating({"mix": "completed", "heat-oven": "completed", "bake": "running"})
    take(order_pass, "bake", "refused")
    order_pass.advance(NOW)
    assert ([request.key for request in order_pass.new_requests], order_pass.alerts) == (
        [f"{ORDER}/mix/1/undo"],
        [],
    )


@pytest.mark.pattern("C10")
def test_a_call_that_may_still_take_effect_is_awaited_and_nobody_holds_the_order() -> None:
    unknown = {"state": "not_started", "attempt": 1, "outcome": "unknown", "settles_at": at(5)}
    order_pass = order({"mix": unknown}, goal="compensate", started_at=at(-60))
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.not_before, order_pass.new_requests) == (
        "pending",
        at(5),
        [],
    )


# Taking back requests that nobody has begun


@pytest.mark.pattern("C10")
def test_running_steps_of_an_order_being_compensated_can_be_taken_back() -> None:
    order_pass = compensating({"mix": "running", "heat-oven": "running", "bake": "not_started"})
    assert [step.name for step in order_pass.recallable()] == ["mix", "heat-oven"]


@pytest.mark.pattern("C10")
@pytest.mark.parametrize(
    "process",
    [{"goal": "complete"}, {"goal": "compensate", "process_state": "error", "locked_by": None}],
    ids=["the order goes forward", "the order is in Error"],
)
def test_no_request_is_taken_back_unless_the_order_is_being_compensated(process: dict[str, Any]) -> None:
    fields = {"process_state": "processing", "locked_by": ME, "complete_by": at(600)} | process
    assert order({"mix": "running"}, **fields).recallable() == []


@pytest.mark.pattern("C10")
@pytest.mark.parametrize(("attempt", "outcome"), [(1, "none"), (2, "unknown")])
def test_a_request_taken_back_before_any_agent_had_it_had_no_effect(attempt: int, outcome: str) -> None:
    """But an earlier attempt may have had one."""
    order_pass = compensating({"mix": {"state": "running", "attempt": attempt}})
    order_pass.recalled(order_pass.steps["mix"].id)
    back = order_pass.steps["mix"]
    assert (back.state, back.outcome, back.answered, back.complete_by) == (
        "not_started",
        outcome,
        attempt,
        None,
    )
    assert kinds(order_pass) == ["step_recalled"]


@pytest.mark.pattern("C10")
def test_an_order_whose_only_request_was_taken_back_is_compensated_without_waiting() -> None:
    order_pass = compensating({"mix": "running"})
    order_pass.recalled(order_pass.steps["mix"].id)
    order_pass.advance(NOW)
    assert [request.key for request in order_pass.new_requests] == [f"{ORDER}/tell/1/undo"]


@pytest.mark.pattern("A7")
def test_a_reply_to_a_request_that_was_taken_back_changes_nothing() -> None:
    order_pass = compensating({"mix": "running"})
    reply = reply_to(order_pass.steps["mix"])
    order_pass.recalled(order_pass.steps["mix"].id)
    recalled: StepRow = order_pass.steps["mix"]
    order_pass.take(reply, NOW)
    assert order_pass.steps["mix"] is recalled
