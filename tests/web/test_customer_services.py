"""What a customer may do with an order: cancel it in time, or pay in another way; and how the order ends."""

from typing import Any

import pytest
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.engine.contracts import Workflows
from orders.models import AgentRequest, Alert, OrderProcess, StepState
from orders.services.act_results import ResultStatus
from orders.services.customers import cancel, resolve
from orders.services.order_lock import NoSuchOrderError
from orders.shop.models import Product
from orders.vocabulary import Reason
from tests.support.factories import ahead, make_alert, make_request, step_of
from tests.support.order_bodies import order_body
from tests.support.roles import (
    a_scheduler,
    all_due,
    answer,
    drain,
    event_of,
    everything,
    history,
    states,
    stored,
)
from tests.web.helpers import ORDERS, assert_problem, in_threads, place, run_submission
from tests.web.shopping import FULFIL, STEPS, declined, done, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
SHOP: Workflows = {(FULFIL.name, FULFIL.version): FULFIL}
BEFORE = ("reserve-stock", "authorise-payment")
WAITING = {**done("reserve-stock"), "authorise-payment": declined()}


def to_its_end(order: OrderProcess) -> str:
    """Plays all agents until nothing moves; returns the state of the order."""
    scheduler = a_scheduler(workflows=SHOP)
    for _ in range(20):
        drain(scheduler)
        if not answer(order=order):
            break
    return str(stored(order).process_state)


# Cancelling.


@pytest.mark.parametrize(
    "steps",
    [{}, done("reserve-stock"), {**done("reserve-stock"), "authorise-payment": "running"}, WAITING,
     {**done(*BEFORE), "create-shipment": "running"}, done(*BEFORE, "create-shipment")],
)  # fmt: skip
def test_an_order_can_be_cancelled_until_its_payment_is_sent(steps: dict[str, Any]) -> None:
    order = shop_order(steps)
    for running in StepState.objects.filter(process=order, state="running"):
        make_request(running)
    assert cancel(order_id=order.order_id, by="guest").status is ResultStatus.DONE
    assert event_of(order, "compensation_requested").actor_name == "guest"
    all_due(order)
    assert to_its_end(order) == "compensated"
    assert step_of(order, "capture-payment").attempt == 0


@pytest.mark.parametrize(
    "capture", ["running", "completed", "failed", {"state": "not_started", "attempt": 1}]
)
def test_an_order_cannot_be_cancelled_once_its_payment_is_sent(capture: Any) -> None:
    order = shop_order({**done(*BEFORE, "create-shipment"), "capture-payment": capture})
    before = everything(order)
    assert cancel(order_id=order.order_id, by="guest").status is ResultStatus.REFUSED
    assert everything(order) == before


def test_an_order_that_is_done_is_not_cancelled_even_if_its_payment_was_skipped() -> None:
    order = shop_order({**done(*BEFORE), "capture-payment": "skipped"}, process_state="processed")
    assert cancel(order_id=order.order_id, by="guest").status is ResultStatus.REFUSED


def test_cancelling_twice_cancels_once() -> None:
    order = shop_order(done("reserve-stock"))
    assert cancel(order_id=order.order_id, by="guest").status is ResultStatus.DONE
    before = everything(order)
    assert cancel(order_id=order.order_id, by="guest").status is ResultStatus.ALREADY
    assert everything(order) == before
    assert len(history(order, "compensation_requested")) == 1


def test_cancelling_an_order_in_error_closes_its_alert() -> None:
    order = shop_order({"reserve-stock": "failed"}, process_state="error")
    make_alert(order.order_id, kind="step_failed", code="no", message="no")
    assert cancel(order_id=order.order_id, by="guest").status is ResultStatus.DONE
    assert not Alert.objects.filter(closed_at=None).exists()
    assert to_its_end(order) == "compensated"


