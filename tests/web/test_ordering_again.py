"""Ordering again what an order was of: it goes into the cart at today's prices, as far as it is for sale."""

import re

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from orders.models import OrderLine, OrderProcess
from orders.shop.models import Product
from orders.shop.stock import save
from tests.web.shopping import STEPS, customer, done, guest_page, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]


@pytest.fixture
def order() -> OrderProcess:
    """An order that has ended, of two prints of one poster and three of another."""
    order = shop_order(done(*STEPS), process_state="processed", finished_at=timezone.now())
    OrderLine.objects.create(
        order_id=order.order_id, sku="first-sun", title="First Sun", quantity=3, unit_price=2
    )
    return order


def order_again(client: Client, order: OrderProcess) -> tuple[dict[str, int], str]:
    """What is in the cart afterwards, and what the page says."""
    response = client.post(f"{guest_page(order)}again/")
    assert (response.status_code, response["Location"]) == (302, "/cart/")
    (message,) = get_messages(response.wsgi_request)
    return client.session.get("cart", {}), str(message)


def test_everything_goes_into_the_cart_beside_what_is_there(client: Client, order: OrderProcess) -> None:
    client.post("/cart/add/", {"sku": "first-sun", "quantity": 1})
    assert client.get("/cart/").status_code == 200
    assert "Order this again" in client.get(guest_page(order)).content.decode()
    assert order_again(client, order) == (
        {"first-sun": 4, "tidal-lines": 2},
        "Everything from this order is in your cart.",
    )


def test_the_part_that_live_updates_bring_offers_it_once_with_all_that_the_button_needs(
    order: OrderProcess,
) -> None:
    browser, page = Client(enforce_csrf_checks=True), guest_page(order)
    part = browser.get(f"{page}progress/").content.decode()
    whole = Client().get(page).content.decode()
    assert part.count("Order this again") == whole.count("Order this again") == 1
    (token,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', part)
    assert browser.post(f"{page}again/", {"csrfmiddlewaretoken": token})["Location"] == "/cart/"


def test_what_is_no_longer_for_sale_is_left_out_and_named(client: Client, order: OrderProcess) -> None:
    Product.objects.filter(sku="first-sun").update(is_listed=False)
    quantities, message = order_again(client, order)
    assert quantities == {"tidal-lines": 2}
    assert message == (
        "1 print of this order is no longer for sale. What we have of this order is in your cart."
    )


def test_what_is_sold_out_is_left_out_and_what_is_short_is_as_many_as_are_left(
    client: Client, order: OrderProcess
) -> None:
    save({"first-sun": 0})
    assert order_again(client, order) == (
        {"tidal-lines": 2},
        "“First Sun · Open edition” has sold out. What we have of this order is in your cart.",
    )
    assert client.get("/cart/").status_code == 200
    save({"first-sun": 2})
    assert order_again(client, order) == (
        {"tidal-lines": 4, "first-sun": 2},
        "Only 2 of “First Sun · Open edition” are left, and you ordered 3."
        " What we have of this order is in your cart.",
    )


def test_of_an_order_that_has_sold_out_nothing_is_put_into_the_cart(
    client: Client, order: OrderProcess
) -> None:
    save({"first-sun": 0, "tidal-lines": 0})
    quantities, message = order_again(client, order)
    assert quantities == {}
    assert message.count("has sold out.") == 2
    assert "in your cart" not in message


def test_an_order_of_which_nothing_is_for_sale_leaves_the_cart_alone(
    client: Client, order: OrderProcess
) -> None:
    Product.objects.update(is_listed=False)
    assert order_again(client, order) == ({}, "Nothing of this order is for sale any more.")


def fill_cart(client: Client, *others: str) -> None:
    """Leaves no room in the cart, which has these among others."""
    session = client.session
    session["cart"] = {**dict.fromkeys(others, 1), **{f"p{n}": 1 for n in range(50 - len(others))}}
    session.save()


def test_where_the_cart_is_full_it_says_so_and_nothing_of_what_is_for_sale(
    client: Client, order: OrderProcess
) -> None:
    fill_cart(client)
    quantities, message = order_again(client, order)
    assert len(quantities) == 50
    assert message == (
        "Your cart is full: it holds 50 different prints, and 2 prints of this order aren’t in it."
    )


def test_what_a_full_cart_has_already_is_added_and_what_it_has_not_is_counted(
    client: Client, order: OrderProcess
) -> None:
    fill_cart(client, "first-sun")
    quantities, message = order_again(client, order)
    assert (quantities["first-sun"], "tidal-lines" in quantities) == (4, False)
    assert message == (
        "Your cart is full: it holds 50 different prints, and 1 print of this order isn’t in it. "
        "The rest of this order is in your cart."
    )


def test_a_full_cart_and_what_is_gone_and_what_has_sold_out_are_each_said(
    client: Client, order: OrderProcess
) -> None:
    OrderLine.objects.create(order_id=order.order_id, sku="moon", title="Moon", quantity=1, unit_price=2)
    save({"first-sun": 0})
    fill_cart(client)
    assert order_again(client, order)[1] == (
        "“First Sun · Open edition” has sold out. 1 print of this order is no longer for sale. "
        "Your cart is full: it holds 50 different prints, and 1 print of this order isn’t in it."
    )


@pytest.mark.parametrize(("stock", "most"), [(None, 99), (5, 5)])
def test_what_the_cart_has_as_many_of_as_can_be_ordered_is_said(
    client: Client, order: OrderProcess, stock: int | None, most: int
) -> None:
    if stock:
        save({"first-sun": stock})
    client.post("/cart/add/", {"sku": "first-sun", "quantity": most})
    assert client.get("/cart/").status_code == 200
    quantities, message = order_again(client, order)
    assert quantities == {"first-sun": most, "tidal-lines": 2}
    assert message == (
        f"You now have {most} of “First Sun · Open edition” in your cart, the most you can order. "
        "The rest of this order is in your cart."
    )


def test_an_order_under_way_is_not_offered_again(client: Client) -> None:
    assert "Order this again" not in client.get(guest_page(shop_order({}))).content.decode()


def test_nobody_orders_what_somebody_else_ordered() -> None:
    ada, _ = customer("ada")
    _, mallory = customer("mallory")
    order = shop_order(done(*STEPS), process_state="processed", finished_at=timezone.now(), customer=ada)
    assert mallory.post(f"/orders/{order.order_id}/again/").status_code == 404
    assert mallory.get(f"/orders/{order.order_id}/again/").status_code == 405
