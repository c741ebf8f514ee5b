"""Response queues of the applications that place orders (Q2, Q3)."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.models import StatusMessage
from tests.web.helpers import assert_problem, in_threads, mistakes, place, run_submission
from tests.web.test_waiting import SOON

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
    assert message.keys() == {"id", "order_id", "kind", "posted_at", "body"}
    assert (message["order_id"], message["kind"], message["body"]) == (order["id"], "received", {})


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


@pytest.mark.django_db(transaction=True)
def test_a_reader_can_wait_for_the_next_message(ada: APIClient) -> None:
    place(ada, reply_to="shop.1")
    (reader,) = in_threads(1, lambda _: messages(ada, wait=LONG))
    run_submission()
    assert len(reader.result(timeout=SOON)) == 1


def test_a_wait_ends_when_no_message_arrives(ada: APIClient) -> None:
    assert messages(ada, wait=1) == []


def test_a_wait_ends_at_once_when_messages_are_there(ada: APIClient) -> None:
    place(ada, reply_to="shop.1")
    run_submission()
    assert len(messages(ada, wait=LONG)) == 1


@pytest.mark.parametrize("query", ["wait=61", "wait=-1", "after=-1", f"after={2**63}", "after=x", "since=1"])
def test_an_invalid_query_is_refused(ada: APIClient, query: str) -> None:
    assert mistakes(ada.get(f"{QUEUE}?{query}")) == [query.partition("=")[0]]


@pytest.mark.parametrize("path", ["a%2Fb/messages", f"{'x' * 65}/messages", "q/messages/x"])
def test_an_invalid_queue_name_is_not_found(ada: APIClient, path: str) -> None:
    assert_problem(ada.get(f"/api/v1/response-queues/{path}"), "not_found")


@pytest.mark.parametrize("number", ["0", str(2**63), "9" * 19])
def test_an_unknown_message_is_not_found(ada: APIClient, number: str) -> None:
    assert_problem(ada.delete(f"{QUEUE}/{number}"), "not_found")
