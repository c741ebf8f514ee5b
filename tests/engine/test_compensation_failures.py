"""Compensating calls that are refused, unknown or out of time: retried, or an alert of their own kind (C10)."""

import pytest

from orders.models import AgentRequest, Alert, StepState
from orders.services.act_results import ResultStatus
from orders.services.order_changes import compensate_order, resubmit_order
from tests.support.compensations import an_order_to_compensate, compensate_all
from tests.support.factories import ahead, make_order, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    drain,
    event_of,
    everything,
    expire,
    history,
    requested_steps,
    states,
    status_kinds,
    stored,
)
from tests.support.workflows import PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]


@pytest.mark.pattern("C7", "O1", "O2", "A3")
def test_a_refused_compensation_has_its_own_alert_and_gets_the_next_key_when_resubmitted() -> None:
    order = an_order_to_compensate({"mix": "completed"})
    scheduler = a_scheduler()
    scheduler.run_once()
    assert answer("refused", {"code": "eaten", "message": "it is eaten"}, order=order) == {"mix"}
    scheduler.run_once()
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.outcome, mix.compensation_failure_count) == ("failed", "done", 1)
    assert mix.error == {"code": "eaten", "message": "it is eaten"}
    assert (row.process_state, row.goal, row.failure_count) == ("error", "compensate", 1)
    alert = Alert.objects.get()
    assert (alert.kind, alert.step, alert.code) == ("compensation_failed", "mix", "eaten")
    assert status_kinds(order) == ["failed"]
    assert history(order, "compensation_failed", "error") == [
        ("compensation_failed", "mix"),
        ("error", "mix"),
    ]
    assert resubmit_order(order_id=order.pk, by="operator").status is ResultStatus.DONE
    scheduler.run_once()
    request = AgentRequest.objects.get()
    assert request.key == f"{order.pk}/mix/1/undo2"
    assert request.reverses == f"{order.pk}/mix/1"
    assert compensate_all(order) == [{"mix"}, {"tell"}]
    row = stored(order)
    assert (row.process_state, row.failure_count) == ("compensated", 0)
    assert Alert.objects.get().resolution == "resubmitted"
    assert status_kinds(order) == ["failed", "compensated"]


@pytest.mark.pattern("O2", "A3")
def test_a_compensation_of_unknown_outcome_keeps_its_key_when_resubmitted() -> None:
    order = an_order_to_compensate({"mix": "completed"})
    scheduler = a_scheduler()
    scheduler.run_once()
    answer("failed", {"code": "lost", "message": "no idea"}, order=order)
    scheduler.run_once()
    assert alerts_of(order) == [("compensation_failed", "mix", "lost")]
    resubmit_order(order_id=order.pk, by="operator")
    scheduler.run_once()
    assert AgentRequest.objects.get().key == f"{order.pk}/mix/1/undo"


def test_when_one_of_two_running_compensations_fails_the_others_answer_is_kept() -> None:
    order = an_order_to_compensate(PACKED)
    scheduler = a_scheduler()
    scheduler.run_once()
    assert requested_steps() == {"decorate", "box"}
    answer("refused", order=order, only=["box"])
    scheduler.run_once()
    assert (stored(order).process_state, states(order)["decorate"]) == ("error", "compensating")
    answer(order=order, only=["decorate"])
    scheduler.run_once()
    assert (stored(order).process_state, states(order)["decorate"]) == ("error", "compensated")
    assert alerts_of(order) == [("compensation_failed", "box", "no")]
    resubmit_order(order_id=order.pk, by="operator")
    assert compensate_all(order) == [{"box"}, {"bake"}, {"mix"}, {"tell"}]


@pytest.mark.pattern("V2", "V3")
def test_a_compensation_is_tried_more_often_than_a_forward_step_before_it_is_an_error() -> None:
    forward = make_order({"mix": "running"}, process_state="processing")
    order = an_order_to_compensate({"mix": "completed"})
    scheduler, leader = a_scheduler(), a_leader(threshold=2)
    tries = {forward.pk: 0, order.pk: 0}
    for _ in range(10):
        drain(scheduler)
        for tried in (forward, order):
            running = tried.steps.filter(name="mix", complete_by__isnull=False).exists()
            tries[tried.pk] += running
        AgentRequest.objects.all().delete()
        for tried in (forward, order):
            expire(tried)
        leader.run_once()
        for tried in (forward, order):
            all_due(tried)
    assert tries == {forward.pk: 2, order.pk: 4}
    assert alerts_of(order) == [("compensation_failed", "mix", "timed_out")]
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.compensation_failure_count, mix.failure_count) == (
        "failed",
        "done",
        4,
        0,
    )
    assert (stored(order).process_state, stored(order).goal) == ("error", "compensate")
    assert stored(order).failure_count == 4
    assert history(order, "compensation_timed_out") == [("compensation_timed_out", "mix")] * 4


@pytest.mark.pattern("V2", "A3")
def test_a_compensation_that_timed_out_is_tried_again_with_the_same_key_after_its_backoff() -> None:
    order = an_order_to_compensate({"mix": "completed"})
    scheduler = a_scheduler()
    scheduler.run_once()
    first = AgentRequest.objects.get()
    expire(order)
    a_leader().run_once()
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.complete_by, mix.compensation_failure_count) == ("compensating", None, 1)
    assert mix.not_before is not None and mix.not_before <= ahead(2)
    assert (row.process_state, row.not_before, row.failure_count) == ("pending", mix.not_before, 1)
    all_due(order)
    scheduler.run_once()
    second = AgentRequest.objects.get()
    assert (second.key, second.attempt) == (first.key, first.attempt + 1)
    assert second.pk != first.pk


@pytest.mark.pattern("O2")
def test_resubmitting_does_not_compensate_a_step_before_its_settle_time_is_over() -> None:
    order = an_order_to_compensate(
        {
            **PACKED,
            "decorate": {
                "state": "failed",
                "attempt": 1,
                "answered": 1,
                "outcome": "unknown",
                "settles_at": ahead(5),
            },
            "box": {
                "state": "failed",
                "attempt": 2,
                "answered": 2,
                "outcome": "done",
                "compensation_generation": 2,
            },
        },
        process_state="error",
    )
    resubmit_order(order_id=order.pk, by="operator")
    a_scheduler().run_once()
    assert requested_steps() == {"box"}


@pytest.mark.pattern("C6")
def test_an_order_that_was_compensated_is_left_alone() -> None:
    order = an_order_to_compensate({"mix": "completed"})
    compensate_all(order)
    before = everything(order)
    assert compensate_order(order_id=order.pk, by="operator").status is ResultStatus.ALREADY
    drain(a_scheduler())
    a_leader().run_once()
    assert everything(order) == before
    assert StepState.objects.filter(complete_by__isnull=False).count() == 0


def test_an_order_that_never_began_is_compensated_by_its_notice_alone() -> None:
    order = make_order(reply_to="app-1")
    assert compensate_order(order_id=order.pk, by="customer").status is ResultStatus.DONE
    assert compensate_all(order) == [{"tell"}]
    assert states(order) == {"tell": "compensated"}
    request_key = event_of(order, "compensation_started").detail["key"]
    assert request_key == f"{order.pk}/tell/1/undo"
    assert stored(order).process_state == "compensated"
