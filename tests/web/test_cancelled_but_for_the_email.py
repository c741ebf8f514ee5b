"""An order that is cancelled is called so in every place, also while the email about it cannot be sent."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.models import OrderProcess
from orders.selectors.tracked_orders import order_of_customer
from orders.vocabulary import Reason
from orders.wording.customers.situations import listed_status
from tests.support.factories import ago
from tests.web.shopping import guest_page, note, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]

REVERSED = {"state": "compensated", "attempt": 2, "outcome": "done"}
WAITS = {"state": "compensating", "attempt": 1, "answered": 1, "outcome": "none", "complete_by": None}


def words(text: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))


def cancelled(stock: dict[str, Any] = REVERSED, **fields: Any) -> OrderProcess:
    """An order that its customer has cancelled while the mail server cannot be reached."""
    email = {**WAITS, "waiting_since": ago(60)}
    order = shop_order(
        {"reserve-stock": stock, "authorise-payment": REVERSED, "send-confirmation": email},
        goal="compensate",
        **fields,
    )
    note(order, "compensation_requested", why=Reason.CUSTOMER_CANCELLED)
    return order


def test_the_page_says_that_it_is_cancelled_and_what_is_still_to_come(client: Client) -> None:
    page = client.get(guest_page(cancelled())).content.decode()
    assert 'data-title="Cancelled – Your order' in page and "data-ended" not in page
    assert re.search(r"<title>\s*Cancelled – Your order", page)
    text = words(page)
    for sentence in (
        "Your order was cancelled.",
        "Only our email about it is still to come.",
        "Confirming the cancellation by email : waiting for our mail server",
    ):
        assert text.count(sentence) == 1, text
    for other in (
        "Being cancelled",
        "We’re cancelling your order.",
        "reversing what was done",
        "Cancel the order",
    ):
        assert other not in text


def test_the_progress_over_rest_and_the_lists_say_the_same(ada: APIClient) -> None:
    order = cancelled(customer=ada.user)
    progress = ada.get(f"/api/v1/orders/{order.pk}/progress").json()
    assert (progress["situation"], progress["status"], progress["headline"]) == (
        "reversed",
        "Cancelled",
        "Your order was cancelled.",
    )
    assert progress["sentences"][-1] == "Only our email about it is still to come."
    assert not progress["may_cancel"] and not progress["is_late"]
    tracked = order_of_customer(order_id=order.pk, customer_id=ada.user.pk)
    assert tracked and listed_status(tracked.order).word == "Cancelled"
    account = Client()
    account.force_login(ada.user)
    account_list = words(account.get("/account/orders/").content.decode())
    assert "Cancelled" in account_list and "Being cancelled" not in account_list


@pytest.mark.parametrize(
    ("state", "outcome"), [("running", "unknown"), ("compensating", "done"), ("completed", "done")]
)
def test_nothing_says_so_while_anything_is_left_to_reverse(ada: APIClient, state: str, outcome: str) -> None:
    order = cancelled({"state": state, "attempt": 1, "outcome": outcome}, customer=ada.user)
    progress = ada.get(f"/api/v1/orders/{order.pk}/progress").json()
    assert (progress["situation"], progress["headline"]) == ("cancelling", "We’re cancelling your order.")
    tracked = order_of_customer(order_id=order.pk, customer_id=ada.user.pk)
    assert tracked and listed_status(tracked.order).word == "Being cancelled"
