"""The checkout: one order however often the button is pressed, at the shop's prices, and no input is ever lost."""

import re
from typing import Any

import pytest
from django.test import Client

from orders.models import Address, Order, OutgoingMessage, SetAside, SubmissionKey, SubmissionMessage
from orders.shop.models import Product
from tests.support.mailbox import Mailbox, links
from tests.support.order_bodies import EMAIL, LONDON
from tests.web.helpers import in_threads, run_submission
from tests.web.markup import Markup
from tests.web.shopping import FORM, customer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
HOSTILE = "\"'><script>alert(1)</script>{{ 7 }}"


def fill(client: Client, **changes: str) -> dict[str, str]:
    """A cart with one print, and the form that the checkout then shows, filled in."""
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2"})
    return hidden(client) | FORM | changes


def hidden(client: Client) -> dict[str, str]:
    """The hidden fields of the checkout's form."""
    text = client.get("/checkout/").content.decode()
    return dict(re.findall(r'<input type="hidden" name="(key|seen_total)" value="([^"]*)">', text))


def order_of(redirect: Any) -> str:
    """The order that a guest is led to. The rest of the token says when it was made."""
    address: str = redirect.headers["Location"]
    assert address.startswith("/o/")
    return address.partition(".")[0]


def test_a_guest_orders_and_comes_to_the_page_of_the_order_at_once(client: Client) -> None:
    response = client.post("/checkout/", fill(client), follow=True)
    assert response.status_code == 200
    ((address, status),) = response.redirect_chain
    assert re.fullmatch(r"/o/[0-9a-f]{32}\.\w+\.[\w-]+/", address)
    assert status == 302
    assert "We have your order" in response.content.decode()
    run_submission()
    assert not SetAside.objects.exists()
    order = Order.objects.get()
    assert (order.customer, order.email, order.total) == (None, EMAIL, 7800)
    assert order.data["ship_to"]["country"] == "GB"
    assert client.get(address).status_code == 200


def test_a_country_that_the_carrier_does_not_serve_is_not_offered(client: Client) -> None:
    client.post("/cart/add/", {"sku": "tidal-lines", "quantity": "2"})
    form = client.get("/checkout/").content.decode()
    assert '<option value="IS">Iceland</option>' in form
    assert "Antarctica" not in form


def test_a_guest_is_emailed_the_link_to_the_order_once_even_before_it_is_inserted(
    client: Client, inbox: Mailbox
) -> None:
    form = fill(client)
    order = order_of(client.post("/checkout/", form))
    client.post("/checkout/", form)
    (email,) = inbox.deliver()
    assert email["To"] == EMAIL
    assert [link.partition(".")[0] for link in links(email)] == [order]  # the link may be a second younger


def test_a_customer_orders_under_her_account() -> None:
    user, client = customer()
    response = client.post("/checkout/", fill(client))
    run_submission()
    order = Order.objects.get()
    assert order.customer == user
    assert response.headers["Location"] == f"/orders/{order.pk}/"
    assert not OutgoingMessage.objects.exists()


def test_a_customer_finds_her_default_address_filled_in() -> None:
    user, client = customer()
    Address.objects.create(user=user, is_default=True, **LONDON | {"city": "Ockham"})
    fill(client)
    form = client.get("/checkout/").context["form"]
    assert (form["city"].value(), form["email"].value()) == ("Ockham", user.email)


def test_the_cart_is_empty_after_an_order(client: Client) -> None:
    client.post("/checkout/", fill(client))
    assert "Your cart is empty" in client.get("/cart/").content.decode()


def test_the_same_form_sent_again_leads_to_the_same_order(client: Client) -> None:
    form = fill(client)
    first, again = client.post("/checkout/", form), client.post("/checkout/", form)
    assert order_of(first) == order_of(again)
    assert SubmissionMessage.objects.count() == 1


def test_the_form_of_a_placed_order_leads_to_it_even_when_the_cart_is_full_again(
    client: Client,
) -> None:
    form = fill(client)
    first = client.post("/checkout/", form)
    client.post("/cart/add/", {"sku": "first-sun"})
    again = client.post("/checkout/", form | {"city": "Paris"})
    assert order_of(again) == order_of(first)
    assert "First Sun" in client.get("/cart/").content.decode()
    second = client.post("/checkout/", hidden(client) | FORM)
    assert order_of(second) != order_of(first)
    assert SubmissionMessage.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("cities", [("London",) * 6, ("London", "Paris") * 3])
