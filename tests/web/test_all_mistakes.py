"""All mistakes of an order are reported at once: of form, of the catalogue, of the country and of its address."""

from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.shop.models import DeliveryTerms
from tests.services.edited_orders import GOUDA
from tests.services.test_corrections import not_served
from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS, assert_problem, errors_of, mistakes
from tests.web.test_checkout import fill
from tests.web.test_corrections_api import correct, hers
from tests.web.test_older_versions import client_of_first

__all__ = ["client_of_first"]

pytestmark = pytest.mark.django_db

NOWHERE = "Nothing is delivered to AQ."
BLANK = "This field may not be blank."
UNKNOWN = {"sku": "moon", "quantity": 1}


@pytest.fixture(autouse=True)
def only_britain(db: None) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=3, most_days=6)


def of(client: APIClient, path: str, **changes: Any) -> dict[str, str]:
    body = order_body()
    body["ship_to"] = {**body["ship_to"], **changes.pop("ship_to", {})}
    problem = assert_problem(client.post(path, {**body, **changes}), "validation_failed")
    return {error["pointer"]: error["detail"] for error in problem["errors"]}


@pytest.mark.parametrize("path", [ORDERS, f"{ORDERS}/quote"])
@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"ship_to": {"country": "AQ", "postal_code": ""}}, ["/ship_to/postal_code", "/ship_to/country"]),
        ({"ship_to": {"country": "AQ", "city": ""}}, ["/ship_to/city", "/ship_to/country"]),
        ({"ship_to": {"country": "AQ", "phone": "x"}}, ["/ship_to/country", "/ship_to/phone"]),
        ({"ship_to": {"country": "IS"}}, ["/ship_to/country", "/ship_to/postal_code"]),
        ({"ship_to": {"country": "AQ"}, "email": "ada"}, ["/email", "/ship_to/country"]),
        ({"ship_to": {"country": "XX"}, "email": "ada"}, ["/email", "/ship_to/country"]),
        (
            {"ship_to": {"country": "IS", "postal_code": "101"}, "email": "ada"},
            ["/email", "/ship_to/country"],
        ),
        ({"ship_to": {"postal_code": "1"}, "email": "ada"}, ["/email", "/ship_to/postal_code"]),
        ({"ship_to": {"country": "A"}, "email": "ada"}, ["/email", "/ship_to/country"]),
        ({"ship_to": {"postal_code": "1"}, "lines": [UNKNOWN]}, ["/lines/0/sku", "/ship_to/postal_code"]),
        (
            {"lines": [{"sku": "tidal-lines", "quantity": 0}, UNKNOWN], "ship_to": {"city": 7}},
            ["/lines/0/quantity", "/lines/1/sku", "/ship_to/city"],
        ),
        ({"lines": [], "ship_to": {"country": "AQ"}}, ["/lines", "/ship_to/country"]),
        ({"lines": 7, "ship_to": {"country": "AQ"}}, ["/lines", "/ship_to/country"]),
        ({"lines": [7], "ship_to": {"country": "AQ"}}, ["/lines/0", "/ship_to/country"]),
        ({"lines": [{"sku": 7, "quantity": 1}, UNKNOWN]}, ["/lines/0/sku", "/lines/1/sku"]),
        (
            {"moon": 1, "ship_to": {"country": "AQ", "moon": 1}},
            ["/moon", "/ship_to/country", "/ship_to/moon"],
        ),
    ],
)
def test_a_client_reads_of_all_mistakes_of_an_order_at_once(
    ada: APIClient, path: str, changes: dict[str, Any], pointers: list[str]
) -> None:
    assert sorted(of(ada, path, **changes)) == sorted(pointers)


def test_each_mistake_has_the_sentence_that_it_has_alone(ada: APIClient) -> None:
    errors = of(ada, ORDERS, ship_to={"country": "AQ", "postal_code": ""}, lines=[UNKNOWN])
    assert errors == {
        "/ship_to/postal_code": BLANK,
        "/ship_to/country": NOWHERE,
        "/lines/0/sku": "No product with this SKU is for sale. `GET /api/v1/products` lists those that are.",
    }


@pytest.mark.parametrize("ship_to", [None, 7, [], "AQ", {"country": 7}, {}])
def test_an_address_that_is_none_is_one_mistake_beside_the_others(ada: APIClient, ship_to: Any) -> None:
    body = {**order_body(), "lines": [UNKNOWN], "ship_to": ship_to}
    pointers = mistakes(ada.post(ORDERS, body))
    assert "/lines/0/sku" in pointers
    assert any(pointer.startswith("/ship_to") for pointer in pointers)


def test_a_client_of_an_older_version_reads_what_it_always_read(client_of_first: APIClient) -> None:
    assert list(of(client_of_first, ORDERS, ship_to={"postal_code": "1"}, email="ada")) == ["/email"]


def test_a_client_reads_of_all_mistakes_of_a_correction_at_once(ada: APIClient) -> None:
    order = hers(ada, not_served())
    answer = correct(ada, order, ship_to={**GOUDA, "country": "AQ", "postal_code": "", "phone": "x"})
    assert sorted(mistakes(answer)) == [
        "/changes/ship_to/country",
        "/changes/ship_to/phone",
        "/changes/ship_to/postal_code",
    ]


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize("country", ["AQ", "FR", "XX", ""])
def test_a_customer_reads_of_all_mistakes_of_her_checkout_at_once(client: Client, country: str) -> None:
    sent = fill(
        client, country=country, phone="x", email="ada", payment_method="", gift_note="www.bad.example"
    )
    empty = dict.fromkeys(("name", "street", "city", "postal_code"), "")
    wrong = set(errors_of(client.post("/checkout/", sent | empty)))
    named = {"country", "name", "street", "city", "phone", "email", "payment_method", "gift_note"}
    assert wrong - {"postal_code"} == named
    assert ("postal_code" in wrong) == (country == "FR")
