"""Consumers that wait for messages to lease, on the real server; and one that is killed before it acknowledges."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.models import StatusMessage
from tests.support.factories import ago
from tests.web.following import about, started
from tests.web.helpers import place, run_submission
from tests.web.server import Answer, Server
from tests.web.waiters import Waiter, held, until_held

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("Q2", "Q3")]

QUEUE = "/api/v1/response-queues/shop.1"
LONG = 60

CONSUMER = """
import json, sys, time, urllib.request
url, token = sys.argv[1:]
headers = {"Authorization": "Token " + token, "Content-Type": "application/json"}
request = urllib.request.Request(url, b'{"lease_seconds": 600}', headers)
print(urllib.request.urlopen(request).read().decode(), flush=True)
time.sleep(600)
"""
"""A consumer that never gets as far as its acknowledgement."""


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It does not poll while a test lasts, so a response arrives because of a wake-up."""
    log = tmp_path_factory.mktemp("leases") / "log"
    yield from started(Server(log, application="tests.web.unhurried:application", **about("leases")))


def waiter(server: Server, client: Any, **body: int) -> Waiter:
    return Waiter(
        server,
        f"{QUEUE}/lease",
        client.token,
        method="POST",
        body=json.dumps({"wait": LONG, **body}).encode(),
        Content_Type="application/json",
    )


def ids(answer: Answer) -> list[int]:
    assert answer.status == 200, answer.body
    return [message["id"] for message in answer.json["messages"]]


def received(client: APIClient, number: int = 1) -> list[int]:
    """Has so many orders report that they are received; returns the ids of all messages."""
    for _ in range(number):
        place(client, reply_to="shop.1")
    run_submission()
    return [*StatusMessage.objects.order_by("id").values_list("pk", flat=True)]


def test_a_consumer_that_waits_leases_the_next_messages_as_it_has_asked_for(
    server: Server, ada: APIClient
) -> None:
    waiting = waiter(server, ada, max_messages=1, lease_seconds=600)
    until_held(server, waits=1)
    assert not waiting.is_answered()
    first, second = received(ada, 2)
    answer = waiting.answer()
    assert ids(answer) == [first]
    leased = StatusMessage.objects.get(pk=first)
    assert leased.leased_until is not None
    assert (leased.leased_until - leased.posted_at).total_seconds() > 500
    assert StatusMessage.objects.get(pk=second).lease is None
    until_held(server)


def test_of_two_consumers_that_wait_for_one_message_one_has_it(server: Server, ada: APIClient) -> None:
    waiting = [waiter(server, ada) for _ in range(2)]
    until_held(server, waits=2)
    numbers = received(ada)
    answers = [consumer.answer() for consumer in waiting]
    assert sorted(map(ids, answers)) == [[], numbers]


def test_without_a_message_the_answer_is_empty_when_the_time_is_up(server: Server, ada: APIClient) -> None:
    answer = waiter(server, ada, wait=1).answer()
    assert (answer.status, answer.json) == (200, {"lease": None, "leased_until": None, "messages": []})


@pytest.mark.parametrize("act", ["acknowledge", "release", "delete"])
def test_a_consumer_that_waits_gets_what_another_one_held_back(
    server: Server, ada: APIClient, act: str
) -> None:
    first, *_ = received(ada)
    message = StatusMessage.objects.get()
    later = StatusMessage.objects.create(queue=message.queue, order_id=message.order_id, kind="started")
    lease = ada.post(f"{QUEUE}/lease", {"max_messages": 1}).json()["lease"]
    waiting = waiter(server, ada)
    until_held(server, waits=1)
    if act == "delete":
        assert ada.delete(f"{QUEUE}/messages/{first}").status_code == 204
    else:
        assert ada.post(f"{QUEUE}/{act}", {"ids": [first], "lease": lease}).status_code == 200
    assert ids(waiting.answer()) == [*([first] if act == "release" else []), later.pk]


def test_an_acknowledgement_behind_which_nothing_waits_wakes_nobody(server: Server, ada: APIClient) -> None:
    (number,) = received(ada)
    lease = ada.post(f"{QUEUE}/lease").json()["lease"]
    waiting = waiter(server, ada)
    until_held(server, waits=1)
    assert ada.post(f"{QUEUE}/acknowledge", {"ids": [number], "lease": lease}).status_code == 200
    assert held(server) == (1, 0)
    waiting.leave()
    until_held(server)


def test_a_consumer_that_is_killed_before_it_acknowledges_loses_nothing(
    server: Server, ada: APIClient
) -> None:
    numbers = received(ada, 3)
    url = f"http://127.0.0.1:{server.port}{QUEUE}/lease"
    consumer = subprocess.Popen(
        [sys.executable, "-c", CONSUMER, url, ada.token], stdout=subprocess.PIPE, text=True
    )
    assert consumer.stdout is not None
    lease = json.loads(consumer.stdout.readline())
    assert [message["id"] for message in lease["messages"]] == numbers
    consumer.kill()
    assert consumer.wait(timeout=LONG) == -signal.SIGKILL
    consumer.stdout.close()
    assert ada.post(f"{QUEUE}/lease").json()["messages"] == [], "its lease is not over yet"
    StatusMessage.objects.update(leased_until=ago(1))
    again = ada.post(f"{QUEUE}/lease").json()
    assert [(message["id"], message["deliveries"]) for message in again["messages"]] == [
        (number, 2) for number in numbers
    ]
    acknowledgement = {"ids": numbers, "lease": again["lease"]}
    results = ada.post(f"{QUEUE}/acknowledge", acknowledgement).json()["results"]
    assert [result["result"] for result in results] == ["done"] * 3
    assert not StatusMessage.objects.exists()


def test_a_lease_that_lapses_is_noticed_by_those_who_wait(ada: APIClient, tmp_path: Any) -> None:
    """Nobody is woken when a time is over, so the poll notices it."""
    received(ada)
    ada.post(f"{QUEUE}/lease")
    small = Server(tmp_path / "log", application="tests.web.few_waits:application", **about("lapse"))
    for _ in started(small):
        waiting = waiter(small, ada)
        until_held(small, waits=1)
        StatusMessage.objects.update(leased_until=ago(1))
        assert len(ids(waiting.answer())) == 1


def test_a_consumer_that_leaves_before_there_is_a_message_leases_none(server: Server, ada: APIClient) -> None:
    waiting = waiter(server, ada)
    until_held(server, waits=1)
    waiting.leave()
    until_held(server)
    received(ada)
    assert StatusMessage.objects.get().lease is None
