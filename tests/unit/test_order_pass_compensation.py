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
    one = compensating({"tell": "compensating"}, reply_to="shop")
    take(one, "tell")
    one.advance(NOW)
    assert (one.row.process_state, one.row.goal, one.row.locked_by) == ("compensated", "compensate", None)
    assert one.statuses == [Status("shop", ORDER, "compensated", {})]
    assert kinds(one) == ["step_compensated", "compensated"]


@pytest.mark.pattern("T5")
def test_the_answer_to_a_compensation_does_not_replace_the_answer_to_the_step() -> None:
    one = compensating({"mix": "compensating"})
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
@pytest.mark.parametrize(
    ("outcome", "compensation_generation"), [("refused", 2), ("declined", 2), ("failed", 1)]
)
def test_a_compensation_that_fails_puts_the_order_into_error_with_an_alert_of_its_own_kind(
    outcome: str, compensation_generation: int
) -> None:
    one = compensating({"mix": "compensating"}, reply_to="shop")
    take(one, "mix", outcome)
    one.advance(NOW)
    failed = one.steps["mix"]
    assert (failed.state, failed.outcome, failed.compensation_failure_count) == ("failed", "done", 1)
    assert failed.compensation_generation == compensation_generation
    assert (one.row.process_state, one.row.failure_count, one.row.locked_by) == ("error", 1, None)
    assert one.alerts == [NewAlert(ORDER, "compensation_failed", "no", "it said no", "mix", "kitchen")]
    assert one.statuses == [Status("shop", ORDER, "failed", {"step": "mix", "code": "no"})]
    assert kinds(one) == ["compensation_failed", "error"]


@pytest.mark.pattern("C10")
def test_a_late_answer_to_the_forward_call_changes_nothing_once_its_compensation_was_sent() -> None:
    one = compensating({"mix": {"state": "compensating", "attempt": 3, "outcome": "unknown"}}, locked_by=ME)
    one.take(reply_to(one.steps["mix"], "done", attempt=2, compensates=False), NOW)
    one.advance(NOW)
    assert (written(one), kinds(one)) == ([], ["reply_ignored"])


@pytest.mark.pattern("C10")
def test_a_forward_call_that_completes_while_the_order_is_compensated_is_compensated_at_once() -> None:
    one = compensating({"mix": "completed", "heat-oven": "completed", "bake": "running"})
    take(one, "bake")
    one.advance(NOW)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/bake/1/undo"]


@pytest.mark.pattern("C10")
def test_a_forward_call_that_is_refused_while_the_order_is_compensated_is_no_error() -> None:
    one = compensating({"mix": "completed", "heat-oven": "completed", "bake": "running"})
    take(one, "bake", "refused")
    one.advance(NOW)
    assert ([request.key for request in one.new_requests], one.alerts) == ([f"{ORDER}/mix/1/undo"], [])


@pytest.mark.pattern("C10")
def test_a_call_that_may_still_take_effect_is_awaited_and_nobody_holds_the_order() -> None:
    unknown = {"state": "not_started", "attempt": 1, "outcome": "unknown", "settles_at": at(5)}
    one = order({"mix": unknown}, goal="compensate", started_at=at(-60))
    one.advance(NOW)
    assert (one.row.process_state, one.row.not_before, one.new_requests) == ("pending", at(5), [])


# Taking back what nobody has begun


@pytest.mark.pattern("C10")
def test_running_steps_of_an_order_being_compensated_can_be_taken_back() -> None:
    one = compensating({"mix": "running", "heat-oven": "running", "bake": "not_started"})
    assert [step.name for step in one.recallable()] == ["mix", "heat-oven"]


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
    """But an attempt before it may have."""
    one = compensating({"mix": {"state": "running", "attempt": attempt}})
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
def test_an_order_whose_only_request_was_taken_back_is_compensated_without_waiting() -> None:
    one = compensating({"mix": "running"})
    one.recalled(one.steps["mix"].id)
    one.advance(NOW)
    assert [request.key for request in one.new_requests] == [f"{ORDER}/tell/1/undo"]


@pytest.mark.pattern("A7")
def test_a_reply_to_a_request_that_was_taken_back_changes_nothing() -> None:
    one = compensating({"mix": "running"})
    reply = reply_to(one.steps["mix"])
    one.recalled(one.steps["mix"].id)
    recalled: StepRow = one.steps["mix"]
    one.take(reply, NOW)
    assert one.steps["mix"] is recalled
