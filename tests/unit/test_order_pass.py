"""One order during one pass: what is claimed, started and sent, and when the order waits or runs out of time."""

from uuid import UUID

import pytest

from orders.engine.channels.requests import NewRequest
from orders.engine.channels.status import Status
from orders.engine.errors import WorkflowError
from orders.engine.scheduler.order_pass import OrderPass
from tests.support.workflows import BAKED, CAKE
from tests.unit.order_passes import (
    DONE,
    compensating,
    kinds,
    order,
    processing,
    requested_steps,
    take,
    written,
)
from tests.unit.rows import ME, NOW, ORDER, at, process_row, step_row, step_rows

# Claiming


@pytest.mark.pattern("A9")
def test_orders_get_room_by_priority_then_by_age_and_never_by_their_ids() -> None:
    rows = [
        process_row(order_id=UUID(int=number), priority=priority, created_at=at(-age))
        for number, priority, age in ((1, 5, 10), (2, 5, 30), (3, 9, 1), (4, 5, 10))
    ]
    passes = [OrderPass(row=row, steps=step_rows(), workflow=CAKE, instance=ME) for row in rows]
    by_urgency = sorted(passes, key=OrderPass.urgency)
    assert [order_pass.row.order_id.int for order_pass in by_urgency] == [3, 2, 1, 4]


@pytest.mark.pattern("C2")
def test_a_new_order_is_claimed_and_its_first_steps_are_started() -> None:
    order_pass = order()
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.complete_by) == (
        "processing",
        ME,
        at(600),
    )
    assert (order_pass.row.started_at, order_pass.row.not_before) == (NOW, None)
    assert requested_steps(order_pass) == ["mix", "heat-oven"]
    assert kinds(order_pass) == ["claimed", "step_started", "step_started"]


@pytest.mark.pattern("C1", "T4")
def test_a_started_step_is_running_with_a_complete_by_of_its_own() -> None:
    order_pass = order()
    order_pass.advance(NOW)
    assert order_pass.steps["mix"] == step_row(
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
    assert [(write.step.name, write.read_attempt, write.result) for write in order_pass.step_writes()] == [
        ("mix", 0, None),
        ("heat-oven", 0, None),
    ]


@pytest.mark.pattern("C5", "A3")
def test_a_request_carries_operation_key_needs_and_the_orders_priority() -> None:
    order_pass = processing(BAKED | {"decorate": "completed", "box": "completed"}, priority=8)
    order_pass.advance(NOW)
    assert order_pass.new_requests == [
        NewRequest(
            step_id=6,
            operation="deliver-it",
            needs="bake,box",
            compensates=False,
            key=f"{ORDER}/deliver/1",
            reverses="",
            priority=8,
        )
    ]


@pytest.mark.pattern("Q3")
def test_the_application_is_notified_once_that_its_order_was_started() -> None:
    order_pass = order(reply_to="shop")
    order_pass.advance(NOW)
    assert order_pass.statuses == [Status("shop", ORDER, "started", {})]
    second_pass = order({"mix": "running"}, reply_to="shop", started_at=at(-9))
    second_pass.advance(NOW)
    assert second_pass.statuses == []


def test_a_released_order_keeps_its_start_time() -> None:
    order_pass = order(started_at=at(-900))
    order_pass.advance(NOW)
    assert order_pass.row.started_at == at(-900)


def test_an_order_with_nothing_to_do_is_not_written() -> None:
    order_pass = processing({"mix": "running", "heat-oven": "running"}, locked_by=ME)
    order_pass.advance(NOW)
    assert (order_pass.row_changed(), written(order_pass), order_pass.new_requests, order_pass.events) == (
        False,
        [],
        [],
        [],
    )


# Waiting


@pytest.mark.pattern("V2", "V4")
def test_an_order_with_nothing_under_way_is_pending_until_its_earliest_wait_is_over() -> None:
    waits = BAKED | {"decorate": {"not_before": at(120)}, "box": {"not_before": at(40)}}
    order_pass = processing(waits)
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.not_before) == (
        "pending",
        None,
        at(40),
    )
    assert kinds(order_pass) == ["waiting"]


def test_an_order_that_keeps_waiting_records_it_only_once() -> None:
    order_pass = order(BAKED | {"decorate": {"not_before": at(40)}, "box": "completed"}, not_before=at(40))
    order_pass.advance(NOW)
    assert (order_pass.row_changed(), order_pass.events) == (False, [])


def test_an_order_with_something_under_way_stays_claimable_when_its_earliest_wait_is_over() -> None:
    order_pass = processing(BAKED | {"decorate": {"not_before": at(40)}, "box": "running"})
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.locked_by, order_pass.row.not_before) == (
        "processing",
        ME,
        at(40),
    )


def test_a_finished_wait_is_cleared_when_its_step_is_started() -> None:
    order_pass = processing(BAKED | {"decorate": {"not_before": NOW}, "box": "running"}, not_before=NOW)
    order_pass.advance(NOW)
    assert (
        order_pass.row.not_before,
        order_pass.steps["decorate"].not_before,
        requested_steps(order_pass),
    ) == (
        None,
        None,
        ["decorate"],
    )


