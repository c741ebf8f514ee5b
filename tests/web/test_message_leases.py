"""Leases of messages on a response queue: consumers share it, and what is not acknowledged comes again (Q2, Q3)."""

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from orders.engine.channels import status
from orders.engine.channels.status import Status
from orders.models import StatusMessage
from orders.selectors.response_queues import FILLED, queue_of, versions
from orders.vocabulary import StatusKind, TokenScope
from tests.support.factories import ago
from tests.support.people import api_client, token_of
from tests.web.helpers import assert_problem, mistakes, place, run_submission

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("Q2", "Q3")]

QUEUE = "/api/v1/response-queues/shop.1"


def posted(client: APIClient, kinds: int = 1, orders: int = 1) -> list[int]:
    """Posts so many messages about each of so many orders; returns their ids, order by order."""
    queue = queue_of(client.user.pk, "shop.1")
    words = list(StatusKind)[:kinds]
    for _ in range(orders):
        order_id = uuid4()
        status.post([Status(queue, order_id, word) for word in words])
    return [*StatusMessage.objects.filter(queue=queue).order_by("id").values_list("pk", flat=True)]


def leased(client: APIClient, **body: Any) -> dict[str, Any]:
    response = client.post(f"{QUEUE}/lease", body)
    assert response.status_code == 200, response.content
    lease: dict[str, Any] = response.json()
    return lease


def ids(lease: dict[str, Any]) -> list[int]:
    return [message["id"] for message in lease["messages"]]


def act(client: APIClient, name: str, numbers: list[int], **body: Any) -> list[str]:
    """What became of each message that is acknowledged, or given back."""
    response = client.post(f"{QUEUE}/{name}", {"ids": numbers, **body})
    assert response.status_code == 200, response.content
    results = response.json()["results"]
    assert [result["id"] for result in results] == numbers
    assert all(result["message"] for result in results)
    return [result["result"] for result in results]


def lapse() -> None:
    """Lets the time of every lease pass."""
    StatusMessage.objects.filter(lease__isnull=False).update(leased_until=ago(1))


def test_a_lease_gives_what_a_list_gives_and_hides_it_from_other_leases(ada: APIClient) -> None:
    placed = [place(ada, reply_to="shop.1")["id"] for _ in range(2)]
    run_submission()
    lease = leased(ada)
    assert [message["order_id"] for message in lease["messages"]] == placed
    assert [message["deliveries"] for message in lease["messages"]] == [1, 1]
    assert lease["messages"] == ada.get(f"{QUEUE}/messages").json()["results"]
    assert lease["leased_until"] > lease["messages"][0]["posted_at"]
    assert leased(ada) == {"lease": None, "leased_until": None, "messages": []}


def test_a_lease_takes_the_oldest_and_no_more_than_are_wanted(ada: APIClient) -> None:
    numbers = posted(ada, orders=12)
    assert ids(leased(ada, max_messages=1)) == numbers[:1]
    assert ids(leased(ada)) == numbers[1:11], "ten, if nothing is said"
    assert ids(leased(ada, max_messages=100)) == numbers[11:]


def test_a_message_is_not_leased_while_an_earlier_one_of_its_order_is(ada: APIClient) -> None:
    first, second, third, other = [*posted(ada, kinds=3), posted(ada, orders=1)[-1]]
    earlier = leased(ada, max_messages=1)
    assert ids(earlier) == [first]
    assert ids(leased(ada)) == [other], "there is another order"
    assert act(ada, "acknowledge", [first], lease=earlier["lease"]) == ["done"]
    assert ids(leased(ada)) == [second, third], "one consumer may have both"


def test_a_lease_that_lapses_gives_its_messages_to_others_with_their_numbers(ada: APIClient) -> None:
    first, second = posted(ada, kinds=2)
    old = leased(ada)
    lapse()
    new = leased(ada)
    assert ids(new) == [first, second]
    assert [(message["sequence"], message["deliveries"]) for message in new["messages"]] == [(1, 2), (2, 2)]
    assert act(ada, "acknowledge", [first], lease=old["lease"]) == ["refused"]
    response = ada.post(f"{QUEUE}/acknowledge", {"ids": [first], "lease": old["lease"]})
    (result,) = response.json()["results"]
    assert result["message"] == "Your lease of it has lapsed, and another consumer has leased it since."
    assert act(ada, "acknowledge", [first, second], lease=new["lease"]) == ["done", "done"]
    assert not StatusMessage.objects.exists()


def test_what_nobody_has_leased_since_can_be_acknowledged_late(ada: APIClient) -> None:
    numbers = posted(ada)
    lease = leased(ada)["lease"]
    lapse()
    assert act(ada, "acknowledge", numbers, lease=lease) == ["done"]


def test_a_lease_lasts_as_long_as_it_was_asked_for(ada: APIClient) -> None:
    posted(ada, orders=2)
    for body, seconds in (({"lease_seconds": 3_600}, 3_600), ({}, 60)):
        leased(ada, max_messages=1, **body)
        message = StatusMessage.objects.order_by("leased_until").filter(deliveries=1).last()
        if seconds == 60:
            message = StatusMessage.objects.order_by("leased_until").first()
        assert message is not None
        assert message.leased_until is not None
        lasting = (message.leased_until - message.posted_at).total_seconds()
        assert seconds <= lasting < seconds + 30


def test_acknowledging_many_says_what_became_of_each_and_can_be_repeated(
    ada: APIClient, bob: APIClient
) -> None:
    (others,) = posted(bob)
    numbers = posted(ada, orders=2)
    lease = leased(ada)["lease"]
    assert act(ada, "acknowledge", [*numbers, others, 0], lease=lease) == [
        "done",
        "done",
        "already",
        "already",
    ]
    assert act(ada, "acknowledge", numbers, lease=lease) == ["already", "already"]
    assert StatusMessage.objects.get().pk == others


