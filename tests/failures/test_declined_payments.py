"""A declined payment is resolved over REST, in a whole system: one charge, and each decline is told once."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from tests.support.order_bodies import order_body
from tests.support.people import api_client, token_of
from tests.support.system import System
from tests.support.wait import until

ORDERS = "/api/v1/orders"
QUEUE = "/api/v1/response-queues/shop.1/messages"


@pytest.fixture
def ada(transactional_db: None) -> APIClient:
    return api_client(token_of(User.objects.create(username="ada")))


def place(system: System, client: APIClient) -> str:
    """Places an order with a card that is declined."""
    lines = [{"sku": system.sku, "quantity": 1}]
    response = client.post(ORDERS, order_body(lines=lines, payment_method="card_declined", reply_to="shop.1"))
    assert response.status_code == 202, response.content
    order_id: str = response.json()["id"]
    system.acknowledged.append(UUID(order_id))
    return order_id


def until_it_waits(client: APIClient, order_id: str) -> dict[str, Any]:
    """Waits until the order waits for its customer; returns it."""
    seen: dict[str, Any] = {}

    def waits() -> bool:
        seen.update(client.get(f"{ORDERS}/{order_id}").json())
        return seen["waiting_for"] == "customer"

    until(waits, what="the decline")
    return seen


@pytest.mark.pattern("Q3", "A3", "T5")
def test_a_declined_order_is_paid_for_over_rest_and_charged_once(system: System, ada: APIClient) -> None:
    system.environment["CUSTOMER_WAIT"] = "600"
    processes = system.start_all()
    order_id = place(system, ada)
    waiting = until_it_waits(ada, order_id)
    processes["scheduler"].kill()
    system.start("scheduler")
    *_, message = ada.get(QUEUE).json()["results"]
    assert (message["kind"], message["order_id"]) == ("payment_declined", order_id)
    assert message["body"]["code"] == "card_declined"
    assert message["body"]["waiting_until"] == waiting["waiting_until"]

    assert ada.post(waiting["links"]["payment"]).status_code == 202  # the same card, once more
    until(lambda: len(declines(ada)) == 2, what="the second decline")
    again = until_it_waits(ada, order_id)
    assert again["waiting_until"] > waiting["waiting_until"]

    paid = [ada.post(again["links"]["payment"], {"payment_method": "card_ok"}).status_code for _ in range(2)]
    assert paid == [202, 409]
    assert system.wait_until_ended() == ["processed"]
    assert sorted(system.effects(UUID(order_id))) == ["authorise", "capture", "create", "reserve"]
    assert [message["kind"] for message in ada.get(QUEUE).json()["results"]] == [
        *("received", "started", "payment_declined", "payment_declined", "completed")
    ]
    system.check()


@pytest.mark.pattern("Q3")
def test_an_order_that_nobody_pays_for_tells_its_application_why_it_ended(
    system: System, ada: APIClient
) -> None:
    system.start_all()
    order_id = place(system, ada)
    assert system.wait_until_ended() == ["compensated"]
    *_, declined, ended = ada.get(QUEUE).json()["results"]
    assert (declined["kind"], declined["body"]["code"]) == ("payment_declined", "card_declined")
    assert (ended["kind"], ended["body"]["reason"]) == ("compensated", "customer_did_not_resolve")
    assert (ended["body"]["charged"]["amount"], ended["body"]["refunded"]["amount"]) == (0, 0)
    problem = ada.post(f"{ORDERS}/{order_id}/payment", {"payment_method": "card_ok"})
    assert (problem.status_code, problem.json()["code"]) == (409, "being_cancelled")
    assert system.effects(UUID(order_id)) == ["reserve", "release"]
    system.check()


def declines(client: APIClient) -> list[dict[str, Any]]:
    messages = client.get(QUEUE).json()["results"]
    return [message for message in messages if message["kind"] == "payment_declined"]
