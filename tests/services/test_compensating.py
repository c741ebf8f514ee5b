"""Cancelling an order, in every state and at the worst moment (C10, O2)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.models import AgentRequest
from orders.services.act_results import ResultStatus
from orders.services.order_changes import compensate_order, resubmit_order
from orders.services.order_lock import NoSuchOrderError
from tests.services.failed_orders import alert_closed, in_error
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
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
from tests.support.two_sessions import Session
from tests.support.workflows import CAKE

NewSession = Callable[[], Session]
pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


@pytest.mark.pattern("C10", "O2")
@pytest.mark.parametrize("state", ["pending", "waiting", "processing", "processed", "error"])
def test_an_order_can_be_compensated_from_every_state(state: str) -> None:
    fields: dict[str, Any] = {"process_state": state, "failure_count": 2, "started_at": ago(60)}
    steps: dict[str, Any] = {"mix": "completed", "heat-oven": "completed"}
    match state:
        case "waiting":
            fields |= {"process_state": "pending", "not_before": ahead(60)}
        case "error":
            steps["bake"] = "failed"
            fields |= {"announced": False}
        case "processed":
            steps = {step.name: "completed" for step in CAKE.steps}
            fields |= {"finished_at": ago(5)}
    order = make_order(steps, reply_to="app-1", **fields)
    if state == "error":
        make_alert(order.pk, kind="step_failed", step="bake", code="no", message="no")
    result = compensate_order(order_id=order.pk, by="operator:ada", reason="the customer asked")
    assert (result.status, result.message) == (ResultStatus.DONE, "The order will be cancelled.")
    row = stored(order)
    assert (row.goal, row.process_state, row.locked_by) == ("compensate", "pending", None)
    assert (row.not_before, row.complete_by, row.finished_at, row.announced) == (None, None, None, True)
    event = event_of(order, "compensation_requested")
    assert (event.actor_name, event.detail) == (
        "operator:ada",
        {"why": "operator_requested", "reason": "the customer asked"},
    )
    if state == "error":
        assert alert_closed(order) == ("operator:ada", "cancelled")
    assert status_kinds(order) == (["failed"] if state == "error" else [])
    scheduler = a_scheduler()
    for _ in range(8):
        drain(scheduler)
        answer(order=order)
    assert stored(order).process_state == "compensated"
    assert states(order)["mix"] == "compensated"


@pytest.mark.pattern("C10")
def test_a_second_request_to_compensate_changes_nothing_and_says_so() -> None:
    order = make_order({"mix": "completed"})
    compensate_order(order_id=order.pk, by="ada")
    a_scheduler().run_once()
    before = everything(order)
    result = compensate_order(order_id=order.pk, by="ada")
    assert result.status is ResultStatus.ALREADY
    assert result.message == "The order is already being cancelled."
    assert everything(order) == before
    assert history(order, "compensation_requested") == [("compensation_requested", "")]


@both_sessions
@pytest.mark.pattern("C10")
def test_compensation_waits_for_the_scheduler_that_holds_the_order_and_reverses_what_it_did(
    new_session: NewSession,
) -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_reply(step_of(order, "mix"))
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    assert scheduler.do(a_scheduler().run_once).done["started"] == 1
    clicked = operator.start(lambda: compensate_order(order_id=order.pk, by="ada"))
    operator.await_wait()
    scheduler.commit()
    assert clicked.result(timeout=60).status is ResultStatus.DONE
    a_scheduler().run_once()
    # The request that the scheduler had just posted is taken back before an agent begins it.
    assert (requested_steps(), history(order, "step_recalled")) == ({"mix"}, [("step_recalled", "bake")])
    assert states(order)["mix"] == "compensating"


@both_sessions
@pytest.mark.pattern("C10")
def test_a_request_that_an_agent_is_claiming_while_the_order_is_being_compensated_counts_as_begun(
    new_session: NewSession,
) -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    request = make_request(step_of(order, "mix"))
    compensate_order(order_id=order.pk, by="ada")
    agent = new_session()
    agent.begin()
    agent.do(lambda: AgentRequest.objects.filter(pk=request.pk).update(deliveries=1, leased_by="agents:a"))
    a_scheduler().run_once()
    agent.commit()
    assert (states(order)["mix"], AgentRequest.objects.get().pk) == ("running", request.pk)


@pytest.mark.pattern("C10", "O2")
def test_a_compensation_that_failed_goes_on_when_resubmitted() -> None:
    order = in_error(
        {"mix": {"state": "failed", "attempt": 8, "outcome": "done", "compensation_failure_count": 6}},
        kind="compensation_failed",
        goal="compensate",
        failure_count=6,
    )
    assert resubmit_order(order_id=order.pk, by="ada").status is ResultStatus.DONE
    mix = step_of(order, "mix")
    assert (mix.state, mix.compensation_failure_count, mix.not_before) == ("compensating", 0, None)
    assert (mix.generation, mix.compensation_generation) == (1, 1)
    assert stored(order).failure_count == 0
    a_scheduler().run_once()
    request = AgentRequest.objects.get()
    assert (request.key, request.compensates, request.attempt) == (f"{order.pk}/mix/1/undo", True, 9)


@pytest.mark.pattern("O2", "C10", "V4")
def test_an_escalated_order_can_be_compensated_including_the_step_that_timed_out() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    assert compensate_order(order_id=order.pk, by="ada").status is ResultStatus.DONE
    scheduler = a_scheduler()
    scheduler.run_once()
    assert requested_steps() == set()  # the effect of the step may not have settled yet
    all_due(order)
    scheduler.run_once()
    assert requested_steps() == {"mix"}


@pytest.mark.parametrize("act", [resubmit_order, compensate_order])
def test_the_error_about_an_unknown_order_names_it(act: Callable[..., Any]) -> None:
    missing: UUID = uuid7()
    with pytest.raises(NoSuchOrderError, match=str(missing)):
        act(order_id=missing, by="ada")
