"""The cart: what is in it, at current prices, who sees it, and that it needs no JavaScript."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from orders.shop.models import Product
from orders.shop.storefront.cart import Cart

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]


def put_in(client: Client, sku: str = "tidal-lines", quantity: object = 1) -> str:
    """Adds a print to the cart, as the button does, and returns the page that follows."""
    response = client.post("/cart/add/", {"sku": sku, "quantity": str(quantity)}, follow=True)
    assert response.redirect_chain == [("/cart/", 302)]
    return response.content.decode()


def cart_of(client: Client) -> Cart:
    """What is in the cart."""
    response = client.get("/cart/")
    assert response.status_code == 200
    cart: Cart = response.context["cart"]
    return cart


def inside(client: Client) -> dict[str, int]:
    return {line.sku: line.quantity for line in cart_of(client).lines}


def test_a_print_that_is_added_is_in_the_cart_and_counted_on_every_page(client: Client) -> None:
    assert "is in your cart" in put_in(client)
    put_in(client)
    put_in(client, "first-sun", 3)
    assert inside(client) == {"tidal-lines": 2, "first-sun": 3}
    assert '<span class="tool__count numbers">5</span>' in client.get("/").content.decode()


def test_an_empty_cart_leads_to_the_posters_and_costs_no_session(client: Client) -> None:
    response = client.get("/cart/")
    assert "Your cart is empty" in response.content.decode()
    assert not client.cookies.get("sessionid")
    assert "tool__count" not in client.get("/").content.decode()


def test_prices_are_current(client: Client) -> None:
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2", "price": "1", "unit_price": "1"})
    Product.objects.filter(sku="tidal-lines").update(price=5000)
    total = cart_of(client).total
    assert total is not None
    assert total.amount == 10_000


def test_quantities_are_changed_and_lines_are_removed(client: Client) -> None:
    put_in(client)
    put_in(client, "first-sun")
    client.post("/cart/change/", {"sku": "tidal-lines", "quantity": "99"})
    client.post("/cart/remove/", {"sku": "first-sun"})
    assert inside(client) == {"tidal-lines": 99}
    client.post("/cart/change/", {"sku": "tidal-lines", "quantity": "0"})
    assert inside(client) == {}


@pytest.mark.parametrize("quantity", ["", "-1", "100", "1.5", "1e1", "٣", "x", "9" * 400, "\x00"])
def test_an_invalid_quantity_changes_nothing_and_is_reported(client: Client, quantity: str) -> None:
    put_in(client, quantity=2)
    response = client.post("/cart/change/", {"sku": "tidal-lines", "quantity": quantity}, follow=True)
    assert "You can order 1 to 99" in response.content.decode()
    assert "You can order 1 to 99" in put_in(client, quantity=quantity)
    assert inside(client) == {"tidal-lines": 2}


def test_there_are_never_more_than_99_of_one_print(client: Client) -> None:
    put_in(client, quantity=98)
    assert "the most you can order" in put_in(client, quantity=5)
    assert inside(client) == {"tidal-lines": 99}


def test_a_cart_holds_a_limited_number_of_different_prints(client: Client) -> None:
    Product.objects.bulk_create(
        Product(sku=f"p{number}", title="P", artist="A", price=1) for number in range(51)
    )
    for number in range(50):
        client.post("/cart/add/", {"sku": f"p{number}"})
    assert "Your cart is full" in put_in(client, "p50")
    assert len(inside(client)) == 50


@pytest.mark.parametrize("sku", ["sold-out", "no-such", "", "\x00", "<script>", "x" * 5000])
def test_a_product_that_is_not_for_sale_cannot_be_added(client: Client, sku: str) -> None:
    assert "no longer for sale" in put_in(client, sku)
    assert inside(client) == {}


def test_a_product_unlisted_meanwhile_is_shown_as_gone_and_left_out_of_the_total(client: Client) -> None:
    put_in(client)
    put_in(client, "first-sun")
    Product.objects.filter(sku="tidal-lines").update(is_listed=False)
    text = client.get("/cart/").content.decode()
    assert "No longer for sale" in text
    assert "Tidal Lines" in text
    assert 'href="/checkout/"' not in text
    total = cart_of(client).total
    assert total is not None
    assert total.amount == 4900


def test_a_product_deleted_meanwhile_is_shown_as_gone(client: Client) -> None:
    put_in(client)
    Product.objects.filter(sku="tidal-lines").delete()
    assert "No longer for sale" in client.get("/cart/").content.decode()
    client.post("/cart/remove/", {"sku": "tidal-lines"})
    assert inside(client) == {}


def test_the_cart_survives_signing_in_and_is_empty_after_signing_out(client: Client) -> None:
    put_in(client)
    client.force_login(User.objects.create(username="ada"))
    assert inside(client) == {"tidal-lines": 1}
    client.logout()
    assert inside(client) == {}


def test_nobody_sees_another_visitors_cart(client: Client) -> None:
    put_in(client)
    assert inside(Client()) == {}


@pytest.mark.parametrize("path", ["/cart/add/", "/cart/change/", "/cart/remove/"])
def test_every_button_is_a_post_with_a_token(path: str) -> None:
    assert Client().get(path).status_code == 405
    assert Client(enforce_csrf_checks=True).post(path, {"sku": "tidal-lines"}).status_code == 403


def test_a_cart_takes_a_fixed_number_of_statements(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    Product.objects.bulk_create(
        Product(sku=f"p{number}", title="P", artist="A", price=1) for number in range(20)
    )
    put_in(client)
    client.get("/cart/")  # shows the message for the last time
    with django_assert_num_queries(3):  # session, products, terms of delivery
        client.get("/cart/")
    for number in range(20):
        client.post("/cart/add/", {"sku": f"p{number}"})
    client.get("/cart/")
    with django_assert_num_queries(3):
        client.get("/cart/")
