"""What REST clients learn of an order's delivery and tax, and that both stay as they were when it was placed."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from orders.models import Order
from orders.shop import pricing
from orders.shop.models import DeliveryTerms
from tests.support.order_bodies import BODY, TOTAL, order_body
from tests.web.helpers import ORDERS, mistakes, place, run_submission

DELIVERY = {"price": {"amount": 990, "currency": "EUR"}, "fewest_days": 3, "most_days": 6}
TAX = {"rate": 2000, "amount": {"amount": 2282, "currency": "EUR"}}


@pytest.fixture
def terms(db: None) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=3, most_days=6, tax_rate=2000)
    DeliveryTerms.objects.create(country="", price=1990, fewest_days=7, most_days=14)
    DeliveryTerms.objects.create(country="GB", currency="USD", price=1, fewest_days=1, most_days=1)


@pytest.fixture
def only_britain(terms: None) -> None:
    DeliveryTerms.objects.filter(country="").delete()


def told(order: Any) -> dict[str, Any]:
    return {name: order.get(name) for name in ("delivery", "tax", "total")}


BRITISH = {"delivery": DELIVERY, "tax": TAX, "total": {"amount": TOTAL + 990, "currency": "EUR"}}


def test_an_order_says_the_same_of_its_delivery_on_the_queue_and_in_the_database(
    ada: APIClient, terms: None
) -> None:
    placed = place(ada)
    url = placed["links"]["self"]
    assert told(placed) == told(ada.get(url).json()) == BRITISH
    run_submission()
    stored = Order.objects.get(pk=placed["id"])
    assert stored.total == TOTAL + 990
    assert told(ada.get(url).json()) == BRITISH


def test_an_order_keeps_the_terms_on_which_it_was_placed(ada: APIClient, terms: None) -> None:
    placed = place(ada)
    run_submission()
    DeliveryTerms.objects.update(price=1, tax_rate=1)
    assert told(ada.get(placed["links"]["self"]).json()) == BRITISH


def test_a_client_may_ask_for_the_delivery_alone(ada: APIClient, terms: None) -> None:
    placed = place(ada)
    answer = ada.get(placed["links"]["self"], {"fields": "delivery,tax"})
    assert answer.json() == {"delivery": DELIVERY, "tax": TAX}


def test_an_order_without_terms_of_delivery_has_neither(ada: APIClient, catalogue: None) -> None:
    DeliveryTerms.objects.create(country="GB", currency="USD", price=5, fewest_days=1, most_days=1)
    placed = place(ada)
    assert not {"delivery", "tax"} & placed.keys()
    assert placed["total"] == {"amount": TOTAL, "currency": "EUR"}


def test_a_country_without_tax_has_none(ada: APIClient, terms: None) -> None:
    placed = place(ada, ship_to={"country": "is", "postal_code": "101"})
    assert "tax" not in placed
    assert placed["delivery"]["price"] == {"amount": 1990, "currency": "EUR"}


def test_an_order_for_a_country_that_is_not_served_is_refused_there(
    ada: APIClient, only_britain: None
) -> None:
    response = ada.post(ORDERS, order_body(ship_to={"country": "IS", "postal_code": "101"}))
    assert mistakes(response) == ["/ship_to/country"]
    assert response.json()["errors"][0]["detail"] == "Nothing is delivered to IS."


@pytest.mark.parametrize("change", ["dearer", "not served"])
def test_the_same_request_with_the_same_key_is_the_same_order_whatever_delivery_costs_by_now(
    ada: APIClient, terms: None, change: str
) -> None:
    placed = place(ada, key="k")
    if change == "dearer":
        DeliveryTerms.objects.update(price=5_000)
    else:
        DeliveryTerms.objects.filter(currency="EUR", country="").delete()
        DeliveryTerms.objects.filter(currency="EUR").update(country="FR")
    assert place(ada, key="k") == placed


def test_many_orders_take_one_statement_and_each_has_its_own_terms(
    catalogue: None, only_britain: None
) -> None:
    british_address = BODY["ship_to"]
    icelandic_address = {**british_address, "country": "IS", "postal_code": "101"}
    requests = [
        {**BODY, "ship_to": address} for address in (british_address, icelandic_address, british_address)
    ]
    with CaptureQueriesContext(connection) as queries:
        british, icelandic, again = pricing.describe_all(requests)
    assert len(queries) == 1
    assert isinstance(icelandic, pricing.NotDeliveredError)
    assert isinstance(british, dict)
    assert british == again
    assert british["delivery"] == {"price": 990, "fewest_days": 3, "most_days": 6}
    assert british["total"] == TOTAL + 990
