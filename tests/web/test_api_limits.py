"""How often clients of the API may do something: each limit refuses with a problem, and says when to go on."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError
from rest_framework.test import APIClient

from orders.access import limits, purses
from orders.access.purses import PURSES
from orders.api import rate_limits
from orders.api.document import render
from orders.models import ApiToken, Bucket
from sasweb.limits import DEFAULTS
from tests.support.order_bodies import order_body
from tests.support.people import api_client
from tests.web.conftest import Limits
from tests.web.helpers import ORDERS, assert_problem
from tests.web.test_limits import pass_time

OF_THE_API = ("reads", "orders", "posts", "waits", "search", "anonymous", "callbacks", "webhook_tests")
"""What is counted of the API, the first part of a limit's name."""


@pytest.fixture
def let_pass(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Stops the clocks of the limits, so that seconds pass only when this is called, however slow the machine is.

    In the database it is the time at which the test's transaction began, because all of the test is in it.
    """
    passed = 0

    def pass_seconds(seconds: int) -> None:
        nonlocal passed
        pass_time(seconds)
        passed += seconds

    assert "statement_timestamp()" in limits.TAKE
    monkeypatch.setattr(
        limits, "TAKE", limits.TAKE.replace("statement_timestamp()", "transaction_timestamp()")
    )
    monkeypatch.setattr(PURSES, "_clock", lambda: passed)
    return pass_seconds


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


# Reads.


@pytest.mark.parametrize("method", ["get", "head", "options"])
def test_reads_with_a_token_are_counted_by_account(
    method: str, ada: APIClient, bob: APIClient, only: Limits
) -> None:
    only(reads__account=2)
    for _ in range(2):
        assert getattr(ada, method)(ORDERS).status_code == 200
    assert getattr(ada, method)(ORDERS).status_code == 429
    assert_problem(ada.get(f"{ORDERS}?state=pending"), "rate_limited")
    assert bob.get(ORDERS).status_code == 200
    assert ada.post(ORDERS, order_body()).status_code == 202, "ordering is not reading"


@pytest.mark.parametrize("path", ["/api/v1/products", "/api/schema/", "/api/docs/", "/callbacks/nobodys"])
def test_reads_without_a_token_are_counted_by_address(path: str, catalogue: None, only: Limits) -> None:
    only(anonymous__address=2)
    expected = 405 if path.startswith("/callbacks/") else 200
    for _ in range(2):
        assert APIClient().get(path).status_code == expected
    assert_problem(APIClient().get(path), "rate_limited")
    assert APIClient(REMOTE_ADDR="203.0.113.9").get(path).status_code == expected


def test_tokens_that_are_not_valid_are_counted_by_address_and_valid_ones_are_not(
    ada: APIClient, bob: APIClient, only: Limits
) -> None:
    only(anonymous__address=2)
    ApiToken.objects.filter(user=bob.user).update(
        created_at="2019-01-01T00:00Z", expires_at="2020-01-01T00:00Z"
    )
    assert_problem(bob.get(ORDERS), "token_expired")
    stranger = api_client("unknown")
    assert_problem(stranger.post(ORDERS, order_body()), "invalid_token")
    for client in (stranger, bob):
        assert_problem(client.get(ORDERS), "rate_limited")
    assert ada.get(ORDERS).status_code == 200


def test_what_needs_no_database_is_answered_although_the_limiter_cannot_be_asked(
    ada: APIClient, only: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_numbers: object) -> None:
        raise OperationalError("the connection is lost")

    only(anonymous__address=1, reads__account=1)
    monkeypatch.setattr(purses, "ask", fail)
    for path in ("/api/schema/", "/api/docs/", "/api/problems/", "/api/problems/unavailable"):
        response = APIClient().get(path)
        assert response.status_code == 200
        assert "RateLimit" not in response
    assert_problem(api_client("unknown").get(ORDERS), "invalid_token")
    for client, path in ((ada, ORDERS), (APIClient(), "/api/v1/products")):
        assert_problem(client.get(path), "unavailable")


# What an answer says.


@pytest.mark.usefixtures("let_pass")
def test_every_answer_that_was_counted_says_what_is_left(ada: APIClient, only: Limits) -> None:
    only(reads__account=3, orders__account=3, orders__token=2)
    policy = '"orders.account";q=3;w=3600, "orders.token";q=2;w=3600'
    for number, status in ((2, 202), (1, 422), (0, 429)):
        body = order_body(email="b@example.org" if status == 422 else "a@example.org")
        response = ada.post(ORDERS, body, headers={"Idempotency-Key": "k"})
        assert response.status_code == status
        assert response["RateLimit-Policy"] == policy
        account, token = response["RateLimit"].split(", ")
        assert account == f'"orders.account";r={number};t=1200'
        assert token == f'"orders.token";r={max(0, number - 1)};t=1800'
    order = ada.get(ORDERS)
    assert (order.status_code, order["RateLimit"]) == (200, '"reads.account";r=2;t=1200')
    missing = ada.get(f"{ORDERS}/{UUID(int=1)}")
    assert (missing.status_code, missing["RateLimit"]) == (404, '"reads.account";r=1;t=1200')


def test_what_is_left_counts_down_one_by_one_and_never_below_nothing(
    ada: APIClient, only: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(reads__account=20)
    monkeypatch.setattr(purses, "HANDFULS", 7)
    numbers = [int(ada.get(ORDERS)["RateLimit"].split(";")[1].removeprefix("r=")) for _ in range(22)]
    assert numbers == [*range(19, -1, -1), 0, 0]


def test_a_full_bucket_of_any_size_counts_down_exactly(ada: APIClient, only: Limits) -> None:
    for most in (1, 3, 7, 11, 77, 599):
        only(posts__account=most)
        Bucket.objects.all().delete()
        response = ada.delete("/api/v1/response-queues/mine/messages/1")
        assert response["RateLimit"].startswith(f'"posts.account";r={most - 1};')


def test_without_limits_an_answer_says_nothing_of_them(ada: APIClient, only: Limits) -> None:
    only()
    for response in (ada.get(ORDERS), ada.post(ORDERS, order_body()), APIClient().get("/api/v1/products")):
        assert not {"RateLimit", "RateLimit-Policy"} & set(response.headers)


@pytest.mark.parametrize("limit", ["reads__account", "orders__account", "search__address"])
def test_after_the_time_that_it_was_told_a_client_goes_on_and_a_second_earlier_it_does_not(
    limit: str, ada: APIClient, only: Limits, let_pass: Callable[[int], None]
) -> None:
    only(**{limit: 4})

    def ask() -> Any:
        if limit == "orders__account":
            return ada.post(ORDERS, order_body())
        return ada.get(ORDERS if limit == "reads__account" else "/?q=tidal")

    for _ in range(4):
        assert ask().status_code in (200, 202)
    refused = ask()
    assert (refused.status_code, refused["Retry-After"]) == (429, "900")
    let_pass(899)
    early = ask()
    assert (early.status_code, early["Retry-After"]) == (429, "1")
    let_pass(1)
    assert ask().status_code in (200, 202)


@pytest.mark.usefixtures("let_pass")
def test_the_problem_says_which_limit_is_used_up_and_when_to_go_on(ada: APIClient, only: Limits) -> None:
    only(orders__account=4, orders__token=1)
    ada.post(ORDERS, order_body())
    assert assert_problem(ada.post(ORDERS, order_body()), "rate_limited")["detail"] == (
        "The limit orders.token is used up, which allows 1 in 3,600 seconds. Try again in 3,600 seconds."
    )


# The document.


def test_the_document_names_every_limit_of_the_api_and_the_headers_of_what_was_counted() -> None:
    document = json.loads(render("json"))
    counted = {name for name in DEFAULTS if name.partition(".")[0] in OF_THE_API}
    assert counted == rate_limits.POLICIES.keys()
    described = document["info"]["description"]
    assert all(f"`{name}`" in described for name in counted)
    for path in document["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                names = set(response.get("headers", {}))
                assert ({"RateLimit", "RateLimit-Policy"} <= names) is (status[0] in "23" or status == "429")
                assert ("Retry-After" in names) is (
                    status in ("429", "503") or (operation["operationId"], status) == ("place_order", "202")
                )
