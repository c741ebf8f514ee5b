"""What was just refused is not sent again: the order's page and the API say so at once, and where."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.models import Event, OrderProcess
from orders.shop.demo.delivery import load_delivery
from tests.services.edited_orders import GOUDA, a_placed_order
from tests.services.test_corrections import not_served, waits
from tests.support.factories import ahead
from tests.support.order_bodies import DELFT
from tests.support.roles import everything
from tests.web.helpers import ORDERS, assert_problem
from tests.web.test_correction_pages import SHORT, page, send, words
from tests.web.test_corrections_api import correct, hers

pytestmark = pytest.mark.django_db

TWO_AND_ONE = {"lines.tidal-lines": "2", "lines.first-sun": "1"}
"""What was ordered."""


def refused_there(country: str = "NL") -> OrderProcess:
    """An order to the Netherlands, of which the carrier has said to which country it does not deliver."""
    refusal = waits("address_not_served", detail={"country": country})
    steps = {"reserve-stock": "completed", "authorise-payment": "completed", "create-shipment": refusal}
    return a_placed_order(steps, not_before=ahead(3_600))


def sold_out(*lines: tuple[str, int]) -> OrderProcess:
    detail = {"lines": [{"sku": sku, "left": number} for sku, number in lines]}
    return a_placed_order({"reserve-stock": waits("sold_out", detail=detail)}, not_before=ahead(3_600))


@pytest.mark.parametrize("address", [DELFT, GOUDA])
def test_a_country_that_was_just_refused_is_refused_at_its_input(
    client: Client, address: dict[str, str]
) -> None:
    response = send(client, refused_there(), "ship_to", **address)
    assert response.status_code == 422
    sentence = "Our carrier doesn’t deliver to the Netherlands. Choose another country."
    assert response.context["form"].errors == {"country": [sentence]}
    assert sentence in words(response)
    assert not Event.objects.exists()


@pytest.mark.parametrize("other", [{}, {"name": "Grace Hopper"}, {"phone": "+31 15 215 9111"}])
def test_an_address_that_was_just_refused_is_refused_whoever_gets_it(
    client: Client, other: dict[str, str]
) -> None:
    response = send(client, not_served(), "ship_to", **{**DELFT, **other})
    assert response.status_code == 422
    assert response.context["form"].non_field_errors() == [
        "Our carrier doesn’t deliver to this address. Give us another one."
    ]
    assert not Event.objects.exists()


def test_another_country_than_the_refused_one_is_taken(client: Client) -> None:
    load_delivery()
    order = refused_there("IS")
    assert send(client, order, "ship_to", **GOUDA).status_code == 302


def test_what_there_is_not_enough_of_is_not_tried_again_as_it_was(client: Client) -> None:
    """Of which product there is not enough, the warehouse has not said."""
    response = send(client, sold_out(), "lines", **TWO_AND_ONE)
    assert response.status_code == 422
    assert response.context["form"].non_field_errors() == [
        "We don’t have enough for this. Order fewer, or cancel the order."
    ]
    assert not Event.objects.exists()


def test_a_client_is_told_at_once_where_the_repeated_country_is(ada: APIClient) -> None:
    text = "ship_to.country must be another one: the carrier has refused to deliver to NL."
    order = hers(ada, refused_there())
    assert_refused(ada, order, {"ship_to": GOUDA}, "/changes/ship_to/country", text)


def test_a_client_is_told_at_once_that_the_address_is_the_refused_one(ada: APIClient) -> None:
    text = "ship_to must be another address: the carrier has refused to deliver to this one."
    assert_refused(ada, hers(ada, not_served()), {"ship_to": DELFT}, "/changes/ship_to", text)


@pytest.mark.parametrize(
    ("lines", "pointer", "text"),
    [
        (
            [("first-sun", 0), ("tidal-lines", 2)],
            "/changes/lines/1/quantity",
            "lines[1].quantity must be at most 1, as many as are left.",
        ),
        (
            [("first-sun", 1), ("tidal-lines", 1)],
            "/changes/lines/0/quantity",
            "lines[0].quantity must be 0, because none are left.",
        ),
        (
            [("tidal-lines", 1)],
            "/changes/lines",
            "lines must also name 'first-sun', of which none are left.",
        ),
        (
            [("first-sun", 0)],
            "/changes/lines",
            "lines must also name 'tidal-lines', of which only 1 is left.",
        ),
    ],
)
def test_a_client_is_told_at_once_of_what_there_is_still_not_enough(
    ada: APIClient, lines: list[tuple[str, int]], pointer: str, text: str
) -> None:
    order = hers(ada, sold_out(("tidal-lines", 1), ("first-sun", 0)))
    changes = {"lines": [{"sku": sku, "quantity": quantity} for sku, quantity in lines]}
    assert_refused(ada, order, changes, pointer, text)


def test_a_client_is_told_at_once_that_the_quantities_are_the_refused_ones(ada: APIClient) -> None:
    changes = {"lines": [{"sku": "tidal-lines", "quantity": 2}]}
    text = "lines must be of fewer than the warehouse has refused."
    assert_refused(ada, hers(ada, sold_out()), changes, "/changes/lines", text)


@pytest.mark.parametrize("make", [not_served, refused_there, sold_out])
def test_with_no_changes_a_client_has_it_tried_again_all_the_same(ada: APIClient, make: Any) -> None:
    """The service may have changed its mind."""
    assert correct(ada, hers(ada, make())).status_code == 202


def test_the_same_card_may_be_tried_again(ada: APIClient) -> None:
    declined = waits("card_declined")
    order = a_placed_order({"authorise-payment": declined}, not_before=ahead(3_600))
    assert correct(ada, hers(ada, order), payment_method="card_ok").status_code == 202


@pytest.mark.parametrize("detail", [{"country": 7}, {"lines": 7}, {"lines": [{"sku": "first-sun"}]}, None])
@pytest.mark.parametrize("code", ["address_not_served", "sold_out"])
def test_whatever_the_service_says_the_same_is_refused_and_something_else_is_taken(
    ada: APIClient, code: str, detail: Any
) -> None:
    step = {"address_not_served": "create-shipment", "sold_out": "reserve-stock"}[code]
    same: dict[str, Any] = {"ship_to": DELFT}
    other: dict[str, Any] = {"ship_to": GOUDA}
    if code == "sold_out":
        same = {"lines": [{"sku": "first-sun", "quantity": 1}]}
        other = {"lines": [{"sku": "first-sun", "quantity": 0}]}
    order = hers(ada, a_placed_order({step: waits(code, detail=detail)}, not_before=ahead(3_600)))
    assert correct(ada, order, **same).status_code == 400
    assert correct(ada, order, **other).status_code == 202


def test_the_address_form_says_first_what_was_refused(client: Client) -> None:
    text = page(client, refused_there(), "correct/ship_to/")
    assert (
        "Give another address We can’t send your order to this address. Our carrier doesn’t deliver to the "
        "Netherlands. Nothing has been charged, and we’re keeping your posters for you. Give us another address, or "
        "cancel the order. Your time for this runs out" in text
    )


def test_the_form_for_fewer_says_first_what_was_refused(client: Client) -> None:
    text = page(client, sold_out(("tidal-lines", 1), ("first-sun", 0)), "correct/lines/")
    assert (
        "Change what you ordered We don’t have enough posters for your order. Nothing has been charged. You can "
        "change what you ordered, or cancel the order." in text
    )


def test_each_form_says_what_its_own_step_was_refused_for(client: Client) -> None:
    steps = {
        "reserve-stock": "completed",
        "authorise-payment": waits("card_declined"),
        "create-shipment": waits("address_not_served", detail={"country": "NL"}),
    }
    text = page(client, a_placed_order(steps, not_before=ahead(3_600)), "correct/ship_to/")
    assert "We can’t send your order to this address." in text
    assert "Your card was declined" not in text


def test_the_question_about_the_new_total_says_it_no_more(client: Client) -> None:
    order = sold_out(("tidal-lines", 1), ("first-sun", 0))
    text = words(send(client, order, "lines", **SHORT))
    assert "Your order will cost €39.00 instead of €127.00." in text
    assert "We don’t have enough posters" not in text


def assert_refused(
    client: APIClient, order: OrderProcess, changes: dict[str, Any], pointer: str, text: str
) -> None:
    before = everything(order)
    response = client.post(f"{ORDERS}/{order.pk}/corrections", {"changes": changes})
    (mistake,) = assert_problem(response, "validation_failed")["errors"]
    assert mistake == {"pointer": pointer, "detail": text}
    assert everything(order) == before
