"""Refunds that need a second person: which they are, and that each is made once another person approves it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orders.models import (
    BulkAction,
    Order,
    OrderProcess,
)
from orders.services.operators import approvals, bulk, bulk_runner, deciding, order_acts
from orders.services.refund_approval import ApprovalNeededError
from orders.vocabulary import ApprovalAct
from tests.services.approval_requests import ANN, BOB, DONE, REFUSED, asked, now_of
from tests.services.operated_orders import BEFORE_SHIPMENT, an_order
from tests.support.businesses import Oven, TastedCakes, business
from tests.support.desk import due
from tests.support.factories import ahead, make_order, make_purchase
from tests.support.roles import stored

pytestmark = pytest.mark.django_db
CHARGED = {**BEFORE_SHIPMENT, "capture-payment": "completed"}


@pytest.fixture
def above_30(settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, approve_refunds_above={"EUR": 3_000})


def a_charged_order(**purchase: Any) -> OrderProcess:
    order = an_order(CHARGED, process_state="pending")
    make_purchase(order.pk, **purchase)
    return order


def cancellation(order: OrderProcess) -> dict[str, Any]:
    return {"order_id": str(order.pk)}


def test_without_the_setting_a_refund_needs_no_approval_and_cannot_be_asked_for() -> None:
    order = a_charged_order()
    answer = approvals.ask(
        act=ApprovalAct.COMPENSATE, parameters=cancellation(order), actor=BOB, reason="r", typed="39.00"
    )
    assert answer.result.message == "This needs no approval. You can do it yourself."
    assert order_acts.compensate(order_id=order.pk, actor=BOB, reason="r").status is DONE


@pytest.mark.parametrize(
    ("sums", "purchase", "is_needed"),
    [
        ({"EUR": 3_899}, {}, True),
        ({"EUR": 3_900}, {}, False),
        ({"EUR": 0}, {}, True),
        ({"GBP": 9_000_000}, {}, True),
        ({"EUR": 3_000, "JPY": 3_900}, {"currency": "JPY"}, False),
        ({"EUR": 0}, {"total": 0}, False),
    ],
)
def test_a_refund_above_the_sum_of_its_currency_needs_approval(
    settings: Any, sums: dict[str, int], purchase: dict[str, Any], is_needed: bool
) -> None:
    settings.CONFIG = replace(settings.CONFIG, approve_refunds_above=sums)
    order = a_charged_order(**purchase)
    result = order_acts.compensate(order_id=order.pk, actor=ANN, reason="r")
    assert (result.status is REFUSED) is is_needed
    assert isinstance(result.cause, ApprovalNeededError) is is_needed
    assert (stored(order).goal == "compensate") is not is_needed


@pytest.mark.usefixtures("above_30")
def test_what_has_taken_no_money_is_cancelled_without_approval() -> None:
    order = an_order({"reserve-stock": "completed"}, process_state="pending")
    make_purchase(order.pk, total=900_000)
    assert order_acts.compensate(order_id=order.pk, actor=BOB, reason="r").status is DONE


@pytest.mark.usefixtures("above_30")
def test_a_large_refund_is_made_once_another_person_approves_it() -> None:
    order = a_charged_order()
    wrong = approvals.ask(
        act=ApprovalAct.COMPENSATE, parameters=cancellation(order), actor=BOB, reason="r", typed="cancel"
    )
    assert (wrong.request, wrong.result.message) == (None, order_acts.UNCONFIRMED)
    request = asked(ApprovalAct.COMPENSATE, cancellation(order), typed="39.00")
    assert request.summary == "Cancel the order and refund €39.00"
    assert stored(order).goal == "complete"
    assert approvals.approve(request_id=request.pk, actor=ANN).status is DONE
    assert stored(order).goal == "compensate"


@pytest.mark.usefixtures("above_30")
def test_an_approval_of_another_sum_counts_for_nothing() -> None:
    order = a_charged_order()
    request = asked(ApprovalAct.COMPENSATE, cancellation(order), typed="39.00")
    Order.objects.filter(pk=order.pk).update(total=400_000)
    result = approvals.approve(request_id=request.pk, actor=ANN)
    assert "€4,000.00 would be given back now, and the request says €39.00" in result.message
    assert (stored(order).goal, now_of(request).state) == ("complete", "lapsed")


@pytest.fixture
def bakery(settings: Any) -> Iterator[None]:
    with business(settings, kinds=[TastedCakes], agents=[Oven()]):
        yield


@pytest.mark.usefixtures("bakery", "above_30")
def test_a_decision_that_refunds_needs_approval_and_others_do_not() -> None:
    steps = {
        "mix": "completed",
        "taste": {"state": "awaiting", "awaits": {"kind": "decision", "choices": ["serve", "bin"]}},
        "flour": {"state": "awaiting", "awaits": {"kind": "event"}},
    }
    order = make_order(steps, workflow=TastedCakes.workflow, not_before=ahead(9_000))
    make_purchase(order.pk)
    choice = {"order_id": order.pk, "step": "taste", "choice": "bin", "note": "burnt", "typed": "39.00"}
    result = deciding.decide(**choice, actor=ANN)
    assert isinstance(result.cause, ApprovalNeededError) and result.cause.act is ApprovalAct.DECIDE
    parameters = {"order_id": str(order.pk), "step": "taste", "choice": "bin"}
    request = asked(ApprovalAct.DECIDE, parameters, reason="burnt", typed="39.00")
    assert approvals.approve(request_id=request.pk, actor=ANN).status is DONE
    again = deciding.decide(**(choice | {"choice": "serve"}), actor=ANN)
    assert again.status is REFUSED  # the answer that was approved counts


def cancelling(orders: list[OrderProcess], **more: Any) -> dict[str, Any]:
    defaults = {"kind": "compensate", "selection": "them", "typed_count": len(orders), "actor": BOB}
    return {"order_ids": [order.pk for order in orders], **defaults, **more}


@pytest.mark.usefixtures("above_30")
def test_every_bulk_action_that_refunds_needs_approval_and_then_refunds_each() -> None:
    small = a_charged_order(total=100)
    with pytest.raises(ApprovalNeededError):
        bulk.create(**cancelling([small]))
    uncharged = an_order({}, process_state="pending")  # may be charged before its turn
    make_purchase(uncharged.pk)
    with pytest.raises(ApprovalNeededError):
        bulk.create(**cancelling([uncharged]))
    free = make_order({}, process_state="pending")
    assert bulk.create(**cancelling([free])).total == 1
    parameters = {
        "kind": "compensate",
        "orders": [str(small.pk), str(uncharged.pk)],
        "selection": "two orders",
        "group": None,
        "query": {},
        "waves": [0],
        "stop_share": 0.2,
        "rate": 1000.0,
    }
    with pytest.raises(bulk.CountMismatchError):
        approvals.ask(act=ApprovalAct.BULK, parameters=parameters, actor=BOB, reason="recall", typed=3)
    request = asked(ApprovalAct.BULK, parameters, reason="recall", typed=2)
    assert BulkAction.objects.count() == 1
    assert approvals.approve(request_id=request.pk, actor=ANN).status is DONE
    action = BulkAction.objects.latest("id")
    assert (action.by, action.reason) == ("ann", f"recall (asked for by bob, request {request.pk})")
    due(action)
    bulk_runner.run_once()
    assert [stored(order).goal for order in (small, uncharged)] == ["compensate", "compensate"]
