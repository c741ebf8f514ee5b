"""Resubmitting an order, in every state and at the worst moment (O2)."""

from collections.abc import Callable

import pytest

from orders.models import AgentRequest, Alert
from orders.services.act_results import ResultStatus
from orders.services.order_changes import resubmit_order
from tests.services.failed_orders import alert_closed, in_error
from tests.support.factories import make_order, make_reply, step_of
from tests.support.roles import (
    a_scheduler,
    alerts_of,
    event_of,
    everything,
    history,
    requested_steps,
    states,
    status_kinds,
    stored,
)
from tests.support.two_sessions import Session, all_at_once

NewSession = Callable[[], Session]
BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
TIMED_OUT = {"state": "failed", "attempt": 3, "outcome": "unknown", "failure_count": 3}
pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


@pytest.mark.pattern("O2", "A3", "C9")
@pytest.mark.parametrize(
    ("outcome", "generation"), [("unknown", 1), ("refused", 2)], ids=["unknown", "refused"]
)
def test_resubmitting_keeps_the_key_of_an_unknown_outcome_and_takes_the_next_after_a_refusal(
    outcome: str, generation: int
) -> None:
    error = {"code": "no", "message": "no"}
    order = in_error(
        {**BAKED, "decorate": "completed", "box": {**TIMED_OUT, "outcome": outcome, "error": error}},
        failure_count=3,
        reply_to="app-1",
        announced=False,
    )
    result = resubmit_order(order_id=order.pk, by="operator:ada", reason="fixed the ribbon")
    assert (result.status, result.message) == (ResultStatus.DONE, "Resubmitted box.")
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.attempt, box.generation) == ("not_started", 3, generation)
    assert (box.failure_count, box.extended_waits, box.not_before) == (0, 0, None)
    assert (row.process_state, row.locked_by, row.complete_by) == ("pending", None, None)
    assert (row.failure_count, row.goal, row.announced) == (0, "complete", True)
    assert alert_closed(order) == ("operator:ada", "resubmitted")
    assert status_kinds(order) == ["failed"]  # no scheduler had notified the application yet
    event = event_of(order, "resubmitted")
    assert (event.step, event.actor_name, event.detail) == (
        "box",
        "operator:ada",
        {"reason": "fixed the ribbon"},
    )
    a_scheduler().run_once()
    request = AgentRequest.objects.get()  # the order continues from that step only
    assert (request.step, request.attempt, request.key) == ("box", 4, f"{order.pk}/box/{generation}")


@pytest.mark.pattern("O2")
def test_a_second_click_changes_nothing_and_says_so() -> None:
    order = in_error({"mix": "failed"})
    resubmit_order(order_id=order.pk, by="ada")
    before, events = everything(order), history(order)
    result = resubmit_order(order_id=order.pk, by="ada")
    assert (result.status, result.message) == (
        ResultStatus.ALREADY,
        "The order is pending, so nothing was resubmitted.",
    )
    assert (everything(order), history(order)) == (before, events)
    assert step_of(order, "mix").generation == 2
    a_scheduler().run_once()
    assert resubmit_order(order_id=order.pk, by="ada").status is ResultStatus.ALREADY
    assert set(AgentRequest.objects.values_list("step", "attempt")) == {("mix", 2), ("heat-oven", 1)}


@both_sessions
@pytest.mark.pattern("O2")
def test_of_two_simultaneous_clicks_one_resubmits() -> None:
    order = in_error({"mix": "failed"})
    results = all_at_once(4, lambda n: resubmit_order(order_id=order.pk, by=f"operator:{n}").status)
    assert sorted(act.value for act in results) == ["already", "already", "already", "done"]
    assert step_of(order, "mix").generation == 2
    assert history(order) == [("resubmitted", "mix")]


@pytest.mark.pattern("O2")
@pytest.mark.parametrize("state", ["pending", "processing", "processed", "compensated"])
def test_an_order_that_is_not_in_error_is_not_resubmitted(state: str) -> None:
    goal = "compensate" if state == "compensated" else "complete"
    order = make_order({"mix": "completed"}, process_state=state, goal=goal)
    before = everything(order)
    assert resubmit_order(order_id=order.pk, by="ada").status is ResultStatus.ALREADY
    assert (everything(order), history(order)) == (before, [])


