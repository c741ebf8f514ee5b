"""`POST orders/batch`: each order as if it had been sent alone, all of them in one transaction."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from orders.models import Order, SubmissionMessage
from orders.vocabulary import TokenScope
from tests.support.businesses import Bakery, Oven, business
from tests.support.order_bodies import TOTAL, order_body
from tests.support.people import api_client, token_of
from tests.web.batches import BATCH, MOST, item, outcomes, post
from tests.web.conftest import Limits
from tests.web.helpers import ORDERS, assert_problem, mistakes, run_submission
from tests.web.test_placing_orders import BAD


@pytest.mark.pattern("S1", "Q2")
def test_each_order_is_on_the_queue_in_the_order_of_the_batch(ada: APIClient) -> None:
    results = post(ada, *(item(f"k{number}", priority=number, reply_to="shop.1") for number in range(3)))
    assert [result["idempotency_key"] for result in results] == ["k0", "k1", "k2"]
    messages = SubmissionMessage.objects.order_by("id")
    assert [str(message.order_id) for message in messages] == [result["order_id"] for result in results]
    assert {(message.client, message.body["reply_to"]) for message in messages} == {
        (f"user:{ada.user.pk}", f"user:{ada.user.pk}/shop.1")
    }
    assert [message.body["priority"] for message in messages] == [0, 1, 2]
    shown = ada.get(results[1]["links"]["self"]).json()
    assert (shown["state"], shown["total"]["amount"]) == ("pending", TOTAL)
    run_submission()
    assert Order.objects.count() == 3


def test_each_order_stands_alone(ada: APIClient) -> None:
    results = post(
        ada,
        item("good"),
        item("bad", email="nobody"),
        item("unknown", lines=[{"sku": "first-sun", "quantity": 1}, {"sku": "no", "quantity": 1}]),
        7,
        {"order": order_body()},
        item(" spaced"),
        {"idempotency_key": "empty", "order": None},
        item("other", workflow="bake"),
        item("good too"),
    )
    assert [result["status"] for result in results] == [202, *[400] * 7, 202]
    assert [result.get("idempotency_key") for result in results] == [
        *("good", "bad", "unknown", None, None, None, None, "other", "good too")
    ]
    problems = [result["problem"] for result in results[1:-1]]
    assert [[error["pointer"] for error in problem["errors"]] for problem in problems] == [
        ["/orders/1/order/email"],
        ["/orders/2/order/lines/1/sku"],
        ["/orders/3"],
        ["/orders/4/idempotency_key"],
        ["/orders/5/idempotency_key"],
        ["/orders/6/order"],
        ["/orders/7/order/workflow"],
    ]
    assert SubmissionMessage.objects.count() == 2


def test_every_mistake_is_the_one_of_a_single_post(ada: APIClient) -> None:
    bodies = [order_body(**changes) for changes, _ in BAD]
    results = post(ada, *({"idempotency_key": f"k{n}", "order": body} for n, body in enumerate(bodies)))
    for number, (body, result) in enumerate(zip(bodies, results, strict=True)):
        single = ada.post(ORDERS, json.dumps(body), content_type="application/json").json()
        problem = result["problem"]
        for error in single["errors"]:
            error["pointer"] = f"/orders/{number}/order{error['pointer']}"
        assert problem == {**single, "request_id": problem["request_id"]}
    assert not SubmissionMessage.objects.exists()


def test_the_mistakes_in_an_order_are_told_beside_the_missing_key(ada: APIClient) -> None:
    (result,) = post(ada, {"order": order_body(email="nobody", lines=[])})
    assert [error["pointer"] for error in result["problem"]["errors"]] == [
        "/orders/0/idempotency_key",
        "/orders/0/order/lines",
        "/orders/0/order/email",
    ]


def test_only_an_order_of_a_higher_priority_needs_the_scope_for_it(catalogue: None, ada: APIClient) -> None:
    client = api_client(token_of(ada.user, TokenScope.ORDERS))
    results = post(client, item("a"), item("b", priority=6), item("c", priority=5))
    assert outcomes(results) == [(202, False), (403, "scope_missing"), (202, False)]
    assert results[1]["problem"]["needed_scope"] == "priority"
    reader = api_client(token_of(ada.user, TokenScope.READ))
    assert_problem(reader.post(BATCH, {"orders": [item("a")]}), "scope_missing")


# Keys.


def statements(client: APIClient, number: int, prefix: str) -> list[str]:
    items = [item(f"{prefix}{n}") for n in range(number)]
    with CaptureQueriesContext(connection) as queries:
        post(client, *items)
    return [query["sql"] for query in queries]


@pytest.mark.django_db(transaction=True)
def test_a_hundred_orders_take_as_many_statements_as_one_and_a_single_transaction(ada: APIClient) -> None:
    statements(ada, 1, "first ")
    token, *limits, products, placing = statements(ada, MOST, "many ")
    assert "orders_apitoken" in token
    assert len(limits) == 3 and all("orders_bucket" in limit for limit in limits)
    assert "orders_product" in products
    assert "orders_submissionkey" in placing and "orders_submissionmessage" in placing
    assert SubmissionMessage.objects.count() == MOST + 1
    replayed = statements(ada, MOST, "many ")
    assert len(replayed) == 7  # and the records of the keys
    assert SubmissionMessage.objects.count() == MOST + 1


def test_a_batch_counts_as_often_as_it_has_orders(ada: APIClient, only: Limits) -> None:
    only(orders__account=10, orders__token=5)
    response = ada.post(BATCH, {"orders": [item("a"), item("b"), item("c")]})
    assert response["RateLimit-Policy"] == '"orders.token";q=5;w=3600, "orders.account";q=10;w=3600'
    assert [part.split(";")[1] for part in response["RateLimit"].split(", ")] == ["r=2", "r=7"]
    refused = ada.post(BATCH, {"orders": [item("d"), item("e"), item("f")]})
    assert_problem(refused, "rate_limited")
    assert 600 < int(refused["Retry-After"]) <= 720  # until there are three
    assert SubmissionMessage.objects.count() == 3
    assert outcomes(post(ada, item("d"), item("e"))) == [(202, False)] * 2


def test_a_batch_that_its_token_may_not_place_is_not_counted_for_the_account(
    ada: APIClient, only: Limits
) -> None:
    only(orders__account=10, orders__token=5)
    post(ada, item("a"), item("b"), item("c"), item("d"))
    for _ in range(3):
        refused = ada.post(BATCH, {"orders": [item("e"), item("f")]})
        assert_problem(refused, "rate_limited")
    other = api_client(token_of(ada.user, TokenScope.ORDERS))
    assert outcomes(post(other, *(item(f"g{n}") for n in range(5)))) == [(202, False)] * 5


def test_a_batch_of_more_than_a_limit_allows_at_once_uses_it_up_for_longer(
    ada: APIClient, only: Limits
) -> None:
    only(orders__account=2)
    assert outcomes(post(ada, *(item(f"k{n}") for n in range(6)))) == [(202, False)] * 6
    refused = ada.post(BATCH, {"orders": [item("a")]})
    assert 7 * 1_800 - 3_600 - 60 < int(refused["Retry-After"]) <= 7 * 1_800 - 3_600
    assert_problem(ada.post(ORDERS, order_body()), "rate_limited")


def test_a_batch_that_cannot_be_read_counts_as_one_post(ada: APIClient, only: Limits) -> None:
    only(orders__account=2, posts__account=1)
    assert_problem(ada.post(BATCH, b"{", content_type="application/json"), "malformed_request")
    assert_problem(ada.post(BATCH, b"{", content_type="application/json"), "rate_limited")


# The batch as a whole.


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({}, ["/orders"]),
        ({"orders": []}, ["/orders"]),
        ({"orders": {}}, ["/orders"]),
        ({"orders": None}, ["/orders"]),
        ({"orders": [{}] * 101}, ["/orders"]),
        ({"orders": [{}], "colour": "red"}, ["/colour"]),
        ([], [""]),
        (None, [""]),
    ],
    ids=str,
)
def test_a_body_that_is_no_batch_is_refused(ada: APIClient, body: Any, places: list[str]) -> None:
    assert mistakes(ada.post(BATCH, json.dumps(body), content_type="application/json")) == places


def test_a_batch_may_have_768_kib_and_nothing_else_so_much(ada: APIClient) -> None:
    limit = 768 * 1024
    fits = json.dumps({"orders": [item("a")]}).ljust(limit)
    assert ada.post(BATCH, fits, content_type="application/json").status_code == 200
    for url, body in ((BATCH, f"{fits} "), (ORDERS, fits), (f"{BATCH}/", fits), (f"{ORDERS}/quote", fits)):
        response = ada.post(url, body, content_type="application/json")
        assert response.status_code == (404 if url.endswith("/") else 413), url


def test_every_order_may_be_refused(ada: APIClient) -> None:
    assert outcomes(post(ada, *[item("a", email="x")] * MOST)) == [(400, "validation_failed")] * MOST


# Several kinds of order.


class Oversleeping(Bakery):
    """A bakery that cannot say what a cake is made of."""

    @classmethod
    def describe(cls, request: Any) -> Any:
        if request["cake"] == "burnt":
            raise RuntimeError("no cake")
        return request


@pytest.fixture
def bakery(settings: Any) -> Iterator[None]:
    with business(settings, kinds=[Oversleeping], agents=[Oven()]):
        yield


@pytest.mark.pattern("C4")
@pytest.mark.usefixtures("bakery")
def test_a_kind_that_fails_at_one_order_fails_none_of_the_others(ada: APIClient) -> None:
    def cake(key: str, name: str) -> dict[str, Any]:
        return {"idempotency_key": key, "order": {"workflow": "bake", "cake": name}}

    results = post(ada, item("a"), cake("b", "burnt"), cake("c", "walnut"), item("d"))
    assert outcomes(results) == [(202, False), (500, "internal_error"), (202, False), (202, False)]
    workflows = SubmissionMessage.objects.order_by("id").values_list("body__workflow", flat=True)
    assert list(workflows) == ["fulfil-order", "bake", "fulfil-order"]