def test_an_unknown_order_is_neither_cancelled_nor_paid_for() -> None:
    with pytest.raises(NoSuchOrderError):
        cancel(order_id=uuid7(), by="guest")
    with pytest.raises(NoSuchOrderError):
        resolve(order_id=uuid7(), changes={"payment_method": "card_ok"}, by="guest")


# Paying in another way.


def test_a_declined_payment_is_tried_with_the_other_card_and_a_new_key() -> None:
    order = shop_order(WAITING, not_before=ahead(3600))
    assert (
        resolve(order_id=order.order_id, changes={"payment_method": "card_slow"}, by="guest").status
        is ResultStatus.DONE
    )
    step = step_of(order, "authorise-payment")
    assert (step.state, step.outcome, step.generation, step.not_before) == ("not_started", "none", 2, None)
    assert step.request == {"portions": 1, "payment_method": "card_slow"}
    assert (stored(order).process_state, stored(order).not_before) == ("pending", None)
    drain(a_scheduler(workflows=SHOP))
    request = AgentRequest.objects.get(order_id=order.order_id)
    assert request.key == f"{order.order_id}/authorise-payment/2"
    assert request.body["data"]["payment_method"] == "card_slow"
    assert to_its_end(order) == "processed"
    assert event_of(order, "paid_again").actor_name == "guest"


def test_paying_twice_pays_once() -> None:
    order = shop_order(WAITING, not_before=ahead(3600))
    resolve(order_id=order.order_id, changes={"payment_method": "card_ok"}, by="guest")
    before = everything(order)
    assert (
        resolve(order_id=order.order_id, changes={"payment_method": "card_slow"}, by="guest").status
        is ResultStatus.ALREADY
    )
    assert everything(order) == before


@pytest.mark.parametrize(
    "payment", ["running", "completed", "not_started", {"state": "failed", "outcome": "unknown"}]
)
def test_a_payment_that_does_not_wait_for_its_customer_is_left_alone(payment: Any) -> None:
    order = shop_order({"authorise-payment": payment})
    before = everything(order)
    assert (
        resolve(order_id=order.order_id, changes={"payment_method": "card_ok"}, by="guest").status
        is ResultStatus.ALREADY
    )
    assert everything(order) == before


def test_an_order_being_cancelled_takes_no_money() -> None:
    order = shop_order(WAITING, goal="compensate")
    assert (
        resolve(order_id=order.order_id, changes={"payment_method": "card_ok"}, by="guest").status
        is ResultStatus.REFUSED
    )


def test_an_order_in_error_for_another_cause_stays_there_and_keeps_the_new_card() -> None:
    order = shop_order({"reserve-stock": "failed", "authorise-payment": declined()}, process_state="error")
    assert (
        resolve(order_id=order.order_id, changes={"payment_method": "card_ok"}, by="guest").status
        is ResultStatus.DONE
    )
    assert stored(order).process_state == "error"
    assert states(order) == {"reserve-stock": "failed"}


def test_a_stock_reservation_under_way_is_not_disturbed() -> None:
    order = shop_order(
        {"reserve-stock": "running", "authorise-payment": declined()}, process_state="processing"
    )
    resolve(order_id=order.order_id, changes={"payment_method": "card_ok"}, by="guest")
    drain(a_scheduler(workflows=SHOP))
    assert states(order) == {"reserve-stock": "running", "authorise-payment": "running"}


def test_an_order_whose_customer_did_not_pay_says_so() -> None:
    order = shop_order(WAITING, not_before=ahead(3600))
    all_due(order)
    drain(a_scheduler(workflows=SHOP))
    assert event_of(order, "compensation_requested").detail["why"] == Reason.CUSTOMER_DID_NOT_RESOLVE


