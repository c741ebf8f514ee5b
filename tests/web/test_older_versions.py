"""What an older version of the API took, it still takes, although a newer one refuses it."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.access import api_versions
from orders.business import OrderKind
from orders.models import ApiToken, Order, SetAside, SubmissionMessage
from tests.services.edited_orders import GOUDA
from tests.services.test_corrections import not_served
from tests.support.order_bodies import BODY, order_body
from tests.web.helpers import ORDERS, assert_problem, mistakes, run_submission
from tests.web.test_corrections_api import hers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]

FIRST = "2026-11-26"
"""The version before postal codes, and sizes, were checked."""
WRONG_CODE = {"postal_code": "10115"}


@pytest.fixture
def client_of_first(ada: APIClient) -> APIClient:
    """A client whose token is pinned to the first version."""
    ApiToken.objects.update(version=FIRST)
    return ada


def test_an_order_with_any_postal_code_is_placed_and_inserted(client_of_first: APIClient) -> None:
    answer = client_of_first.post(ORDERS, order_body(ship_to=WRONG_CODE))
    assert (answer.status_code, answer["API-Version"]) == (202, FIRST)
    assert SubmissionMessage.objects.get().body["ship_to"] == BODY["ship_to"] | WRONG_CODE
    run_submission()
    assert Order.objects.get().data["ship_to"] == BODY["ship_to"] | WRONG_CODE
    assert not SetAside.objects.exists()


def test_a_request_may_name_the_older_version(ada: APIClient) -> None:
    body = order_body(ship_to=WRONG_CODE)
    assert mistakes(ada.post(ORDERS, body)) == ["/ship_to/postal_code"]
    assert ada.post(ORDERS, body, headers={"API-Version": FIRST}).status_code == 202
    newest = {"API-Version": api_versions.newest().name}
    assert mistakes(ada.post(ORDERS, body, headers=newest)) == ["/ship_to/postal_code"]


def test_so_are_the_orders_of_a_batch_and_a_quote(client_of_first: APIClient) -> None:
    body = order_body(ship_to=WRONG_CODE)
    assert client_of_first.post(f"{ORDERS}/quote", body).status_code == 200
    batch = {"orders": [{"idempotency_key": "k", "order": body}]}
    (result,) = client_of_first.post(f"{ORDERS}/batch", batch).json()["results"]
    assert result["status"] == 202


@pytest.mark.parametrize("code", [{}, WRONG_CODE])
def test_a_key_is_of_the_same_order_in_all_versions(ada: APIClient, code: dict[str, str]) -> None:
    body = order_body(ship_to=code)
    first = ada.post(ORDERS, body, headers={"API-Version": FIRST, "Idempotency-Key": "k"})
    again = ada.post(ORDERS, body, headers={"Idempotency-Key": "k"})
    assert (first.status_code, again.status_code) == (202, 202)
    assert again["Idempotent-Replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]


@pytest.mark.parametrize(
    ("ship_to", "part"),
    [
        ({"country": "XX"}, "country"),  # which has never been a code of ISO 3166
        ({"country": "AQ"}, "country"),  # as a product that is no longer for sale
        ({"state": "Yukon", "country": "US"}, "state"),  # the first version had no such member
        ({"phone": "none"}, "phone"),
    ],
)
def test_what_was_never_promised_is_refused_in_all_versions(
    client_of_first: APIClient, ship_to: dict[str, str], part: str
) -> None:
    assert mistakes(client_of_first.post(ORDERS, order_body(ship_to=ship_to))) == [f"/ship_to/{part}"]


def test_a_postal_code_was_always_needed(client_of_first: APIClient) -> None:
    body: dict[str, Any] = order_body()
    del body["ship_to"]["postal_code"]
    assert mistakes(client_of_first.post(ORDERS, body)) == ["/ship_to/postal_code"]


def test_corrections_keep_the_rules_in_all_versions(client_of_first: APIClient) -> None:
    """An order takes no other address than one by these rules, whoever changes it."""
    order = hers(client_of_first, not_served())
    changes = {"changes": {"ship_to": GOUDA | WRONG_CODE}}
    answer = client_of_first.post(f"{ORDERS}/{order.pk}/corrections", changes)
    assert mistakes(answer) == ["/changes/ship_to/postal_code"]


def test_a_size_of_any_form_finds_what_there_is(anybody: APIClient) -> None:
    url = "/api/v1/products?size=30 x 40"
    answer = anybody.get(url, headers={"API-Version": FIRST})
    assert (answer.status_code, answer.json()["results"]) == (200, [])
    assert_problem(anybody.get(url), "validation_failed")


def test_a_kind_reads_older_requests_as_the_newest_unless_it_says_otherwise() -> None:
    request = {"cake": "plum"}
    assert OrderKind.update_request(request, FIRST) is request
