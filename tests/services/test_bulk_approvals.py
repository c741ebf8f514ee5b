"""A bulk refund is approved for so many orders and so much money, and gives back no more than that."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orders.engine.contracts import Workflow
from orders.fields.money import Money
from orders.models import ApprovalRequest, BulkAction, BulkItem, Order, OrderProcess, StepState
from orders.selectors.desk.money_back import money_back
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals, bulk, bulk_runner, order_acts
from orders.services.operators.approval_acts import bulk_parameters
from orders.vocabulary import ApprovalAct
from tests.services.operated_orders import BEFORE_SHIPMENT, an_order
from tests.support.businesses import Bakery, Oven, business
from tests.support.desk import due
from tests.support.factories import make_order, make_purchase
from tests.support.roles import stored
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.django_db

BOB, ANN, EVE = (Actor(name=name, ip_address="192.0.2.9") for name in ("bob", "ann", "eve"))
DONE, REFUSED = ResultStatus.DONE, ResultStatus.REFUSED
CHARGED = {**BEFORE_SHIPMENT, "capture-payment": "completed"}


@pytest.fixture(autouse=True)
def above_30(settings: Any) -> None:
    settings.CONFIG = replace(settings.CONFIG, approve_refunds_above={"EUR": 3_000})


def an_order_of(steps: dict[str, Any], **purchase: Any) -> OrderProcess:
    order = an_order(steps, process_state="pending")
    make_purchase(order.pk, **purchase)
    return order


def asked(orders: list[OrderProcess], **more: Any) -> approvals.Asking:
    parameters = bulk_parameters(
        order_ids=[order.pk for order in orders],
        group=None,
        query={},
        kind="compensate",
        selection="the recalled ones",
        waves=[0],
        stop_share=1.0,
        rate=1000.0,
    )
    fields = {"actor": BOB, "reason": "recall", "typed": len(orders), **more}
    return approvals.ask(act=ApprovalAct.BULK, parameters=parameters, **fields)


def request_for(orders: list[OrderProcess]) -> ApprovalRequest:
    answer = asked(orders)
    assert answer.request is not None, answer.result
    return answer.request


def approved(orders: list[OrderProcess]) -> BulkAction:
    assert approvals.approve(request_id=request_for(orders).pk, actor=ANN).status is DONE
    return due(BulkAction.objects.latest("id"))


def results_of(action: BulkAction) -> list[tuple[str, str]]:
    return list(BulkItem.objects.filter(action=action).order_by("position").values_list("state", "result"))


def test_a_request_names_how_many_orders_it_cancels_and_the_sum_of_each_currency() -> None:
    orders = [
        an_order_of(CHARGED),
        an_order_of(CHARGED, total=100),
        an_order_of(CHARGED, total=5_000, currency="JPY"),
        an_order_of(BEFORE_SHIPMENT, total=700),
    ]
    request = request_for(orders)
    assert request.summary == (
        "Cancel 4 orders and refund €40.00 and ¥5,000 and release €7.00: the recalled ones"
    )
    approvals.withdraw(request_id=request.pk, actor=BOB)
    assert request_for(orders[:1]).summary == "Cancel 1 order and refund €39.00: the recalled ones"


def test_an_approval_of_another_sum_or_of_other_orders_is_refused_with_both_figures() -> None:
    orders = [an_order_of(CHARGED), an_order_of(CHARGED)]
    request = request_for(orders)
    Order.objects.filter(pk=orders[0].pk).update(total=390_000)
    result = approvals.approve(request_id=request.pk, actor=ANN)
    assert (result.status, ApprovalRequest.objects.get(pk=request.pk).state) == (REFUSED, "lapsed")
    assert "now cancel 2 orders and refund €3,939.00" in result.message
    assert "the request says: cancel 2 orders and refund €78.00. Ask again." in result.message

    again = request_for(orders)
    assert again.pk != request.pk and "€3,939.00" in again.summary
    OrderProcess.objects.filter(pk=orders[0].pk).update(goal="compensate")
    result = approvals.approve(request_id=again.pk, actor=ANN)
    assert "now cancel 1 order and refund €39.00" in result.message
    assert not BulkAction.objects.exists()
    assert stored(orders[1]).goal == "complete"


def test_an_order_that_gives_back_more_by_its_turn_is_left_out_and_says_why() -> None:
    dearer, charged_since, _, cheaper = orders = [
        an_order_of(CHARGED),
        an_order_of({"reserve-stock": "completed"}, total=100),
        an_order_of(CHARGED),
        an_order_of(CHARGED),
    ]
    action = approved(orders)
    Order.objects.filter(pk=dearer.pk).update(total=3_901)
    Order.objects.filter(pk=cheaper.pk).update(total=3_899)
    StepState.objects.filter(process=charged_since, name="capture-payment").update(outcome="done")
    bulk_runner.run_once()
    assert [stored(order).goal for order in orders] == ["complete", "complete", "compensate", "compensate"]
    (first, second, *_) = results_of(action)
    assert first == (
        "nothing",
        "€39.01 would be given back now, and €39.00 was approved. Ask again.",
    )
    assert second == ("nothing", "€1.00 would be given back now, and nothing was approved. Ask again.")


def test_an_action_from_before_the_rule_refunds_only_what_needs_no_approval(settings: Any) -> None:
    above = settings.CONFIG
    settings.CONFIG = replace(above, approve_refunds_above=None)
    orders = [an_order_of(CHARGED), an_order_of(CHARGED, total=2_999)]
    action = due(
        bulk.create(
            kind="compensate",
            order_ids=[order.pk for order in orders],
            selection="them",
            typed_count=2,
            actor=BOB,
            waves=[0],
        )
    )
    settings.CONFIG = above
    bulk_runner.run_once()
    assert [stored(order).goal for order in orders] == ["complete", "compensate"]
    assert results_of(action)[0] == ("nothing", "Giving €39.00 back needs an admin’s approval.")


@pytest.mark.django_db(transaction=True)
def test_two_who_approve_at_once_and_one_who_cancels_refund_nothing_twice() -> None:
    orders = [an_order_of(CHARGED), an_order_of(CHARGED)]
    request = request_for(orders)

    def act(n: int) -> ResultStatus:
        if n == 2:
            Order.objects.filter(pk=orders[0].pk).update(total=3_000)
            return order_acts.compensate(order_id=orders[0].pk, actor=BOB, reason="she called").status
        return approvals.approve(request_id=request.pk, actor=(ANN, EVE)[n]).status

    *answers, cancelled = all_at_once(3, act)
    assert cancelled is DONE
    is_approved = ApprovalRequest.objects.get(pk=request.pk).state == "approved"
    assert BulkAction.objects.count() == int(is_approved) == answers.count(DONE)
    for action in BulkAction.objects.all():
        due(action)
        bulk_runner.run_once()
        assert [state for state, _ in results_of(action)] == ["nothing", "acted"]


class Loaves(Bakery):
    """Cakes of which each item is reserved alone."""

    name = "bake-loaves"
    workflow = Workflow(
        name="bake-loaves", version=1, steps=(replace(Bakery.step, reserves_value=True, each=lambda *_: []),)
    )

    @classmethod
    def versions(cls, environment: Any) -> list[Workflow]:
        return [cls.workflow]


@pytest.fixture
def loaves(settings: Any) -> Iterator[None]:
    with business(settings, kinds=[Loaves], agents=[Oven()]):
        yield


@pytest.mark.usefixtures("loaves")
def test_what_the_items_of_a_step_have_reserved_goes_back_too() -> None:
    joint = {"state": "awaiting", "outcome": "none", "awaits": {"kind": "items"}, "complete_by": None}
    order = make_order({"mix": joint}, workflow=Loaves.workflow)
    make_purchase(order.pk)
    assert money_back([order.pk]).is_nothing
    item = StepState.objects.get(process=order, name="mix")
    item.pk, item.name, item.position, item.state, item.outcome = None, "mix:1", 9, "completed", "done"
    item.save(force_insert=True)
    assert money_back([order.pk]).held == (Money(amount=3_900, currency="EUR"),)
