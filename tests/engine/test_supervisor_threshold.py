"""The supervisor at a step's threshold of failures: an error with an alert, or the step's own remedy (V3, V4)."""

import pytest

from orders.models import Alert, Event, OrderProcess, StepState
from tests.support.factories import ago, ahead, step_of
from tests.support.overdue import call_failed, overdue, processing
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.workflows import BAKED

pytestmark = pytest.mark.django_db


# --- at the threshold


@pytest.mark.pattern("V3", "O1", "C7")
def test_at_the_threshold_the_order_is_in_error_with_an_alert_that_names_the_last_fault() -> None:
    order = processing({"mix": overdue(attempt=3, failure_count=2)}, failure_count=2)
    call_failed(order, "mix", 2, message="an older one")
    call_failed(order, "mix", 3, message="the first one of this attempt")
    call_failed(order, "mix", 3)
    call_failed(order, "heat-oven", 3, message="another step's")
    done = a_leader(threshold=3).run_once().done
    assert done == {"found": 1, "recovered": 0, "escalated": 1, "steps_timed_out": 1}
    mix, row = step_of(order, "mix"), stored(order)
    error = {
        "code": "http_503",
        "message": "kitchen did not answer by the complete-by time, 3 times; "
        "its last call: the kitchen is closed",
    }
    assert (mix.state, mix.outcome, mix.failure_count) == ("failed", "unknown", 3)
    assert (mix.error, mix.complete_by, mix.not_before, mix.attempt) == (error, None, None, 3)
    assert (row.process_state, row.locked_by, row.not_before) == ("error", None, None)
    assert (row.failure_count, row.announced) == (3, False)
    alert = Alert.objects.get()
    assert (alert.order_id, alert.kind, alert.step, alert.agent) == (
        order.pk,
        "step_failed",
        "mix",
        "kitchen",
    )
    assert (alert.code, alert.message, alert.closed_at) == ("http_503", error["message"], None)
    assert history(order, "step_timed_out", "error") == [("step_timed_out", "mix"), ("error", "mix")]


@pytest.mark.pattern("V3")
def test_a_step_that_was_never_called_is_escalated_as_timed_out() -> None:
    order = processing({"mix": overdue()}, reply_to="")
    a_leader(threshold=1).run_once()
    assert alerts_of(order) == [("step_failed", "mix", "timed_out")]
    assert Alert.objects.get().message.endswith("1 times; no call to it was answered")
    assert stored(order).announced is True  # there is nobody to notify


@pytest.mark.pattern("V3")
@pytest.mark.parametrize("threshold", [1, 2, 5])
def test_a_step_fails_at_exactly_the_threshold(threshold: int) -> None:
    order = processing({"mix": overdue()})
    leader = a_leader(threshold=threshold)
    sweeps = 0
    while stored(order).process_state != "error":
        StepState.objects.filter(name="mix").update(
            state="running", complete_by=ago(1), outcome="unknown", not_before=None
        )
        leader.run_once()
        sweeps += 1
        assert sweeps <= threshold
    assert (sweeps, step_of(order, "mix").failure_count) == (threshold, threshold)
    assert stored(order).failure_count == threshold


@pytest.mark.pattern("V3", "O1")
def test_two_steps_at_the_threshold_open_one_alert() -> None:
    order = processing({"mix": overdue(), "heat-oven": overdue()})
    a_leader(threshold=1).run_once()
    assert states(order) == {"mix": "failed", "heat-oven": "failed"}
    assert len(alerts_of(order)) == 1
    assert stored(order).process_state == "error"


# --- other remedies


@pytest.mark.pattern("V4")
def test_a_step_with_extended_waits_is_tried_again_after_each_of_them_before_it_is_an_error() -> None:
    order = processing({**BAKED, "decorate": overdue(failure_count=2)}, failure_count=2)
    leader = a_leader(threshold=3)
    for waits in (1, 2):
        since = ahead(120)
        leader.run_once()
        decorate, row = step_of(order, "decorate"), stored(order)
        assert (decorate.state, decorate.extended_waits) == ("not_started", waits)
        assert decorate.failure_count == 2 + waits
        assert decorate.not_before is not None and since <= decorate.not_before <= ahead(120)
        assert (row.process_state, row.not_before) == ("pending", decorate.not_before)
        assert alerts_of(order) == []
        OrderProcess.objects.update(not_before=None)
        StepState.objects.filter(pk=decorate.pk).update(
            state="running", complete_by=ago(1), not_before=None, attempt=1 + waits
        )
    leader.run_once()
    assert step_of(order, "decorate").state == "failed"
    assert alerts_of(order) == [("step_failed", "decorate", "timed_out")]
    rulings = Event.objects.filter(kind="step_timed_out").order_by("id")
    assert [event.detail["ruling"] for event in rulings] == ["wait", "wait", "fail"]


@pytest.mark.pattern("V4", "V5", "C10")
def test_a_step_whose_remedy_is_to_compensate_compensates_the_order_without_an_alert() -> None:
    order = processing({**BAKED, "decorate": "completed", "box": overdue(failure_count=2, settles_at=ago(1))})
    a_leader(threshold=3).run_once()
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.outcome, box.failure_count) == ("failed", "unknown", 3)
    assert (row.goal, row.process_state, row.locked_by, row.not_before) == (
        "compensate",
        "pending",
        None,
        None,
    )
    assert history(order) == [("step_timed_out", "box"), ("compensation_requested", "box")]
    assert (alerts_of(order), requested_steps()) == ([], set())  # the supervisor only sets the goal
    a_scheduler().run_once()
    assert requested_steps() == {"decorate", "box"}


# --- load


@pytest.mark.pattern("V3", "V4")
def test_when_one_steps_remedy_is_to_compensate_the_order_another_steps_failure_is_no_error() -> None:
    """`decorate` has used up its extended waits, and the remedy of `box` is to compensate the order."""
    order = processing(
        {
            **BAKED,
            "decorate": overdue(failure_count=4, extended_waits=2),
            "box": overdue(failure_count=2),
        },
        failure_count=6,
    )
    a_leader().run_once()
    after = stored(order)
    assert (after.process_state, after.goal, alerts_of(order)) == ("pending", "compensate", [])
