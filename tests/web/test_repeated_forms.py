"""A form that met an outage comes again, and does its work once: nobody knows whether it was stored the first time."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from orders.models import Address, OrderProcess, OutgoingMessage
from orders.selectors import orders
from orders.shop.fulfilment import PAYMENT
from tests.services.edited_orders import a_placed_order
from tests.services.test_corrections import not_served
from tests.support.factories import ahead
from tests.support.order_bodies import LONDON
from tests.support.people import person, signed_in
from tests.web.shopping import STEPS, declined, done, guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
FIRST, OTHER = {"attempt": "a" * 32}, {"attempt": "b" * 32}
POSTER = {"sku": "tidal-lines", "quantity": "2"}


def cart_of(client: Client) -> Mapping[str, int]:
    quantities: Mapping[str, int] = client.session["cart"]
    return quantities


def test_a_print_is_added_once_for_each_time_that_its_form_is_sent(client: Client) -> None:
    for attempt in (FIRST, FIRST, OTHER):
        answer = client.post("/cart/add/", {**POSTER, **attempt})
        assert (answer.status_code, answer["Location"]) == (302, "/cart/")
    assert cart_of(client) == {"tidal-lines": 4}
    client.post("/cart/add/", POSTER)
    client.post("/cart/add/", POSTER)
    assert cart_of(client) == {"tidal-lines": 8}


def test_an_attempt_that_added_nothing_may_come_again(client: Client) -> None:
    client.post("/cart/add/", {**POSTER, "quantity": "0", **FIRST})
    client.post("/cart/add/", {**POSTER, **FIRST})
    assert cart_of(client) == {"tidal-lines": 2}


def test_an_order_is_put_into_the_cart_again_once(client: Client) -> None:
    page = guest_page(shop_order(done(*STEPS), title="Tidal Lines"))
    client.post(f"{page}again/", FIRST)
    content = cart_of(client)
    assert sum(content.values()) > 0
    client.post(f"{page}again/", FIRST)
    assert cart_of(client) == content
    client.post(f"{page}again/", OTHER)
    assert cart_of(client) == {sku: 2 * quantity for sku, quantity in content.items()}


EMAILED: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "sign-up": ("/account/sign-up/", {"email": "new@example.com"}),
    "forgotten": ("/account/forgotten/", {"email": "new@example.com"}),
    "find": ("/orders/find/", {"number": "00000000-0000-4000-8000-000000000000", "email": "new@example.com"}),
    "renew": ("ORDER/renew/", {}),
}


@pytest.mark.parametrize("name", EMAILED)
def test_an_email_is_requested_once_for_each_time_that_its_form_is_sent(client: Client, name: str) -> None:
    path, fields = EMAILED[name]
    path = path.replace("ORDER/", guest_page(shop_order()))
    for attempt in (FIRST, FIRST, OTHER):
        assert client.post(path, {**fields, **attempt}).status_code in (200, 302)
    assert OutgoingMessage.objects.count() == 2


def test_an_address_is_added_once_and_deleted_once() -> None:
    browser = signed_in(person("customer", "ada"))
    saved = [browser.post("/account/addresses/new/", {**LONDON, **sent}) for sent in (FIRST, FIRST, OTHER)]
    assert [answer["Location"] for answer in saved] == ["/account/addresses/"] * 3
    assert Address.objects.count() == 2
    delete = f"/account/addresses/{Address.objects.latest('pk').pk}/delete/"
    assert [browser.post(delete, FIRST).status_code for _ in range(2)] == [302, 302]
    assert browser.post(delete).status_code == 404
    assert Address.objects.count() == 1


def test_a_session_that_is_gone_may_be_signed_out_again() -> None:
    browser = signed_in(person("customer", "ada"))
    assert [browser.post("/account/sign-out/", FIRST).status_code for _ in range(2)] == [302, 302]


def waiting_for_a_payment() -> OrderProcess:
    return a_placed_order({**done("reserve-stock"), PAYMENT: declined()}, not_before=ahead(3_600))


@pytest.mark.parametrize(
    ("order", "path", "fields"),
    [
        (waiting_for_a_payment, "pay/", {"payment_method": "card_ok"}),
        (waiting_for_a_payment, "cancel/", {}),
        (not_served, "correct/ship_to/", LONDON),
    ],
    ids=["pay", "cancel", "correct"],
)
def test_an_order_is_changed_once(
    client: Client, order: Callable[[], OrderProcess], path: str, fields: Mapping[str, Any]
) -> None:
    process = order()
    page = guest_page(process)
    before, states = orders.order_version(process.order_id), []
    for _ in range(2):
        assert client.post(f"{page}{path}", {**fields, **FIRST}).status_code == 302
        states.append(orders.order_version(process.order_id))
    assert before != states[0] == states[1]


def test_a_sign_in_that_comes_back_without_its_password_has_its_email(client: Client) -> None:
    answer: HttpResponse = client.post("/account/sign-in/", {"username": "ada@example.com", **FIRST})
    assert answer.status_code == 200
    assert b'value="ada@example.com"' in answer.content
