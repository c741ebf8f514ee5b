"""A thousand requests that wait in one web process hold neither a thread nor a connection to the database."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.live.places import RoomCaps
from orders.selectors import orders as order_selectors
from tests.web.conftest import sign_in
from tests.web.following import about, happen, happen_to_all, sessions, started
from tests.web.helpers import place, run_submission
from tests.web.server import Server
from tests.web.waiters import Waiter, held, until_held

pytestmark = pytest.mark.django_db(transaction=True)

MOST, SHARE = RoomCaps().total, RoomCaps().share
EACH = 10
"""Requests that wait for one order."""
LARGE = b"a" * 250_000
"""A body, nearly as large as one may be."""
BODIES = 100


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    yield from started(
        Server(tmp_path / "log", application="tests.web.unhurried:application", **about("thousand"))
    )


def threads(server: Server) -> int:
    (worker,) = server.workers()
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Threads:")))


def memory(server: Server) -> int:
    """The bytes of memory that the server's worker has."""
    (worker,) = server.workers()
    lines = Path(f"/proc/{worker}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS:"))) * 1024


def test_the_bodies_of_those_that_wait_are_not_kept(server: Server, ada: APIClient) -> None:
    url = place(ada)["links"]["self"]
    for _ in range(8):
        Waiter(server, url, ada.token, body=LARGE, Prefer="wait=1").answer()
    before = memory(server)
    waiters = []
    for number in range(BODIES):
        waiters.append(Waiter(server, url, ada.token, body=LARGE, Prefer="wait=60"))
        until_held(server, waits=number + 1)  # so that there is never more than one that is not held yet
    grown = memory(server) - before
    for waiter in waiters:
        waiter.leave()
    until_held(server)
    assert grown < BODIES * len(LARGE) / 2


def test_a_thousand_wait_while_a_plain_request_is_answered_and_hear_of_one_change_each(
    server: Server, ada: APIClient
) -> None:
    clients = [ada, *(sign_in(f"client-{number}") for number in range(1, MOST // SHARE))]
    placed = [
        (client.token, place(client)["links"]["self"]) for client in clients for _ in range(SHARE // EACH)
    ]
    run_submission()
    urls = [order for order in placed for _ in range(EACH)]
    order_ids = [UUID(url.rpartition("/")[2]) for _, url in urls]
    versions = order_selectors.order_versions(order_ids)

    def send(number: int) -> Waiter:
        token, url = urls[number]
        headers = {"Prefer": "wait=600", "If_None_Match": f'W/"{versions[order_ids[number]]}"'}
        return Waiter(server, url, token, source=f"127.0.8.{number // SHARE + 1}", **headers)

    with ThreadPoolExecutor(16) as pool:
        waiters = list(pool.map(send, range(MOST)))
    until_held(server, waits=MOST)
    read = server.request("GET", urls[0][1], headers={"Authorization": f"Token {ada.token}"}, timeout=60)
    assert (read.status, held(server)) == (200, (MOST, 0))
    assert not any(waiter.is_answered() for waiter in waiters)
    # The pool, the hubs and the listener; 32 threads for requests, and a few for the hubs and the streams.
    assert sessions("thousand") <= 24
    assert threads(server) < 60
    version = happen(order_ids[0])
    assert {waiter.answer().headers["etag"] for waiter in waiters[:EACH]} == {f'W/"{version}"'}
    assert not any(waiter.is_answered() for waiter in waiters[EACH:])
    happen_to_all(order_ids)
    now = order_selectors.order_versions(order_ids)
    for waiter, order_id in zip(waiters[EACH:], order_ids[EACH:], strict=True):
        answer = waiter.answer()
        assert (answer.status, answer.headers["etag"]) == (200, f'W/"{now[order_id]}"')
    until_held(server)
