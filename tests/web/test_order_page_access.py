"""The page of an order: who may see it, and how a guest finds it again."""

import re
from email.message import EmailMessage
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client
from uuid_utils.compat import uuid7

from orders.access.guest_links import read_token
from orders.models import Event, OutgoingMessage
from orders.services import customers as customer_services
from tests.support.mailbox import Mailbox, links
from tests.support.order_bodies import EMAIL
from tests.support.roles import stored
from tests.web.markup import Markup
from tests.web.shopping import customer, guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
HOSTILE = "\"'><script>alert(1)</script>{{ 7 }}"
PARTS = ("", "progress/", "seen/", "cancel/")


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    cache.clear()


def test_a_customer_sees_her_order_and_nobody_else_does() -> None:
    user, ada = customer("ada")
    _, bob = customer("bob")
    order = shop_order(customer=user)
    for part in PARTS:
        path = f"/orders/{order.order_id}/{part}"
        assert ada.get(path).status_code == (204 if part == "seen/" else 200)
        assert bob.get(path).status_code == Client().get(path).status_code == 404
    for part in ("cancel/", "pay/"):
        for client in (bob, Client()):
            answer = client.post(f"/orders/{order.order_id}/{part}", {"payment_method": "card_ok"})
            assert answer.status_code == 404
    assert stored(order).goal == "complete"
    assert Client().get(guest_page(order)).status_code == 403  # a token works only for a guest's order


def test_a_guests_order_cannot_be_seen_by_its_number() -> None:
    order = shop_order()
    _, ada = customer()
    for client in (ada, Client()):
        assert client.get(f"/orders/{order.order_id}/").status_code == 404
    assert Client().get(guest_page(order)).status_code == 200


def test_a_link_that_was_changed_leads_nowhere() -> None:
    order, other = shop_order(), shop_order()
    good = guest_page(order)
    mixed = f"/o/{order.order_id.hex}.{guest_page(other).partition('.')[2]}"
    for path in (
        mixed,
        good.replace(good[5], "0" if good[5] != "0" else "1"),
        good[:-3] + "/",
        "/o/x/",
        f"/o/{order.order_id}/",
    ):
        for part in PARTS:
            assert Client().get(path + part).status_code == 404
        assert Client().post(f"{path}cancel/").status_code == 404
    assert stored(order).goal == "complete"


def test_hidden_and_missing_orders_look_alike() -> None:
    user, _ = customer("ada")
    _, bob = customer("bob")
    hidden = bob.get(f"/orders/{shop_order(customer=user).order_id}/").content.decode()
    missing = bob.get(f"/orders/{uuid7()}/").content.decode()
    assert hidden == missing


def test_a_guest_has_the_link_emailed_with_one_press(client: Client, inbox: Mailbox) -> None:
    order = shop_order()
    page = guest_page(order)
    assert f'action="{page}renew/"' in client.get(page).content.decode()
    answer = client.post(f"{page}renew/", follow=True)
    assert answer.redirect_chain == [(page, 302)]
    assert "The link is in your email already, or will be there in a few minutes." in answer.content.decode()
    (email,) = inbox.deliver()
    (link,) = links(email)
    assert (email["To"], read_token(link.removeprefix("/o/").rstrip("/"))) == (EMAIL, order.order_id)
    client.post(f"{page}renew/")
    assert inbox.deliver() == [], "not again within minutes"


def test_an_account_is_offered_no_link() -> None:
    user, ada = customer()
    page = ada.get(f"/orders/{shop_order(customer=user).order_id}/").content.decode()
    assert "Email me the link" not in page


def test_the_page_is_not_cached_and_not_indexed(client: Client) -> None:
    response = client.get(guest_page(shop_order()))
    assert "no-store" in response.headers["Cache-Control"]
    assert '<meta name="robots" content="noindex">' in response.content.decode()
    assert response.headers["Referrer-Policy"] == "same-origin"


def ask(client: Client, number: object, email: str) -> str:
    response = client.post("/orders/find/", {"number": str(number), "email": email})
    assert response.status_code == 200
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())


def test_asking_for_a_link_gets_the_same_answer_whether_or_not_the_order_exists(client: Client) -> None:
    order = shop_order()
    answers = {ask(client, order.order_id, EMAIL), ask(client, uuid7(), "eve@example.com")}
    assert len(answers) == 1
    assert "Check your email" in answers.pop()
    assert OutgoingMessage.objects.count() == 2


def test_an_invalid_order_number_is_reported_beside_its_field(client: Client) -> None:
    text = ask(client, HOSTILE, "ada")
    assert "Enter the full order number" in text
    assert 'id="id_email_error"' in text
    assert Markup(text).offences == []
    assert not OutgoingMessage.objects.exists()


def test_only_the_email_of_the_order_is_sent_the_link_and_not_again_at_once(inbox: Mailbox) -> None:
    user, _ = customer()
    guests, hers = shop_order(), shop_order(customer=user)

    def ask_for(order_id: UUID, email: str) -> list[EmailMessage]:
        customer_services.ask_for_link(order_id=order_id, email=email, language="en")
        return inbox.deliver()

    assert ask_for(hers.order_id, EMAIL) == []
    assert ask_for(uuid7(), EMAIL) == []
    assert ask_for(guests.order_id, "eve@example.com") == []
    (email,) = ask_for(guests.order_id, " ADA@example.com")
    assert email["To"] == EMAIL
    (link,) = links(email)
    assert read_token(link.removeprefix("/o/").rstrip("/")) == guests.order_id
    assert ask_for(guests.order_id, " ADA@example.com") == []
    assert Event.objects.filter(order_id=guests.order_id, kind="link_mailed").count() == 1
    states = OutgoingMessage.objects.order_by("id").values_list("state", flat=True)
    assert list(states) == ["skipped", "skipped", "skipped", "sent", "skipped"]
