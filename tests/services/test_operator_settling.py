"""Settling a step whose outcome nobody knows (O2, C9, C10)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from orders.business import Environment, Workflow
from orders.services.act_results import ResultStatus
from orders.services.operators.order_acts import resubmit
from orders.services.operators.settling import settle_compensated, settle_done, settle_not_done
from tests.services.operated_orders import (
    BEFORE_SHIPMENT,
    OLGA,
    REFUSED,
    UNKNOWN,
    has_open_alert,
    in_error,
    pass_over,
)
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import ago, make_order, make_reply, step_of
from tests.support.roles import answer, event_of, everything, requested_steps, stored

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("O2", "C9", "F14")
def test_an_order_settled_as_done_continues_with_the_given_result() -> None:
    order = in_error({"reserve-stock": "completed", "authorise-payment": UNKNOWN})
    empty = settle_done(order_id=order.pk, step="authorise-payment", result={}, actor=OLGA, reason="seen")
    assert (empty.status, empty.message) == (
        ResultStatus.REFUSED,
        "The result is incomplete: authorisation is missing.",
    )
    answered = {"authorisation": "auth-7"}
    result = settle_done(
        order_id=order.pk, step="authorise-payment", result=answered, actor=OLGA, reason="seen at the bank"
    )
    step = step_of(order, "authorise-payment")
    assert (result.status, step.state, step.outcome, step.result) == (
        ResultStatus.DONE,
        "completed",
        "done",
        answered,
    )
    event = event_of(order, "settled_done")
    assert (event.detail["result"], event.detail["reason"]) == (answered, "seen at the bank")
    again = settle_done(
        order_id=order.pk, step="authorise-payment", result=answered, actor=OLGA, reason="seen at the bank"
    )
    assert again.status is ResultStatus.ALREADY
    make_reply(step, "refused")  # a reply that still comes changes nothing
    pass_over()
    assert step_of(order, "authorise-payment").state == "completed"
    assert requested_steps(order) == {"create-shipment"}


class IcedCakes(Bakery):
    """Cakes whose icing depends on what was mixed, in whatever words."""

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        ice = replace(cls.step, name="ice", after=("mix",), needs=("mix",))
        return [Workflow(name="bake", version=1, steps=(cls.step, ice))]


def test_a_step_that_declares_nothing_is_not_settled_without_a_result_that_others_need(settings: Any) -> None:
    with business(settings, kinds=[IcedCakes], agents=[Oven()]):
        (workflow,) = IcedCakes.versions(Environment())
        order = make_order(
            {"mix": UNKNOWN, "ice": "not_started"},
            workflow=workflow,
            process_state="error",
            started_at=ago(60),
        )
        how: dict[str, Any] = {"order_id": order.pk, "step": "mix", "actor": OLGA, "reason": "seen"}
        empty = settle_done(result={}, **how)
        assert (empty.status, empty.message) == (
            ResultStatus.REFUSED,
            "Later steps need this step’s result. Give the remote service’s answer.",
        )
        assert settle_done(result={"anything": 1}, **how).status is ResultStatus.DONE


@pytest.mark.pattern("O2", "A3")
def test_a_step_settled_as_not_done_gets_a_new_key() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN})
    options: dict[str, Any] = {"order_id": order.pk, "step": "create-shipment", "actor": OLGA, "reason": "r"}
    assert settle_not_done(**options).status is ResultStatus.DONE
    step = step_of(order, "create-shipment")
    assert (step.state, step.outcome, step.generation) == ("failed", "none", 2)
    assert stored(order).process_state == "error" and has_open_alert(order)
    assert settle_not_done(**options).status is ResultStatus.ALREADY
    assert step_of(order, "create-shipment").generation == 2
    resubmit(order_id=order.pk, actor=OLGA)
    pass_over()
    request = step_of(order, "create-shipment")
    assert (request.state, request.generation, request.attempt) == ("running", 2, 4)


@pytest.mark.pattern("C10", "F34")
def test_a_step_compensated_outside_is_settled_with_proof_and_the_rest_is_compensated() -> None:
    order = in_error(
        {
            "reserve-stock": "completed",
            "authorise-payment": "completed",
            "create-shipment": {"state": "failed", "outcome": "done", "compensation_failure_count": 6},
        },
        goal="compensate",
        failure_count=6,
    )
    options: dict[str, Any] = {"order_id": order.pk, "step": "create-shipment", "actor": OLGA}
    assert settle_compensated(reason="", **options).status is ResultStatus.REFUSED
    assert settle_compensated(reason="the carrier's letter", **options).status is ResultStatus.DONE
    assert settle_compensated(reason="the carrier's letter", **options).status is ResultStatus.ALREADY
    for _ in range(3):
        pass_over()
        answer(order=order)
    pass_over()
    assert stored(order).process_state == "compensated"
    assert event_of(order, "settled_compensated").detail["reason"] == "the carrier's letter"


def test_a_known_outcome_cannot_be_settled() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": REFUSED})
    before = everything(order)
    options: dict[str, Any] = {"order_id": order.pk, "step": "create-shipment", "actor": OLGA, "reason": "r"}
    results = [settle_done(result={}, **options), settle_not_done(**options), settle_compensated(**options)]
    assert {result.status for result in results} == {ResultStatus.REFUSED} and everything(order) == before
