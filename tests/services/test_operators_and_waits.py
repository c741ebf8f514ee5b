"""What operators may do with a step that waits for an answer or a time (O2)."""

from typing import Any

import pytest

from orders.models import OrderProcess, StepState
from orders.services.act_results import ResultStatus
from orders.services.answers import decide
from orders.services.operators.editing import edit_and_resubmit
from orders.services.operators.order_acts import compensate, resubmit, retry_now, skip
from orders.services.operators.settling import settle_done, settle_not_done
from tests.services.operated_orders import BEFORE_SHIPMENT, OLGA, an_order, has_open_alert, pass_over
from tests.support.factories import ahead, make_alert, make_order, step_of
from tests.support.order_bodies import DELFT
from tests.support.roles import (
    a_leader,
    a_scheduler,
    event_of,
    expire,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.workflows import FEAST, FEASTS

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2")]

APPROVE = {"state": "awaiting", "awaits": {"kind": "decision", "choices": ["accept", "reject"]}}


def feast(**steps: Any) -> OrderProcess:
    others = {"plan": "completed", "supplies": "completed", "rest": "completed", "approve": APPROVE}
    return make_order(others | steps, workflow=FEAST, not_before=ahead(7_200))


def pending_shipment(**fields: Any) -> OrderProcess:
    waits = {"state": "awaiting", "outcome": "unknown", "awaits": {"kind": "answer", "reference": "job-7"}}
    return an_order(
        {**BEFORE_SHIPMENT, "create-shipment": waits | {"awaits_until": ahead(3_600)} | fields},
        not_before=ahead(7_200),
    )


def test_a_wait_whose_result_nobody_needs_is_skipped_and_an_unread_answer_no_longer_counts() -> None:
    order = feast()
    decide(order_id=order.pk, step="approve", choice="reject", by="ada")
    result = skip(order_id=order.pk, step="approve", actor=OLGA, reason="the boss said so")
    assert result.message == "Skipped approve. The order continues."
    a_scheduler(workflows=FEASTS).run_once()
    assert (states(order)["approve"], stored(order).goal) == ("skipped", "complete")
    assert step_of(order, "approve").complete_by is None
    assert requested_steps() == {"cook"}
    assert ("reply_ignored", "approve") in history(order)


def test_a_call_that_is_answered_later_can_be_settled_before_it_is() -> None:
    order = pending_shipment()
    answer = {"shipment": "s-1", "tracking": "t-1"}
    result = settle_done(
        order_id=order.pk,
        step="create-shipment",
        result=answer,
        actor=OLGA,
        reason="the carrier's page says so",
    )
    step = step_of(order, "create-shipment")
    assert (result.status, step.state, step.result, step.complete_by) == (
        ResultStatus.DONE,
        "completed",
        answer,
        None,
    )
    pass_over()
    assert requested_steps(order) == {"capture-payment"}


def test_a_call_that_is_answered_later_is_not_settled_as_not_done_while_it_may_be() -> None:
    order = pending_shipment()
    result = settle_not_done(order_id=order.pk, step="create-shipment", actor=OLGA, reason="I think not")
    assert (result.status, states(order)["create-shipment"]) == (ResultStatus.REFUSED, "awaiting")


def test_a_decision_is_not_settled_like_a_call() -> None:
    order = feast()
    result = settle_done(order_id=order.pk, step="approve", result={"a": 1}, actor=OLGA, reason="I say so")
    assert (result.status, states(order)["approve"]) == (ResultStatus.REFUSED, "awaiting")


def test_a_delay_can_be_ended_and_an_agent_asked_at_once() -> None:
    order = feast(
        approve="completed",
        rest={"state": "awaiting", "awaits": {"kind": "delay"}, "complete_by": None, "not_before": ahead(50)},
    )
    assert retry_now(order_id=order.pk, actor=OLGA).status is ResultStatus.DONE
    a_scheduler(workflows=FEASTS).run_once()
    assert (states(order)["rest"], requested_steps()) == ("completed", {"cook"})
    assert event_of(order, "hurried").step == "rest"
    shipment = pending_shipment(not_before=ahead(50))
    retry_now(order_id=shipment.pk, actor=OLGA)
    pass_over()
    assert requested_steps(shipment) == {"create-shipment"}


def test_nothing_is_hurried_where_only_an_answer_helps() -> None:
    for order in (feast(), pending_shipment()):
        assert retry_now(order_id=order.pk, actor=OLGA).status is ResultStatus.ALREADY


def test_a_wait_that_failed_waits_again_once_it_is_resubmitted() -> None:
    order = feast()
    expire(order)
    a_leader(workflows=FEASTS).run_once()
    assert (states(order)["approve"], has_open_alert(order)) == ("failed", True)
    assert resubmit(order_id=order.pk, actor=OLGA).status is ResultStatus.DONE
    a_scheduler(workflows=FEASTS).run_once()
    step = step_of(order, "approve")
    assert (step.state, step.attempt, step.error) == ("awaiting", 2, None)
    assert step.complete_by is not None and step.complete_by > ahead(3_500)
    decide(order_id=order.pk, step="approve", choice="accept", by="ada")
    a_scheduler(workflows=FEASTS).run_once()
    assert requested_steps() == {"cook"}


def test_what_waits_stays_parked_while_another_step_is_resubmitted() -> None:
    order = feast(supplies="failed")
    OrderProcess.objects.filter(pk=order.pk).update(process_state="error", not_before=None)
    make_alert(order.pk)
    before = step_of(order, "approve")
    resubmit(order_id=order.pk, actor=OLGA)
    a_scheduler(workflows=FEASTS).run_once()
    after = step_of(order, "approve")
    assert (after.state, after.attempt, after.complete_by) == ("awaiting", 1, before.complete_by)
    assert states(order)["supplies"] == "awaiting"


@pytest.mark.pattern("C10")
def test_an_order_that_waits_can_be_cancelled() -> None:
    order = feast()
    compensate(order_id=order.pk, actor=OLGA, reason="she changed her mind")
    a_scheduler(workflows=FEASTS).run_once()
    assert (states(order).get("approve"), requested_steps()) == (None, {"plan"})


@pytest.mark.parametrize(
    ("town", "status"), [("Delft", ResultStatus.ALREADY), ("Gouda", ResultStatus.REFUSED)]
)
def test_a_step_that_waits_is_not_edited_and_has_what_is_wanted_or_has_not(
    town: str, status: ResultStatus
) -> None:
    order = pending_shipment()
    StepState.objects.filter(pk=step_of(order, "create-shipment").pk).update(request={"ship_to": DELFT})
    result = edit_and_resubmit(
        order_id=order.pk,
        step="create-shipment",
        changes={"ship_to": {**DELFT, "city": town}},
        seen={},
        actor=OLGA,
        reason="x",
    )
    assert result.status is status
    assert result.message == "Step create-shipment is awaiting. Only a step that failed can be edited."
