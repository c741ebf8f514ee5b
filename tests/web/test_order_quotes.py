"""`POST orders/quote`: what an order would be, and the mistakes that it has, before it is placed."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import ANY

import pytest
from django.core.cache import cache
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.test import APIClient

from orders.models import Order, OrderProcess, SubmissionKey, SubmissionMessage
from orders.shop.models import DeliveryTerms, Product
from orders.shop.time_limits import present_limits
from orders.vocabulary import TokenScope
from tests.support.businesses import Bakery, Oven, business
from tests.support.finished_orders import finished_order
from tests.support.order_bodies import TOTAL, order_body
from tests.support.people import api_client, token_of
from tests.web.conftest import Limits
from tests.web.helpers import ORDERS, assert_problem, mistakes, place
from tests.web.test_placing_orders import BAD

QUOTE = f"{ORDERS}/quote"


def quoted(client: APIClient, **changes: Any) -> dict[str, Any]:
    response = client.post(QUOTE, order_body(**changes))
    assert response.status_code == 200, response.content
    body: dict[str, Any] = response.json()
    return body


def test_a_reference_that_is_taken_is_refused(ada: APIClient, bob: APIClient) -> None:
    placed = place(ada, reference="r")
    problem = assert_problem(ada.post(QUOTE, order_body(reference="r")), "reference_taken")
    assert problem["order"]["id"] == placed["id"]
    assert quoted(ada, reference="s") == quoted(bob, reference="r") | {"promised_by": ANY}


def test_a_quote_says_what_the_order_then_is(ada: APIClient) -> None:
    quote = quoted(ada, subject="mine", reply_to="q")
    order = place(ada)
    for name in ("workflow", "title", "total", "lines"):
        assert quote[name] == order[name]
    assert quote["total"] == {"amount": TOTAL, "currency": "EUR"}
    assert quote.keys() == {
        *("workflow", "title", "total", "lines", "promised_by", "usual_seconds", "steps"),
    }
    assert quote["usual_seconds"] is None
    assert quote["steps"] == [
        *("reserve-stock", "authorise-payment", "create-shipment", "capture-payment", "send-confirmation")
    ]


def test_a_quote_says_what_delivery_costs_and_what_tax_is_included(ada: APIClient) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=3, most_days=6, tax_rate=2000)
    quote = quoted(ada)
    assert quote["delivery"] == {
        "price": {"amount": 990, "currency": "EUR"},
        "fewest_days": 3,
        "most_days": 6,
    }
    assert quote["tax"] == {"rate": 2000, "amount": {"amount": 2282, "currency": "EUR"}}
    assert quote["total"] == {"amount": TOTAL + 990, "currency": "EUR"}
    order = place(ada)
    for name in ("delivery", "tax", "total"):
        assert quote[name] == order[name]


def test_it_refuses_a_country_that_is_not_served(ada: APIClient) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=3, most_days=6)
    response = ada.post(QUOTE, order_body(ship_to={"country": "IS", "postal_code": "101"}))
    assert mistakes(response) == ["/ship_to/country"]


def test_it_promises_what_an_order_that_is_placed_now_is_promised(ada: APIClient) -> None:
    before = timezone.now()
    promised_by = parse_datetime(quoted(ada)["promised_by"])
    assert promised_by is not None
    takes = timedelta(seconds=present_limits().order_complete_by)
    assert before + takes <= promised_by <= timezone.now() + takes


def test_it_has_the_prices_of_today(ada: APIClient) -> None:
    Product.objects.filter(sku="first-sun").update(price=5100)
    assert quoted(ada)["total"]["amount"] == 2 * 3900 + 5100


def test_nothing_is_stored(ada: APIClient) -> None:
    response = ada.post(QUOTE, order_body(), headers={"Idempotency-Key": "k"})
    assert response.status_code == 200
    for table in (SubmissionMessage, SubmissionKey, Order, OrderProcess):
        assert not table.objects.exists()
    assert "Idempotent-Replayed" not in ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})


@pytest.mark.parametrize(("changes", "where"), BAD, ids=lambda value: ascii(value)[:60])
def test_it_has_the_mistakes_of_a_post(ada: APIClient, changes: dict[str, Any], where: str) -> None:
    raw = json.dumps(order_body(**changes))
    quote, order = (ada.post(url, raw, content_type="application/json") for url in (QUOTE, ORDERS))
    assert mistakes(quote) == [where]
    assert {**quote.json(), "request_id": ""} == {**order.json(), "request_id": ""}


def test_it_needs_the_scopes_of_a_post(ada: APIClient) -> None:
    reader = api_client(token_of(ada.user, TokenScope.READ))
    assert_problem(reader.post(QUOTE, order_body()), "scope_missing")
    client = api_client(token_of(ada.user, TokenScope.ORDERS))
    problem = assert_problem(client.post(QUOTE, order_body(priority=6)), "scope_missing")
    assert problem["needed_scope"] == "priority"
    assert client.post(QUOTE, order_body(priority=5)).status_code == 200


def test_it_is_not_counted_as_an_order(ada: APIClient, only: Limits) -> None:
    only(orders__account=1, posts__account=2)
    place(ada)
    for _ in range(2):
        quoted(ada)
    assert_problem(ada.post(QUOTE, order_body()), "rate_limited")


def test_it_says_how_long_the_latest_orders_took(ada: APIClient) -> None:
    """Nine in ten of at least twenty."""
    cache.clear()
    for number in range(20):
        order_id = finished_order()
        end = timezone.now()
        OrderProcess.objects.filter(pk=order_id).update(
            workflow="fulfil-order",
            created_at=end - timedelta(seconds=3.5 if number < 19 else 500),
            finished_at=end,
        )
    try:
        assert quoted(ada)["usual_seconds"] == 4
    finally:
        cache.clear()


@pytest.fixture
def bakery(settings: Any) -> Iterator[None]:
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        yield


@pytest.mark.pattern("C4")
@pytest.mark.usefixtures("bakery")
def test_a_kind_without_a_value_has_a_quote_without_a_total(ada: APIClient) -> None:
    quote = ada.post(QUOTE, {"workflow": "bake", "cake": "walnut"}).json()
    promised_by = quote.pop("promised_by")
    assert parse_datetime(promised_by) > timezone.now() + timedelta(minutes=59)
    assert quote == {
        **{"workflow": "bake", "title": "walnut cake", "total": None, "lines": [], "usual_seconds": None},
        "steps": ["mix"],
    }
    assert mistakes(ada.post(QUOTE, {"workflow": "bake"})) == ["/cake"]