# The order's own complete-by


@pytest.mark.pattern("C8")
@pytest.mark.parametrize("complete_by", [0, -60])
def test_an_order_past_its_complete_by_records_the_reply_and_starts_nothing(complete_by: float) -> None:
    order_pass = processing({"mix": "running", "heat-oven": "completed"}, complete_by=at(complete_by))
    take(order_pass, "mix")
    order_pass.advance(NOW)
    assert (order_pass.steps["mix"].state, order_pass.new_requests) == ("completed", [])
    assert (order_pass.row.process_state, order_pass.row.locked_by) == ("processing", "scheduler:other")


@pytest.mark.pattern("C8")
def test_an_order_past_its_complete_by_is_not_finished_either() -> None:
    order_pass = processing(DONE, complete_by=NOW)
    order_pass.advance(NOW)
    assert order_pass.row.process_state == "processing"


@pytest.mark.pattern("C8")
def test_an_order_past_its_complete_by_does_not_keep_asking_for_a_scheduler() -> None:
    """A claim takes orders whose `not_before` is past; if it stayed, every pass would take this order again."""
    order_pass = processing(BAKED | {"box": "running"}, complete_by=at(-1), not_before=at(-1))
    order_pass.advance(NOW)
    assert order_pass.row.not_before is None


@pytest.mark.pattern("C8", "V2")
def test_an_order_released_by_the_supervisor_gets_a_new_complete_by() -> None:
    order_pass = order(
        {"mix": "completed", "heat-oven": "completed"}, complete_by=at(-1), started_at=at(-700)
    )
    order_pass.advance(NOW)
    assert (order_pass.row.process_state, order_pass.row.complete_by, requested_steps(order_pass)) == (
        "processing",
        at(600),
        ["bake"],
    )


# Retries and keys (rule 5)


@pytest.mark.pattern("A3", "A7")
def test_an_automatic_retry_is_a_new_attempt_with_the_same_key() -> None:
    order_pass = order(
        {"mix": {"attempt": 2, "outcome": "unknown"}, "heat-oven": "completed"}, started_at=at(-60)
    )
    order_pass.advance(NOW)
    assert order_pass.steps["mix"].attempt == 3
    assert [request.key for request in order_pass.new_requests] == [f"{ORDER}/mix/1"]


def test_the_request_of_an_earlier_attempt_is_discarded() -> None:
    order_pass = order({"mix": {"attempt": 2, "outcome": "unknown"}}, started_at=at(-60))
    order_pass.advance(NOW)
    assert order_pass.superseded == [order_pass.steps["mix"].id]


@pytest.mark.pattern("A3", "O2")
def test_the_next_generation_has_a_key_of_its_own() -> None:
    order_pass = order({"mix": {"attempt": 1, "answered": 1, "generation": 2}, "heat-oven": "completed"})
    order_pass.advance(NOW)
    assert [request.key for request in order_pass.new_requests] == [f"{ORDER}/mix/2"]


@pytest.mark.pattern("A3", "C10", "T5")
def test_a_compensation_names_the_forward_key_and_carries_the_steps_own_result() -> None:
    order_pass = compensating(BAKED | {"bake": {"state": "completed", "generation": 2}})
    order_pass.advance(NOW)
    assert order_pass.new_requests == [
        NewRequest(
            step_id=3,
            operation="bake-it",
            needs="mix,bake",
            compensates=True,
            key=f"{ORDER}/bake/2/undo",
            reverses=f"{ORDER}/bake/2",
            priority=5,
        )
    ]
    compensated = order_pass.steps["bake"]
    assert (compensated.state, compensated.attempt, compensated.outcome, compensated.complete_by) == (
        "compensating",
        2,
        "done",
        at(30),
    )


@pytest.mark.pattern("A3", "C10")
def test_a_compensation_that_was_refused_is_tried_again_under_another_key() -> None:
    order_pass = compensating({"mix": "compensating", "heat-oven": "completed"})
    take(order_pass, "mix", "refused")
    step = order_pass.steps["mix"]
    assert (step.compensation_key(), step.key()) == (f"{ORDER}/mix/1/undo2", f"{ORDER}/mix/1")


@pytest.mark.pattern("A3", "C10")
def test_a_compensation_whose_outcome_is_unknown_keeps_its_key() -> None:
    order_pass = compensating({"mix": "compensating", "heat-oven": "completed"})
    take(order_pass, "mix", "failed")
    assert order_pass.steps["mix"].compensation_key() == f"{ORDER}/mix/1/undo"


# Impossible rows


def test_stored_steps_of_another_workflow_are_an_error_for_the_batch_to_isolate() -> None:
    order_pass = OrderPass(row=process_row(), steps=step_rows()[:3], workflow=CAKE, instance=ME)
    with pytest.raises(WorkflowError):
        order_pass.advance(NOW)