@pytest.mark.pattern("O2")
def test_one_of_two_failed_steps_is_not_resubmitted_alone_because_the_order_could_not_continue() -> None:
    order = in_error({**BAKED, "decorate": TIMED_OUT, "box": "failed"}, failure_count=3)
    before = everything(order)
    result = resubmit_order(order_id=order.pk, by="ada", step="box")
    assert (result.status, everything(order)) == (ResultStatus.REFUSED, before)
    assert "decorate" in result.message
    assert resubmit_order(order_id=order.pk, by="ada").message == "Resubmitted decorate, box."


@pytest.mark.pattern("O2")
def test_a_step_that_has_not_failed_is_refused_and_nothing_changes() -> None:
    order = in_error({"mix": "failed", "heat-oven": "completed"})
    before = everything(order)
    for step in ("heat-oven", "no-such"):
        result = resubmit_order(order_id=order.pk, by="ada", step=step)
        assert (result.status, result.message) == (ResultStatus.REFUSED, f"Step '{step}' has not failed.")
    assert (everything(order), history(order)) == (before, [])
    assert alerts_of(order) == [("step_failed", "", "no")]


@both_sessions
@pytest.mark.pattern("O2")
def test_resubmitting_while_the_steps_own_reply_is_being_taken_does_not_run_it_again(
    new_session: NewSession,
) -> None:
    order = in_error({"mix": TIMED_OUT, "heat-oven": "completed"}, failure_count=3)
    make_reply(step_of(order, "mix"))
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    assert scheduler.do(a_scheduler().run_once).done["replies"] == 1
    clicked = operator.start(lambda: resubmit_order(order_id=order.pk, by="ada"))
    operator.await_wait()
    scheduler.commit()
    assert clicked.result(timeout=60).message == "Resubmitted the order."
    a_scheduler().run_once()
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    assert (requested_steps(), step_of(order, "mix").attempt) == ({"bake"}, 3)


@both_sessions
@pytest.mark.pattern("O2")
def test_a_reply_that_comes_while_its_step_is_being_resubmitted_completes_it_without_another_call(
    new_session: NewSession,
) -> None:
    order = in_error({"mix": TIMED_OUT, "heat-oven": "completed"}, failure_count=3)
    make_reply(step_of(order, "mix"))
    operator = new_session()
    operator.begin()
    assert operator.do(lambda: resubmit_order(order_id=order.pk, by="ada")).status is ResultStatus.DONE
    assert a_scheduler().run_once().done["orders"] == 0  # the operator has locked the order
    operator.commit()
    a_scheduler().run_once()
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    assert requested_steps() == {"bake"}


@pytest.mark.pattern("O2")
def test_an_order_that_overran_too_often_counts_from_zero_when_resubmitted() -> None:
    order = in_error({"mix": "completed"}, kind="order_overran", overruns=3, failure_count=3)
    assert resubmit_order(order_id=order.pk, by="ada").message == "Resubmitted the order."
    row = stored(order)
    assert (row.process_state, row.overruns, row.failure_count) == ("pending", 0, 0)
    assert history(order) == [("resubmitted", "")]
    a_scheduler().run_once()
    assert requested_steps() == {"heat-oven"}


@pytest.mark.pattern("O1", "O2")
def test_each_error_has_one_open_alert_even_after_a_resubmission() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    scheduler = a_scheduler()
    for _ in range(2):
        make_reply(step_of(order, "mix"), "refused")
        scheduler.run_once()
        assert Alert.objects.filter(closed_at=None).count() == 1
        resubmit_order(order_id=order.pk, by="ada")
        assert Alert.objects.filter(closed_at=None).count() == 0
        scheduler.run_once()
    assert alerts_of(order) == [("step_failed", "mix", "no")] * 2
    assert (step_of(order, "mix").generation, step_of(order, "mix").attempt) == (3, 3)
