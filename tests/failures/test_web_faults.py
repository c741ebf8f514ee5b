"""The web process dies around the COMMIT of an order, or gets the same order twenty times at once (F1–F4, P1)."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User

from orders.models import SubmissionKey, SubmissionMessage
from tests.support.blocked_tables import blocked, end_waits_for, somebody_waits_for
from tests.support.order_bodies import order_body
from tests.support.people import token_of
from tests.support.proxy import DatabaseProxy, Moment
from tests.support.system import System, database_url
from tests.support.wait import until
from tests.web.helpers import ORDERS
from tests.web.server import Answer, Server


class Shop:
    """Web servers, one after the other, and a client that posts orders with a key."""

    def __init__(self, system: System, folder: Path) -> None:
        self._system = system
        self._folder = folder
        self._servers: list[Server] = []
        self._token = token_of(User.objects.create(username="poster"))

    def serve(self, url: str = "") -> Server:
        """Starts a web server and waits until it answers."""
        server = Server(
            self._folder / f"web-{len(self._servers)}.log",
            database_url=url or database_url(),
            SECRET_KEY=self._system.environment["SECRET_KEY"],
            VAR_DIR=str(self._folder),
        )
        self._servers.append(server)
        until(server.answers, what="the web server")
        return server

    def post(self, server: Server, key: str, **changes: Any) -> Answer:
        """Posts one order with a key."""
        lines = [{"sku": self._system.sku, "quantity": 1}]
        body = order_body(lines=lines, **changes)
        headers = {
            "Authorization": f"Token {self._token}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        return server.request("POST", ORDERS, body=json.dumps(body).encode(), headers=headers, timeout=90)

    def end(self) -> None:
        """Ends every server."""
        for server in self._servers:
            server.end()


@pytest.fixture
def shop(system: System, tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(system, tmp_path)
    yield shop
    shop.end()


def _finish(system: System, order_ids: set[str]) -> None:
    """Waits until every acknowledged order is processed, and checks that there is no other order."""
    system.acknowledged = [UUID(order_id) for order_id in order_ids]
    system.start_all()
    assert system.wait_until_ended() == ["processed"] * len(order_ids)
    system.check()


@pytest.mark.pattern("S1", "S3", "F1", "F2")
def test_killing_the_web_around_the_commit_of_an_order_places_it_once(
    system: System, shop: Shop, proxy: DatabaseProxy
) -> None:
    """Before: nothing was accepted, and the key is free. After: the post with the same key gets that order."""
    with ThreadPoolExecutor(2) as client:
        doomed = shop.serve()
        with blocked("orders_submissionmessage"):
            posted = client.submit(shop.post, doomed, "key-1")
            until(
                lambda: somebody_waits_for("orders_submissionmessage"),
                what="the web inside its transaction",
            )
            doomed.end()
            end_waits_for("orders_submissionmessage")
            with pytest.raises((OSError, HTTPException)):
                posted.result(60)
        assert not SubmissionMessage.objects.exists()
        stall = proxy.cut(Moment.STALL, "orders_submissionmessage")
        doomed = shop.serve(proxy.url)
        posted = client.submit(shop.post, doomed, "key-2")
        until(lambda: stall.stalled, what="a commit whose answer has not reached the web")
        doomed.end()
        with pytest.raises((OSError, HTTPException)):
            posted.result(60)
    assert SubmissionMessage.objects.count() == 1
    server = shop.serve()
    first, second = shop.post(server, "key-1"), shop.post(server, "key-2")
    assert (first.status, first.headers.get("idempotent-replayed")) == (202, None)
    assert (second.status, second.headers.get("idempotent-replayed")) == (202, "true")
    assert UUID(second.json["id"]) == SubmissionMessage.objects.order_by("id")[0].order_id
    _finish(system, {first.json["id"], second.json["id"]})


@pytest.mark.pattern("S3", "F3", "F4")
def test_twenty_simultaneous_posts_with_one_key_place_one_order(system: System, shop: Shop) -> None:
    """One order, and twenty times the same answer; the key with another body is refused and changes nothing."""
    server = shop.serve()
    with ThreadPoolExecutor(20) as crowd:
        answers = list(crowd.map(lambda _: shop.post(server, "one-key"), range(20)))
    assert {answer.status for answer in answers} == {202}
    assert len({answer.json["id"] for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert shop.post(server, "one-key", email="other@example.com").status == 422
    assert SubmissionKey.objects.count() == 1
    _finish(system, {answers[0].json["id"]})