def test_what_was_listed_can_be_acknowledged_unless_a_consumer_has_leased_it(ada: APIClient) -> None:
    first, second = posted(ada, orders=2)
    leased(ada, max_messages=1)
    assert act(ada, "acknowledge", [first, second]) == ["refused", "done"]
    lapse()
    assert act(ada, "acknowledge", [first]) == ["done"]


def test_one_message_can_be_deleted_whoever_has_leased_it(ada: APIClient) -> None:
    (number,) = posted(ada)
    leased(ada)
    assert ada.delete(f"{QUEUE}/messages/{number}").status_code == 204
    assert not StatusMessage.objects.exists()


def test_what_is_given_back_can_be_leased_at_once(ada: APIClient) -> None:
    first, second = posted(ada, orders=2)
    old = leased(ada)
    assert act(ada, "release", [first, 0], lease=old["lease"]) == ["done", "already"]
    new = leased(ada)
    assert (ids(new), new["messages"][0]["deliveries"]) == ([first], 2)
    assert act(ada, "release", [first, second], lease=old["lease"]) == ["refused", "done"]
    assert act(ada, "release", [second], lease=old["lease"]) == ["already"]


def test_a_message_named_twice_has_one_result(ada: APIClient) -> None:
    (number,) = posted(ada)
    response = ada.post(f"{QUEUE}/acknowledge", {"ids": [number, number]})
    assert [result["id"] for result in response.json()["results"]] == [number]


def test_a_message_is_not_acknowledged_on_a_queue_whose_name_is_mistyped(
    ada: APIClient, bob: APIClient
) -> None:
    (number,) = posted(ada)
    (others,) = posted(bob)
    lease = leased(ada)["lease"]
    for name in ("acknowledge", "release"):
        path = QUEUE.replace("shop.1", "shop.l")
        answer = ada.post(f"{path}/{name}", {"ids": [number, others, 0], "lease": lease}).json()
        assert [result["result"] for result in answer["results"]] == ["refused", "already", "already"]
        assert answer["results"][0]["message"] == "It is not on this queue, but on your queue shop.1."
    assert act(ada, "acknowledge", [number], lease=lease) == ["done"]


def test_a_client_leases_and_acknowledges_on_its_own_queues_only(ada: APIClient, bob: APIClient) -> None:
    (number,) = posted(ada)
    lease = leased(ada)["lease"]
    lapse()
    assert leased(bob)["messages"] == []
    for name in ("acknowledge", "release"):
        assert act(bob, name, [number], lease=lease) == ["already"]
    assert StatusMessage.objects.get().deliveries == 1


@pytest.mark.parametrize("name", ["lease", "acknowledge", "release"])
def test_a_token_that_may_only_read_leases_nothing(ada: APIClient, name: str) -> None:
    reader = api_client(token_of(ada.user, TokenScope.READ))
    assert_problem(reader.post(f"{QUEUE}/{name}"), "scope_missing")


LEASE = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    ("name", "body", "places"),
    [
        ("lease", {"max_messages": 0}, ["/max_messages"]),
        ("lease", {"max_messages": 101}, ["/max_messages"]),
        ("lease", {"lease_seconds": 0}, ["/lease_seconds"]),
        ("lease", {"lease_seconds": 3_601}, ["/lease_seconds"]),
        ("lease", {"wait": 61}, ["/wait"]),
        ("lease", {"wait": "1"}, ["/wait"]),
        ("lease", {"seconds": 1}, ["/seconds"]),
        ("acknowledge", {}, ["/ids"]),
        ("acknowledge", {"ids": []}, ["/ids"]),
        ("acknowledge", {"ids": [*range(101)]}, ["/ids"]),
        ("acknowledge", {"ids": [2**63]}, ["/ids/0"]),
        ("acknowledge", {"ids": 1}, ["/ids"]),
        ("acknowledge", {"ids": [1], "lease": "mine"}, ["/lease"]),
        ("release", {"ids": [1]}, ["/lease"]),
        ("release", {"ids": [1], "lease": LEASE.upper()}, ["/lease"]),
    ],
)
def test_an_invalid_body_is_refused(ada: APIClient, name: str, body: Any, places: list[str]) -> None:
    assert mistakes(ada.post(f"{QUEUE}/{name}", body)) == places


def test_no_body_at_all_leases_as_well(ada: APIClient) -> None:
    numbers = posted(ada)
    response = ada.post(f"{QUEUE}/lease")
    assert (response.status_code, ids(response.json())) == (200, numbers)


def test_which_queues_have_something_to_lease_is_one_statement(
    ada: APIClient, bob: APIClient, django_assert_num_queries: Any
) -> None:
    posted(ada, kinds=2)
    posted(bob)
    queues = [(queue_of(client.user.pk, "shop.1"), None) for client in (ada, bob)]
    leased(ada, max_messages=1)
    with django_assert_num_queries(1):
        states = versions([*queues, (queues[0][0], 0)])
    assert [pair for pair, version in states.items() if version == FILLED] == [queues[1], (queues[0][0], 0)]


@pytest.mark.parametrize(("wait", "is_counted"), [(0, False), (1, True)])
def test_a_lease_that_may_wait_counts_among_the_waits(
    ada: APIClient, only: Any, wait: int, is_counted: bool
) -> None:
    only(waits__account=4, posts__account=4)
    response = ada.post(f"{QUEUE}/lease", {"wait": wait})
    assert response.status_code == 200
    assert ('"waits.account"' in response["RateLimit"]) is is_counted
