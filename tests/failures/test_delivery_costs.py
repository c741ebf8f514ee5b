"""What is charged for an order is its total with the delivery, and another country's after a correction (rule 5)."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from orders.models import Order
from orders.shop.models import DeliveryTerms
from tests.support.order_bodies import DELFT, PARIS, order_body
from tests.support.people import api_client, token_of
from tests.support.system import System
from tests.support.wait import until

ORDERS = "/api/v1/orders"


@pytest.fixture
def ada(transactional_db: None) -> APIClient:
    return api_client(token_of(User.objects.create(username="ada")))


def place(system: System, client: APIClient) -> tuple[UUID, int]:
    """Places an order for the Netherlands; returns its id and its total."""
    body = order_body(lines=[{"sku": system.sku, "quantity": 2}], ship_to=DELFT)
    quote = client.post(f"{ORDERS}/quote", body).json()
    placed = client.post(ORDERS, body).json()
    assert placed["total"] == quote["total"]
    order_id = UUID(placed["id"])
    system.acknowledged.append(order_id)
    return order_id, placed["total"]["amount"]


def payments(system: System, order_id: UUID) -> list[tuple[str, Any]]:
    """What the payment gateway did for an order, and for which sum, in the order of time."""
    entries = [entry for entry in system.ledger("payments") if entry["order_id"] == str(order_id)]
    entries.sort(key=lambda entry: entry["at"])
    return [(entry["operation"], entry.get("amount")) for entry in entries]


@pytest.mark.pattern("A3", "T5")
def test_what_is_captured_is_what_was_quoted_although_the_roles_are_killed(
    system: System, ada: APIClient
) -> None:
    processes = system.start_all()
    order_id, total = place(system, ada)
    until(lambda: bool(payments(system, order_id)), what="the authorisation")
    for process in processes.values():
        process.kill()
    system.start_all()
    assert system.wait_until_ended() == ["processed"]
    assert payments(system, order_id) == [("authorise", total), ("capture", total)]
    system.check()


@pytest.mark.pattern("A3", "T5")
def test_after_a_correction_of_the_country_the_new_total_is_captured_and_the_old_one_released(
    system: System, ada: APIClient
) -> None:
    system.environment["CUSTOMER_WAIT"] = "600"
    system.faults("carrier", unserved=["NL"])
    system.start_all()
    order_id, total = place(system, ada)
    url = f"{ORDERS}/{order_id}"
    until(lambda: ada.get(url).json()["waiting_for"] == "customer", what="the refusal")
    prices = dict(DeliveryTerms.objects.values_list("country", "price"))
    dearer = total + prices["FR"] - prices["NL"]
    assert dearer == total + 200
    change = {"changes": {"ship_to": PARIS}}
    refused = ada.post(f"{url}/corrections", change)
    assert refused.status_code == 409
    corrected = ada.post(f"{url}/corrections", {**change, "total": dearer})
    assert corrected.json()["total"]["amount"] == dearer, corrected.content
    assert system.wait_until_ended() == ["processed"]
    assert payments(system, order_id) == [
        ("authorise", total),
        ("void", total),
        ("authorise", dearer),
        ("capture", dearer),
    ]
    assert Order.objects.get(pk=order_id).total == dearer
    system.check()
