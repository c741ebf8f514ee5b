"""A guest who makes an account: what she ordered before with this email becomes hers."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.access.sign_up_links import SignUp, make_token
from orders.fields.order_numbers import spoken_number
from orders.models import Order
from tests.support.finished_orders import archive
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD
from tests.web.shopping import STEPS, customer, done, guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
ORDERS = "/account/orders/"


def sign_up(client: Client, email: str = EMAIL) -> str:
    """Finishes a sign-up, and returns what the next page says."""
    path = f"/account/sign-up/{make_token(SignUp(email=email, next_path=''))}/"
    page = client.post(path, {"new_password1": PASSWORD, "new_password2": PASSWORD}, follow=True)
    assert page.status_code == 200
    return str(page.content.decode())


def test_what_a_guest_ordered_is_in_the_account_that_she_makes_later(client: Client) -> None:
    first, second = shop_order(email="Ada@Example.com"), shop_order()
    old = shop_order(done(*STEPS), process_state="processed", finished_at=timezone.now())
    archive(old.order_id)
    assert "the 3 orders that you placed with this email before are in it" in sign_up(client)
    page = client.get(ORDERS).content.decode()
    for order in (first, second, old):
        assert f"/orders/{order.order_id}/" in page
        assert client.get(f"/orders/{order.order_id}/").status_code == 200
        assert client.get(guest_page(order), follow=True).redirect_chain == [
            (f"/orders/{order.order_id}/", 302)
        ]
        assert Client().get(guest_page(order)).status_code == 403  # it is not everybody's any more


def test_whoever_has_the_link_alone_reads_that_the_order_is_in_the_account_and_nothing_more(
    client: Client,
) -> None:
    order = shop_order()
    sign_up(client)
    _, eve = customer("eve")
    for visitor in (Client(), eve):
        for part in ("", "progress/", "cancel/"):
            answer = visitor.get(f"{guest_page(order)}{part}")
            text = answer.content.decode()
            assert answer.status_code == 403
            assert "This order is in an account" in text and spoken_number(order.order_id) in text
            assert not [detail for detail in ("Tidal Lines", EMAIL, "78.00", "London") if detail in text]
        assert visitor.post(f"{guest_page(order)}cancel/").status_code == 403
    sign_in = f'href="/account/sign-in/?next=%2Forders%2F{order.order_id}%2F"'
    assert sign_in in Client().get(guest_page(order)).content.decode()
    assert sign_in not in eve.get(guest_page(order)).content.decode()


def test_who_has_always_had_the_account_is_not_told_that_she_made_it_later() -> None:
    """As with an order that was placed while signed in, or by a REST client: its emails have the same link."""
    ada, browser = customer("ada")
    order = shop_order(customer=ada, email="somebody.else@example.com")
    text = " ".join(Client().get(guest_page(order)).content.decode().split())
    number = spoken_number(order.order_id)
    assert (
        f"Order {number} belongs to the account that it was placed with, or that was made with its email address"
        " later. Sign in to that account to see the order."
    ) in text
    assert "You made" not in text
    assert browser.get(guest_page(order))["Location"] == f"/orders/{order.order_id}/"


def test_nothing_of_others_is_taken_over(client: Client) -> None:
    eve, _ = customer("eve")
    hers, others = shop_order(customer=eve), shop_order(email="bob@example.com")
    assert "Welcome! Your account is ready.<" in " ".join(sign_up(client).split()).replace(" <", "<")
    assert Order.objects.get(pk=hers.order_id).customer == eve
    assert Order.objects.get(pk=others.order_id).customer is None
    assert client.get(guest_page(others)).status_code == 200


def test_one_order_is_said_as_one(client: Client) -> None:
    shop_order()
    assert "and the order that you placed with this email before is in it" in sign_up(client)


def test_who_has_an_account_already_takes_nothing_over_by_an_old_link(client: Client) -> None:
    User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    order = shop_order()
    assert "You already have an account" in sign_up(client)
    assert Order.objects.get(pk=order.order_id).customer is None


def test_a_link_that_was_too_old_leads_to_the_account_too(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = shop_order()
    sign_up(client)
    monkeypatch.setattr("orders.access.guest_links.VALID_FOR", timedelta(days=-1))
    assert client.get(guest_page(order))["Location"] == f"/orders/{order.order_id}/"
