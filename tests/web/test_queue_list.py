"""The list of a client's response queues."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from orders.engine.channels import status
from orders.engine.channels.status import Status
from orders.models import StatusMessage
from orders.selectors import queue_lists
from orders.selectors.response_queues import queue_of
from orders.vocabulary import StatusKind
from tests.support.people import api_client, token_of
from tests.web.helpers import mistakes

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("Q2")]

QUEUES = "/api/v1/response-queues"


def post(client: APIClient, name: str, number: int = 1) -> None:
    queue = queue_of(client.user.pk, name)
    status.post(Status(queue, uuid4(), StatusKind.RECEIVED) for _ in range(number))


def listed(client: APIClient, **query: Any) -> dict[str, Any]:
    response = client.get(QUEUES, query)
    assert response.status_code == 200, response.content
    page: dict[str, Any] = response.json()
    return page


def names(page: dict[str, Any]) -> list[str]:
    return [queue["name"] for queue in page["results"]]


def test_it_shows_how_much_is_on_each_queue_and_how_old_the_oldest_message_is(ada: APIClient) -> None:
    assert listed(ada) == {"results": [], "next": None}
    post(ada, "invoices", 3)
    post(ada, "invoces")
    oldest = StatusMessage.objects.order_by("id")[0]
    StatusMessage.objects.filter(pk=oldest.pk).update(posted_at=timezone.now() - timedelta(seconds=600))
    assert ada.post(f"{QUEUES}/invoices/lease", {"max_messages": 2}).status_code == 200
    misspelt, right = listed(ada)["results"]
    assert (misspelt["name"], misspelt["messages"], misspelt["leased"]) == ("invoces", 1, 0)
    assert (right["name"], right["messages"], right["leased"]) == ("invoices", 3, 2)
    assert 600 <= right["oldest_age"] < 660
    assert 0 <= misspelt["oldest_age"] < 60
    messages = ada.get(f"{QUEUES}/invoices/messages").json()["results"]
    assert right["oldest_posted_at"] == messages[0]["posted_at"]


def test_a_client_sees_its_own_queues_only_whatever_they_are_called(db: None) -> None:
    """The names of queues begin with their client's key, so those of 1 and 11 are neighbours."""
    clients = [
        api_client(token_of(User.objects.create_user(f"client-{key}", pk=key))) for key in (1, 10, 11, 2)
    ]
    for client in clients:
        client.user = client.get("/api/v1/orders").wsgi_request.user
    keys = (1, 10, 11, 2)
    for key in keys:
        for name in ("0", "-", "Z", "a.b", "z" * 64):
            status.post([Status(queue_of(key, name), uuid4(), StatusKind.RECEIVED)])
    status.post([Status("workflow:bake", uuid4(), StatusKind.RECEIVED)])
    for client in clients:
        assert names(listed(client)) == ["-", "0", "Z", "a.b", "z" * 64]


def test_it_comes_page_by_page(ada: APIClient) -> None:
    for number in range(5):
        post(ada, f"q{number}", 2)
    first = listed(ada, page_size=2)
    second = ada.get(first["next"]).json()
    third = ada.get(second["next"]).json()
    assert [names(page) for page in (first, second, third)] == [["q0", "q1"], ["q2", "q3"], ["q4"]]
    assert third["next"] is None


def test_a_long_queue_is_counted_to_a_limit(ada: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_lists, "COUNTED", 3)
    post(ada, "q", 5)
    assert listed(ada)["results"][0]["messages"] == 3


@pytest.mark.parametrize("cursor", ["", ".", "a/b", "x" * 65, "a b"])
def test_a_cursor_that_is_no_name_is_refused(ada: APIClient, cursor: str) -> None:
    assert mistakes(ada.get(QUEUES, {"cursor": cursor})) == ["cursor"]
