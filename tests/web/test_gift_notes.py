"""A gift note: typed at the checkout or sent by a client, shown with the order, and put into the parcel."""

import re
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.access.outage_page import render_outage
from orders.models import Order, StepState, SubmissionMessage
from orders.services.operators.erasing_orders import find_names
from tests.support.factories import ago
from tests.support.order_bodies import BODY, EMAIL
from tests.web.conftest import Desk
from tests.web.helpers import ORDERS, run_submission
from tests.web.shopping import STEPS, done, guest_page, shop_order
from tests.web.test_checkout import fill

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
NOTE = "Happy birthday, Éva! 🎂 <3"


def placed(client: Client, **changes: str) -> Order:
    assert client.post("/checkout/", fill(client, **changes)).status_code == 302
    run_submission()
    return Order.objects.get()


def note_field(page: str) -> str:
    match = re.search(r'<details class="panel form__part gift-note"(.*?)</details>', page, re.DOTALL)
    assert match
    return match[1]


def test_the_note_goes_with_the_order_to_the_carrier_and_into_the_confirmation_alone(client: Client) -> None:
    order = placed(client, gift_note=NOTE)
    assert order.data["gift_note"] == NOTE
    requests = dict(StepState.objects.filter(process=order.pk).values_list("name", "request"))
    assert requests["create-shipment"]["gift_note"] == NOTE
    with_note = {name for name, request in requests.items() if "gift_note" in request}
    assert with_note == {"create-shipment", "send-confirmation"}
    assert requests["send-confirmation"]["gift_note"] == NOTE


def test_an_order_without_a_note_is_what_it_was_before_there_were_notes(client: Client) -> None:
    order = placed(client, gift_note="  \r\n ")
    assert "gift_note" not in order.data
    assert "gift_note" not in StepState.objects.get(process=order.pk, name="create-shipment").request


def test_what_was_typed_on_several_lines_is_one_paragraph(client: Client) -> None:
    assert (
        placed(client, gift_note=" Dear Éva,\r\n\r\nenjoy it. \n").data["gift_note"] == "Dear Éva, enjoy it."
    )


@pytest.mark.parametrize(
    ("note", "mistake"),
    [
        ("x" * 301, "Use no more than 300 characters."),
        ("See www.example.com", "This can’t contain a web address."),
        ("bell\a", "Write this on one line."),
    ],
)
def test_a_note_that_cannot_be_taken_is_kept_beside_what_is_wrong_with_it(
    client: Client, note: str, mistake: str
) -> None:
    page = client.post("/checkout/", fill(client, gift_note=note)).content.decode()
    assert not SubmissionMessage.objects.exists()
    field = note_field(page)
    assert field.startswith("\n         open>") or " open>" in field.partition("<summary")[0]
    assert mistake in field and f">\n{note}</textarea>" in field


def test_a_note_is_kept_after_another_mistake(client: Client) -> None:
    page = client.post("/checkout/", fill(client, gift_note=NOTE, city="")).content.decode()
    field = note_field(page)
    assert "open>" in field.partition("<summary")[0]
    assert "Happy birthday, Éva! 🎂 &lt;3</textarea>" in field


def test_the_note_is_folded_away_until_somebody_wants_one(client: Client) -> None:
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2"})
    field = note_field(client.get("/checkout/").content.decode())
    assert "open" not in field.partition("<summary")[0]
    assert 'maxlength="300"' in field and "Up to 300 characters" in field


def test_a_note_is_kept_while_the_database_is_away(client: Client, rf: Any) -> None:
    note = "Two\nlines"
    request = rf.post("/checkout/", {"gift_note": note, "key": "k"})
    request.resolver_match = client.get("/checkout/", follow=True).resolver_match
    request.resolver_match.view_name = "shop:checkout"
    request.csrf_processing_done = True
    assert f'name="gift_note" value="{note}"' in render_outage(request, wait=5)


def test_the_orders_page_shows_it(client: Client) -> None:
    order = shop_order()
    page = guest_page(order)
    assert "Gift note" not in client.get(page).content.decode()
    Order.objects.update(data={**Order.objects.get().data, "gift_note": NOTE})
    text = client.get(page).content.decode()
    assert "<dt>Gift note for the parcel</dt>" in text and "Happy birthday, Éva! 🎂 &lt;3" in text


def test_the_console_shows_it(desk: Desk) -> None:
    order = shop_order()
    path = f"/console/orders/{order.order_id}/"
    assert "Gift note" not in desk("viewer").get(path).content.decode()
    Order.objects.update(data={**Order.objects.get().data, "gift_note": NOTE})
    text = desk("viewer").get(path).content.decode()
    assert "<dt>Gift note</dt>" in text and "Happy birthday, Éva! 🎂 &lt;3" in text


def test_it_is_part_of_what_is_erased_with_its_customer() -> None:
    shop_order()
    Order.objects.update(data={**Order.objects.get().data, "gift_note": NOTE})
    assert NOTE in find_names(EMAIL, [])


def test_ordering_again_leaves_it_out(client: Client) -> None:
    order = shop_order(done(*STEPS), process_state="processed", started_at=ago(2), finished_at=ago(1))
    Order.objects.update(data={**Order.objects.get().data, "gift_note": NOTE})
    client.post(f"{guest_page(order)}again/")
    assert "Happy birthday" not in client.get("/checkout/").content.decode()


def test_a_client_sends_one_and_a_key_stands_for_an_order_with_its_note(ada: APIClient) -> None:
    headers = {"Idempotency-Key": "gift"}
    assert ada.post(ORDERS, {**BODY, "gift_note": NOTE}, headers=headers).status_code == 202
    assert ada.post(ORDERS, {**BODY, "gift_note": NOTE}, headers=headers).status_code == 202
    assert SubmissionMessage.objects.get().body["gift_note"] == NOTE
    assert ada.post(ORDERS, BODY, headers=headers).status_code == 422


@pytest.mark.parametrize("note", ["", " ", 5, None, "x" * 301, "a\nb", "see www.example.com"])
def test_a_clients_note_that_cannot_be_taken_is_refused_by_name(ada: APIClient, note: Any) -> None:
    answer = ada.post(ORDERS, {**BODY, "gift_note": note})
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/gift_note"]


@pytest.mark.parametrize("note", ["Dear Éva,\nenjoy it.", "Dear Éva,\r\nenjoy it.", "bell\a"])
def test_a_client_is_told_what_to_do_with_its_line_breaks(ada: APIClient, note: str) -> None:
    (mistake,) = ada.post(ORDERS, {**BODY, "gift_note": note}).json()["errors"]
    assert mistake["detail"] == (
        "This must be one line. Put a space in place of each line break, and leave out other control characters."
    )
