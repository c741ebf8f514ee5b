"""How often clients of the API may do something: each limit refuses with a problem, and says when to go on."""

import pytest
from rest_framework.test import APIClient

from tests.support.order_bodies import order_body
from tests.web.conftest import Limits
from tests.web.helpers import assert_problem


@pytest.mark.parametrize("limit", ["orders__token", "orders__account"])
def test_orders_by_token_are_counted(limit: str, ada: APIClient, bob: APIClient, only: Limits) -> None:
    only(**{limit: 2})
    for _ in range(2):
        assert ada.post("/api/v1/orders", order_body()).status_code == 202
    response = ada.post("/api/v1/orders", order_body())
    assert_problem(response, "rate_limited")
    assert 0 < int(response["Retry-After"]) <= 1_800
    assert bob.post("/api/v1/orders", order_body()).status_code == 202
    assert ada.get("/api/v1/orders").status_code == 200, "reading is not ordering"


def test_everything_else_that_a_token_may_post_is_counted_by_account(
    ada: APIClient, bob: APIClient, only: Limits
) -> None:
    only(posts__account=2)
    order = ada.post("/api/v1/orders", order_body()).json()
    for _ in range(2):
        assert ada.post(f"/api/v1/orders/{order['id']}/cancel").status_code in (202, 409)
    assert_problem(ada.post(f"/api/v1/orders/{order['id']}/cancel"), "rate_limited")
    assert ada.post("/api/v1/orders", order_body()).status_code == 202, "orders have a limit of their own"
    assert bob.post(f"/api/v1/orders/{order['id']}/cancel").status_code == 404


@pytest.mark.parametrize("prefer", ["wait=1", "WAIT=1", 'wait ="1"', "respond-async, Wait=1"])
def test_long_polls_are_counted_by_account(prefer: str, ada: APIClient, only: Limits) -> None:
    only(waits__account=1)
    order = ada.post("/api/v1/orders", order_body()).json()
    url = f"/api/v1/orders/{order['id']}"
    headers = {"Prefer": prefer, "If-None-Match": '"another"'}
    assert ada.get(url, headers=headers).status_code == 200
    assert_problem(ada.get(url, headers=headers), "rate_limited")
    assert ada.get(url).status_code == 200
    assert ada.get(url, headers={"Prefer": "wait=0"}).status_code == 200, "this does not wait"


def test_reads_of_a_response_queue_that_may_wait_are_counted_as_well(ada: APIClient, only: Limits) -> None:
    only(waits__account=1)
    url = "/api/v1/response-queues/mine/messages"
    assert ada.get(f"{url}?wait=0").status_code == 200
    assert_problem(ada.get(f"{url}?wait=0"), "rate_limited")
    assert ada.get(url).status_code == 200


def test_the_catalogue_is_counted_by_address_and_with_a_token_by_account(
    catalogue: None, ada: APIClient, only: Limits
) -> None:
    only(search__address=1, search__account=1)
    for client in (APIClient(), ada):
        assert client.get("/api/v1/products?page_size=1").status_code == 200
        assert_problem(client.get("/api/v1/products?page_size=1"), "rate_limited")
        assert client.get("/api/v1/products").status_code == 200
