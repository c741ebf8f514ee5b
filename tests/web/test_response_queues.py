"""Response queues of the applications that place orders (Q2, Q3)."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.fields.numbers import LARGEST_ID
from orders.models import StatusMessage
from orders.selectors.response_queues import FILLED, queue_of, versions
from tests.support.order_bodies import TOTAL
from tests.web.helpers import assert_problem, mistakes, place, run_submission

pytestmark = pytest.mark.django_db

QUEUE = "/api/v1/response-queues/shop.1/messages"
LONG = 30


def messages(client: APIClient, **query: Any) -> list[dict[str, Any]]:
    response = client.get(QUEUE, query)
    assert response.status_code == 200, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    return results


@pytest.mark.pattern("Q1", "Q2", "Q3")
def test_the_queue_that_an_order_names_receives_its_messages(ada: APIClient) -> None:
    order = place(ada, reply_to="shop.1")
    assert messages(ada) == []
    run_submission()
    (message,) = messages(ada)
    assert message.keys() == {"id", "order_id", "sequence", "kind", "posted_at", "deliveries", "body"}
    assert (message["order_id"], message["kind"]) == (order["id"], "received")
    assert (message["sequence"], message["deliveries"]) == (1, 0)
    assert message["body"] == {"workflow": "fulfil-order", "total": {"amount": TOTAL, "currency": "EUR"}}


@pytest.mark.pattern("Q2")
def test_each_client_has_its_own_queue_of_a_name(ada: APIClient, bob: APIClient) -> None:
    place(ada, reply_to="shop.1")
    run_submission()
    assert messages(bob) == []
    (message,) = messages(ada)
    assert_problem(bob.delete(f"{QUEUE}/{message['id']}"), "not_found")
    assert messages(ada) == [message]


def test_a_message_stays_until_it_is_deleted(ada: APIClient) -> None:
    place(ada, reply_to="shop.1")
    run_submission()
    (message,) = messages(ada)
    response = ada.delete(f"{QUEUE}/{message['id']}")
    assert (response.status_code, response.content) == (204, b"")
    assert messages(ada) == []
    assert_problem(ada.delete(f"{QUEUE}/{message['id']}"), "not_found")


def test_a_message_can_only_be_deleted_through_its_own_queue(ada: APIClient) -> None:
    place(ada, reply_to="other")
    run_submission()
    number = StatusMessage.objects.get().pk
    assert_problem(ada.delete(f"{QUEUE}/{number}"), "not_found")
    assert StatusMessage.objects.count() == 1


def test_messages_are_listed_page_by_page(ada: APIClient) -> None:
    placed = [place(ada, reply_to="shop.1")["id"] for _ in range(3)]
    run_submission()
    first = ada.get(QUEUE, {"page_size": 2}).json()
    second = ada.get(first["next"]).json()
    assert [message["order_id"] for message in first["results"] + second["results"]] == placed
    assert second["next"] is None
    assert messages(ada, after=2**63 - 1) == []


def test_nobody_waits_for_messages_that_are_there(ada: APIClient) -> None:
    place(ada, reply_to="shop.1")
    run_submission()
    scope: dict[str, Any] = {}
    response = ada.get(QUEUE, {"wait": LONG}, **{"asgi.scope": scope})
    assert (len(response.json()["results"]), scope) == (1, {})


def test_which_queues_have_messages_after_an_id_is_one_statement(
    ada: APIClient, bob: APIClient, django_assert_num_queries: Any
) -> None:
    place(ada, reply_to="shop.1")
    run_submission()
    (message,) = messages(ada)
    own_queue, others_queue = queue_of(ada.user.pk, "shop.1"), queue_of(bob.user.pk, "shop.1")
    number = message["id"]
    with django_assert_num_queries(1):
        states = versions(
            [
                (own_queue, 0),
                (own_queue, number - 1),
                (own_queue, number),
                (own_queue, LARGEST_ID),
                (others_queue, 0),
            ]
        )
    assert [pair for pair, version in states.items() if version == FILLED] == [
        (own_queue, 0),
        (own_queue, number - 1),
    ]
    assert len(states) == 5


@pytest.mark.parametrize("query", ["wait=61", "wait=-1", "after=-1", f"after={2**63}", "after=x", "since=1"])
def test_an_invalid_query_is_refused(ada: APIClient, query: str) -> None:
    assert mistakes(ada.get(f"{QUEUE}?{query}")) == [query.partition("=")[0]]


@pytest.mark.parametrize("path", ["a%2Fb/messages", f"{'x' * 65}/messages", "q/messages/x"])
def test_an_invalid_queue_name_is_not_found(ada: APIClient, path: str) -> None:
    assert_problem(ada.get(f"/api/v1/response-queues/{path}"), "not_found")


@pytest.mark.parametrize("number", ["0", str(2**63), "9" * 19])
def test_an_unknown_message_is_not_found(ada: APIClient, number: str) -> None:
    assert_problem(ada.delete(f"{QUEUE}/{number}"), "not_found")