@pytest.mark.django_db(transaction=True)
def test_cancelling_and_paying_at_the_same_time_have_one_outcome() -> None:
    order = shop_order(WAITING, not_before=ahead(3600))

    def act(index: int) -> ResultStatus:
        if index % 2:
            return cancel(order_id=order.order_id, by="guest").status
        return resolve(order_id=order.order_id, changes={"payment_method": "card_ok"}, by="guest").status

    acts = [future.result(timeout=60) for future in in_threads(8, act)]
    assert acts[1::2].count(ResultStatus.DONE) == 1
    assert acts[0::2].count(ResultStatus.DONE) <= 1
    assert to_its_end(order) == "compensated"
    assert len(STEPS) == 5


# The API.


def test_a_client_cancels_an_order_and_sees_it_being_compensated(ada: APIClient) -> None:
    order_id = place(ada, lines=[{"sku": "first-sun", "quantity": 1}])["id"]
    run_submission()
    for _ in range(2):
        response = ada.post(f"{ORDERS}/{order_id}/cancel")
        assert response.status_code == 202
        assert (response.json()["id"], response.json()["goal"]) == (order_id, "compensate")
        assert response.headers["ETag"]


def test_a_client_cancels_an_order_before_it_is_inserted(ada: APIClient) -> None:
    placed = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    url = placed["Location"]
    answers = [ada.post(f"{url}/cancel") for _ in range(2)]
    assert [response.status_code for response in answers] == [202, 202]
    assert (answers[0].json()["goal"], answers[0].json()["state"]) == ("compensate", "pending")
    assert answers[0].json() == answers[1].json()
    assert answers[0]["ETag"] == answers[1]["ETag"] != placed["ETag"]
    assert ada.get(url, headers={"If-None-Match": placed["ETag"]}).json() == answers[0].json()
    assert ada.get(url, headers={"If-None-Match": answers[0]["ETag"]}).status_code == 304
    assert ada.get(f"{url}/progress").json()["situation"] == "cancelling"
    assert [event["kind"] for event in ada.get(f"{url}/events").json()["results"]] == [
        "compensation_requested"
    ]
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert (again["Idempotent-Replayed"], again.json()) == ("true", answers[0].json())
    run_submission()
    assert ada.get(url).json()["goal"] == "compensate"
    replayed = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert (replayed.json()["id"], replayed.json()["goal"]) == (placed.json()["id"], "compensate")
    assert OrderProcess.objects.count() == 1


def test_a_client_cancels_an_order_that_was_set_aside_and_sees_it_compensated(ada: APIClient) -> None:
    placed = place(ada)
    url = placed["links"]["self"]
    Product.objects.update(currency="HUF")
    run_submission()
    aside = ada.get(url)
    assert (aside.json()["state"], aside.json()["error"]["code"]) == ("error", "set_aside")
    cancelled = ada.post(f"{url}/cancel")
    assert (cancelled.status_code, cancelled.json()["goal"]) == (202, "compensate")
    assert cancelled["ETag"] != aside["ETag"]
    run_submission()
    ended = ada.get(url).json()
    assert (ended["state"], ended["goal"], ended["steps"]) == ("compensated", "compensate", [])
    assert (ended["lines"], ended["total"]) == (placed["lines"], placed["total"])
    assert ada.get(f"{url}/progress").json()["situation"] == "cancelled"
    for state, ids in {"compensated": [placed["id"]], "error": [], "pending": []}.items():
        assert [order["id"] for order in ada.get(ORDERS, {"state": state}).json()["results"]] == ids
    assert ada.post(f"{url}/cancel").status_code == 202


def test_an_order_that_is_paid_cannot_be_cancelled(ada: APIClient) -> None:
    paid = shop_order({"capture-payment": "running"}, customer=ada.user)
    assert_problem(ada.post(f"{ORDERS}/{paid.order_id}/cancel"), "cannot_be_cancelled")


def test_nobody_can_cancel_somebody_elses_order(ada: APIClient, bob: APIClient) -> None:
    adas, guests = shop_order({}, customer=ada.user), shop_order({})
    for order in (adas, guests):
        assert_problem(bob.post(f"{ORDERS}/{order.order_id}/cancel"), "not_found")
        assert stored(order).goal == "complete"
