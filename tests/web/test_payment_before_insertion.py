"""Paying for an order that is not inserted is refused, with what is true of that order."""

from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.models import SetAside
from orders.services import customers
from orders.services.act_results import Result
from orders.shop.models import Product
from tests.web.helpers import ORDERS, assert_problem, place, run_submission

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]


def pay(client: APIClient, order: str) -> Any:
    return client.post(f"{ORDERS}/{order}/payment")


def test_an_order_that_is_not_inserted_yet_waits_for_no_payment(ada: APIClient) -> None:
    order = place(ada)
    assert order["waiting_for"] is None
    problem = assert_problem(pay(ada, order["id"]), "not_waiting_for_customer")
    assert (
        problem["detail"]
        == "Nothing of the order has been tried yet. Wait until `waiting_for` is `customer`."
    )


def test_an_order_that_was_set_aside_waits_for_an_operator(ada: APIClient) -> None:
    order = place(ada)
    Product.objects.filter(sku="tidal-lines").delete()
    run_submission()
    assert SetAside.objects.exists()
    body = ada.get(f"{ORDERS}/{order['id']}").json()
    assert (body["waiting_for"], body["waiting_until"]) == ("operator", None)
    problem = assert_problem(pay(ada, order["id"]), "not_waiting_for_customer")
    assert (
        problem["detail"]
        == "The order could not be inserted, and nothing of it is tried until an operator has seen to it."
    )
    assert ada.post(f"{ORDERS}/{order['id']}/cancel").status_code == 202
    assert_problem(pay(ada, order["id"]), "being_cancelled")


def test_an_order_that_is_cancelled_on_the_queue_takes_no_payment(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = place(ada), place(ada)
    assert ada.post(f"{ORDERS}/{early['id']}/cancel").status_code == 202
    assert_problem(pay(ada, early["id"]), "being_cancelled")
    resolve = customers.resolve

    def cancelled_first(*, order_id: UUID, **change: Any) -> Result:
        customers.cancel(order_id=order_id, by=f"user:{ada.user.pk}")
        return resolve(order_id=order_id, **change)

    monkeypatch.setattr(customers, "resolve", cancelled_first)
    assert_problem(pay(ada, late["id"]), "being_cancelled")