def test_a_button_pressed_many_times_at_once_places_one_order(
    client: Client, cities: tuple[str, ...]
) -> None:
    form = fill(client)

    def press(index: int) -> str:
        browser = Client()
        browser.cookies = client.cookies
        answer = browser.post("/checkout/", form | {"city": cities[index]})
        return answer.headers["Location"].partition(".")[0]

    places = {future.result(timeout=60) for future in in_threads(len(cities), press)}
    # A press that finds the cart empty, but does not see the order yet, leads to the cart.
    assert len(places - {"/cart/"}) == 1
    assert SubmissionMessage.objects.count() == SubmissionKey.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("email", "", "Enter your email address."),
        ("email", "ada@", "Enter a full email address, like name@example.com."),
        ("email", "ada@exämple.com", "Enter an email address in Latin letters without accents."),
        ("email", "a@b.c\nBcc: d@e.f", "Enter a full email address, like name@example.com."),
        ("name", " ", "Enter the recipient’s name."),
        ("name", "A\tB", "Write this on one line."),
        ("street", "", "Enter the street and house number."),
        ("street", "a" * 201, "no more than 200 characters"),
        ("city", "a\x00b", "Write this on one line."),
        ("postal_code", "", "Enter a postcode like EC1Y 8SY."),
        ("country", "", "Choose a country."),
        ("country", "XX", "Choose a country from the list."),
        ("payment_method", "", "Choose how to pay."),
        ("payment_method", "card_free", "Choose one of these ways to pay."),
    ],
)
def test_a_mistake_is_reported_beside_its_field_and_nothing_is_lost(
    client: Client, field: str, value: str, message: str
) -> None:
    response = client.post("/checkout/", fill(client, **{field: value}))
    assert response.status_code == 200
    text = response.content.decode()
    assert message in text
    assert f'aria-describedby="id_{field}_error"' in text
    assert f'id="id_{field}_error"' in text
    for name in ("email", "name", "street", "city", "postal_code"):
        if name != field:
            assert response.context["form"][name].value() == FORM[name]
    assert not SubmissionMessage.objects.exists()


def test_hostile_input_is_shown_harmlessly(client: Client) -> None:
    form = fill(client, name=HOSTILE, street=HOSTILE, city=HOSTILE, postal_code=HOSTILE, email=HOSTILE)
    text = client.post("/checkout/", form).content.decode()
    assert "<script>" not in text
    assert Markup(text).offences == []


def test_a_price_that_has_changed_is_shown_before_anything_is_ordered(client: Client) -> None:
    form = fill(client)
    Product.objects.filter(sku="tidal-lines").update(price=9900)
    text = client.post("/checkout/", form).content.decode()
    assert "The total has changed" in text
    assert "€198.00" in text
    assert not SubmissionMessage.objects.exists()
    client.post("/checkout/", form | hidden(client))
    assert SubmissionMessage.objects.get().body["total"] == 19_800


def test_a_product_unlisted_meanwhile_is_not_ordered_and_the_form_is_kept(client: Client) -> None:
    form = fill(client)
    Product.objects.filter(sku="tidal-lines").update(is_listed=False)
    response = client.post("/checkout/", form)
    assert "no longer for sale" in response.content.decode()
    assert response.context["form"]["street"].value() == FORM["street"]
    assert not SubmissionMessage.objects.exists()
    assert client.get("/checkout/").headers["Location"] == "/cart/"


def test_an_empty_cart_is_not_checked_out(client: Client) -> None:
    assert client.get("/checkout/").headers["Location"] == "/cart/"
    assert client.post("/checkout/", FORM).headers["Location"] == "/cart/"


def test_the_key_of_another_visitors_form_leads_nowhere(client: Client) -> None:
    form = fill(client)
    client.post("/checkout/", form)
    other = Client()
    response = other.post("/checkout/", fill(other) | {"key": form["key"]})
    assert SubmissionMessage.objects.count() == 2
    assert order_of(response) != order_of(client.post("/checkout/", form))


@pytest.mark.parametrize("is_debug", [True, False])
def test_a_demonstration_and_nothing_else_says_that_it_is_one(
    client: Client, settings: Any, is_debug: bool
) -> None:
    fill(client)
    settings.IS_DEMONSTRATION = is_debug
    text = client.get("/checkout/").content.decode()
    assert ("This is a demonstration" in text) == is_debug
    for method in ("card_ok", "card_declined", "card_slow", "card_hangs"):
        assert f'value="{method}"' in text
    assert Markup(text).offences == []


def test_the_checkout_is_not_cached_and_needs_a_token(client: Client) -> None:
    fill(client)
    assert "no-store" in client.get("/checkout/").headers["Cache-Control"]
    assert Client(enforce_csrf_checks=True).post("/checkout/", FORM).status_code == 403
