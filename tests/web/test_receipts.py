"""The receipt of an order: for whoever may see the order, once its money has been taken, and never before."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from orders.models import Event, Order, OrderProcess
from orders.shop.receipts.contents import has_receipt
from orders.vocabulary import EventKind
from orders.wording.customers.charges import Charge, charge_of
from tests.support.factories import ago
from tests.support.finished_orders import archive
from tests.support.pdf_text import read_pdf
from tests.unit.shop_orders import CAPTURE, PLACED, every_order
from tests.web.shopping import STEPS, customer, done, guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
LINK = "Receipt (PDF)"


def paid_order(**options: Any) -> OrderProcess:
    """An order that was paid for on a day of its own, and is finished."""
    finished = {"process_state": "processed", "started_at": ago(2), "finished_at": ago(1)}
    order = shop_order(done(*STEPS), **(finished | options))
    happened(order, EventKind.STEP_COMPLETED, days=1)
    return order


def happened(order: OrderProcess, kind: str, *, days: int) -> None:
    """Records of the payment that this happened to it so many days after a day in November."""
    event = Event.objects.create(
        order_id=order.order_id, kind=kind, step=CAPTURE, attempt=1, actor_kind="scheduler", actor_name="t"
    )
    Event.objects.filter(pk=event.pk).update(at=PLACED + timedelta(days=days))


def text_of(client: Client, path: str) -> str:
    response = client.get(path)
    assert (response.status_code, response["Content-Type"]) == (200, "application/pdf")
    return "\n".join(read_pdf(response.content).pages)


def test_what_was_paid_is_on_the_receipt(client: Client) -> None:
    order = paid_order()
    text = text_of(client, f"{guest_page(order)}receipt.pdf")
    assert "Paid\n21 November 2026\n" in text
    assert "Tidal Lines · Open edition\n2\n€39.00\n€78.00\nTotal paid\n€78.00\n" in text
    assert "Ships to\nAda\nLane 1\n2611 AB Delft\nNetherlands\n" in text
    assert "efund" not in text


def test_what_delivery_cost_and_the_tax_in_the_total_are_on_it(client: Client) -> None:
    order = paid_order()
    delivery = {"price": 690, "fewest_days": 2, "most_days": 4}
    row = Order.objects.get()
    row.data = {
        **row.data,
        "currency": "EUR",
        "delivery": delivery,
        "tax": {"rate": 2100, "amount": 1473},
        "total": 8490,
    }
    row.total = 7800 + 690
    row.save()
    text = text_of(client, f"{guest_page(order)}receipt.pdf")
    assert "€78.00\nDelivery to the Netherlands\n€6.90\nTotal paid\n€84.90\n" in text
    assert "Total paid\n€84.90\nIncludes 21% VAT\n€14.73\n" in text


def test_the_order_leads_to_it_and_it_is_named_after_the_order(client: Client) -> None:
    page = guest_page(paid_order())
    for part in ("", "progress/"):
        assert f'<a href="{page}receipt.pdf">{LINK}</a>' in client.get(f"{page}{part}").content.decode()
    response = client.get(f"{page}receipt.pdf")
    number = client.get(page).context["order"].number
    assert response["Content-Disposition"] == f'attachment; filename="receipt-{number}.pdf"'
    assert {"private", "no-store"} <= set(response["Cache-Control"].split(", "))


def test_only_who_may_see_the_order_gets_it() -> None:
    user, ada = customer("ada")
    _, bob = customer("bob")
    order, guests = paid_order(customer=user), paid_order()
    path = f"/orders/{order.order_id}/receipt.pdf"
    assert ada.get(path).status_code == 200
    assert bob.get(path).status_code == Client().get(path).status_code == 404
    assert Client().get(f"{guest_page(order)}receipt.pdf").status_code == 403
    assert ada.get(f"/orders/{guests.order_id}/receipt.pdf").status_code == 404
    assert Client().get(f"/o/{guests.order_id}/receipt.pdf").status_code == 404
    assert Client().post(f"{guest_page(guests)}receipt.pdf").status_code == 405


def test_a_link_to_an_accounts_receipt_leads_its_owner_to_it() -> None:
    user, ada = customer("ada")
    order = paid_order(customer=user)
    response = ada.get(f"{guest_page(order)}receipt.pdf")
    assert (response.status_code, response["Location"]) == (302, f"/orders/{order.order_id}/receipt.pdf")


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ({}, "No money was charged or reserved."),
        (
            done("reserve-stock", "authorise-payment"),
            "€78.00 is reserved on your card, and will be released if the order is cancelled.",
        ),
        (
            {**done("reserve-stock", "authorise-payment", "create-shipment"), "capture-payment": "running"},
            "We don’t know yet whether €78.00 was taken.",
        ),
    ],
)
def test_before_the_money_is_known_to_be_taken_there_is_none_and_the_page_says_why(
    client: Client, steps: Any, sentence: str
) -> None:
    page = guest_page(shop_order(steps, process_state="processing"))
    assert LINK not in client.get(page).content.decode()
    response = client.get(f"{page}receipt.pdf")
    text = response.content.decode()
    assert response.status_code == 404
    assert "There’s no receipt yet" in text and sentence in text and f'href="{page}"' in text


def test_an_order_that_was_cancelled_without_a_charge_has_none(client: Client) -> None:
    steps = {name: {"state": "compensated", "attempt": 2} for name in ("reserve-stock", "authorise-payment")}
    order = shop_order(steps, process_state="compensated", goal="compensate", finished_at=ago(1))
    page = guest_page(order)
    assert LINK not in client.get(page).content.decode()
    response = client.get(f"{page}receipt.pdf")
    text = response.content.decode()
    assert response.status_code == 404
    assert "This order has no receipt" in text
    assert "Nothing was charged, and the €78.00 reserved on your card has been released." in text


def refunded(*, payment: str) -> OrderProcess:
    state = "compensated" if payment == "compensated" else "processing"
    steps = {"capture-payment": {"state": payment, "attempt": 2, "outcome": "done"}}
    ends = {"finished_at": ago(1)} if state == "compensated" else {}
    order = shop_order(steps, process_state=state, goal="compensate", **ends)
    happened(order, EventKind.STEP_COMPLETED, days=1)
    if payment == "compensated":
        happened(order, EventKind.STEP_COMPENSATED, days=12)
    return order


def test_what_was_refunded_since_is_on_it_with_its_date(client: Client) -> None:
    page = guest_page(refunded(payment="compensated"))
    assert LINK in client.get(page).content.decode()
    text = text_of(client, f"{page}receipt.pdf")
    assert "Refunded €78.00 on 2 December 2026" in text
    assert "Paid\n21 November 2026\n" in text and "Total paid\n€78.00\n" in text


def test_a_refund_that_is_under_way_is_not_called_done(client: Client) -> None:
    text = text_of(client, f"{guest_page(refunded(payment='compensating'))}receipt.pdf")
    assert "We’ll refund €78.00." in text and "Refunded" not in text


def test_an_archived_order_keeps_its_receipt(client: Client) -> None:
    order = paid_order()
    page = guest_page(order)
    archive(order.order_id)
    assert "Total paid\n€78.00\n" in text_of(client, f"{page}receipt.pdf")


def test_it_is_in_the_readers_language(client: Client) -> None:
    path = f"{guest_page(paid_order())}receipt.pdf"
    response = client.get(path, headers={"Accept-Language": "hu"})
    text = "\n".join(read_pdf(response.content).pages)
    assert "Kifizetve\n2026. november 21.\n" in text and "78,00\xa0EUR" in text


def test_an_order_has_a_receipt_exactly_if_its_charge_is_known() -> None:
    for case in every_order():
        order = case.tracked.order
        payment = next(step for step in order.steps if step.name == CAPTURE)
        assert has_receipt(order) is (payment.outcome == "done"), case.name
        assert has_receipt(order) is (charge_of(order) is Charge.CHARGED), case.name
