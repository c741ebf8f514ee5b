"""Live updates from the real server: within a second, by one listener, even if other readers are slow."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import connection
from rest_framework.test import APIClient

from orders.access.guest_links import make_token
from orders.engine.runtime.sql import fetch
from orders.selectors import orders as order_selectors
from tests.support.wait import until
from tests.web.following import (
    about,
    as_guest,
    as_owner,
    cookie,
    happen,
    happen_to_all,
    listening,
    many_orders,
    open_many,
    sessions,
    started,
)
from tests.web.helpers import place, run_submission
from tests.web.server import Server
from tests.web.sse import Stream, is_quiet

pytestmark = pytest.mark.django_db(transaction=True)

SOON = 60.0
"""Seconds within which a reader is notified of a change: far less than those after which `shared` polls."""
MANY = 240


@pytest.fixture(scope="module")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It does not poll while a test lasts, so a stream goes on because of a wake-up."""
    log = tmp_path_factory.mktemp("live") / "log"
    yield from started(Server(log, application="tests.web.unhurried:application", **about("live")))


@pytest.fixture(scope="module")
def brief(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("brief") / "log"
    yield from started(Server(log, application="tests.web.brief_streams:application", **about("brief")))


@pytest.fixture
def streams() -> Iterator[list[Stream]]:
    opened: list[Stream] = []
    yield opened
    for stream in opened:
        stream.close()


@pytest.fixture
def order_id(ada: APIClient) -> UUID:
    placed = UUID(place(ada)["id"])
    run_submission()
    return placed


def test_an_owner_is_notified_of_a_change_within_a_second(
    shared: Server, ada: APIClient, order_id: UUID, streams: list[Stream]
) -> None:
    stream = Stream(shared, as_owner(order_id), Cookie=cookie(ada)).open()
    streams.append(stream)
    assert (stream.status, stream.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (stream.headers["cache-control"], stream.headers["x-accel-buffering"]) == ("no-store", "no")
    first = stream.next()
    assert first and 2000 <= int(first.fields["retry"]) <= 4000
    etag = ada.get(f"/api/v1/orders/{order_id}").headers["ETag"]
    event = stream.next()
    assert event and f'W/"{event.version}"' == etag
    assert is_quiet(stream, seconds=0.3)
    version = happen(order_id)
    update = stream.next(seconds=SOON)
    assert update is not None
    assert update.fields == {"id": version, "event": "progress", "data": json.dumps({"version": version})}


def test_a_roles_changes_are_streamed_and_a_queued_order_can_be_followed(
    shared: Server, ada: APIClient, streams: list[Stream]
) -> None:
    queued = UUID(place(ada)["id"])
    stream = Stream(shared, as_owner(queued), Cookie=cookie(ada)).open()
    streams.append(stream)
    assert stream.next_version().version == "0-pending"
    run_submission()
    assert stream.next_version(seconds=SOON).version == order_selectors.order_version(queued)


def test_a_returning_reader_gets_the_missed_changes_at_once_and_nothing_else(
    shared: Server, order_id: UUID, streams: list[Stream]
) -> None:
    old = order_selectors.order_version(order_id)
    new = happen(order_id)
    behind = Stream(shared, as_guest(order_id), Last_Event_ID=old).open()
    current = Stream(shared, as_guest(order_id), Last_Event_ID=new).open()
    streams += [behind, current]
    assert behind.next_version(seconds=SOON).version == new
    retry = current.next()
    assert retry and "retry" in retry.fields
    assert is_quiet(current, seconds=0.3)


def test_only_the_owner_and_the_holder_of_a_token_can_follow_an_order(
    shared: Server, bob: APIClient, order_id: UUID
) -> None:
    stranger = cookie(bob)
    token = make_token(order_id)
    refused: list[tuple[str, dict[str, str]]] = [
        (as_owner(order_id), {}),
        (as_owner(order_id), {"Cookie": stranger}),
        (as_owner(order_id), {"Cookie": f"{settings.SESSION_COOKIE_NAME}=made-up"}),
        (as_owner(uuid4()), {"Cookie": stranger}),
        (as_guest(uuid4()), {}),
        (f"/events/o/{token}x/", {}),
        (f"/events/o/{order_id}/", {}),
        ("/events/", {}),
        ("/events/o/%00/", {}),
        (f"/events/orders/{order_id}", {}),
    ]
    for path, headers in refused:
        answer = shared.request("GET", path, headers=headers)
        assert (answer.status, answer.body) == (404, b""), path
    assert shared.request("GET", as_guest(order_id), headers={"Host": "evil.example"}).status == 400
    assert shared.request("POST", as_guest(order_id)).status == 405


def test_a_stream_sends_heartbeats_and_ends(brief: Server, order_id: UUID) -> None:
    stream = Stream(brief, as_guest(order_id)).open()
    blocks = []
    while (block := stream.next(seconds=3.0)) is not None:
        blocks.append(block.fields)
    assert stream.is_over
    assert 2 <= sum("" in fields for fields in blocks) <= 4
    stream.close()


def test_a_change_is_streamed_even_without_a_wake_up(
    brief: Server, order_id: UUID, streams: list[Stream]
) -> None:
    stream = Stream(brief, as_guest(order_id)).open()
    streams.append(stream)
    stream.next_version()
    version = happen(order_id, silently=True)
    assert stream.next_version(seconds=SOON).version == version


def test_a_listener_whose_session_was_ended_reconnects_and_misses_no_change(
    shared: Server, order_id: UUID, streams: list[Stream]
) -> None:
    stream = Stream(shared, as_guest(order_id)).open()
    streams.append(stream)
    stream.next_version()
    (pid,) = until(lambda: listening("live"), what="the listener")
    assert fetch("SELECT pg_terminate_backend(%s)", [pid]) == [(True,)]
    version = happen(order_id)
    assert stream.next_version(seconds=SOON).version == version
    until(lambda: set(listening("live")) - {pid}, what="another listener")
    version = happen(order_id)
    assert stream.next_version(seconds=SOON).version == version


def test_one_listener_serves_hundreds_of_readers_even_if_some_do_not_read(
    shared: Server, ada: APIClient, streams: list[Stream]
) -> None:
    """F36."""
    order_ids = many_orders(ada, MANY)
    streams += open_many(shared, order_ids)
    assert {stream.status for stream in streams} == {200}
    assert shared.request("GET", "/api/v1/products", timeout=5.0).status == 200
    readers, asleep = streams[: MANY // 2], streams[MANY // 2 :]
    for stream in readers:
        stream.next_version()
    assert sessions("live") <= 24  # the pool, the admission's, and one listener
    happen_to_all(order_ids)
    now = order_selectors.order_versions(order_ids)
    for stream, order_id in zip(readers, order_ids, strict=False):
        assert stream.next_version(seconds=SOON).version == now[order_id]
    until(lambda: len(listening("live")) == 1, what="one listener")
    for stream, order_id in zip(asleep, order_ids[MANY // 2 :], strict=True):
        versions = {stream.next_version().version}
        if now[order_id] not in versions:
            versions.add(stream.next_version().version)
        assert now[order_id] in versions


@pytest.mark.pattern("F36")
def test_hundreds_of_readers_can_reconnect_at_once(shared: Server, ada: APIClient) -> None:
    """F36."""
    order_ids = many_orders(ada, MANY)
    for _ in range(2):
        opened = open_many(shared, order_ids)
        assert [stream.status for stream in opened] == [200] * MANY
        for stream in opened:
            stream.close()


def test_a_stop_ends_every_stream_quickly(ada: APIClient, tmp_path: Path) -> None:
    order_ids = many_orders(ada, MANY)[:60]
    server = Server(
        tmp_path / "log",
        application="tests.web.unhurried:application",
        config="tests.web.long_grace",
        **about("stopped"),
    )
    opened: list[Stream] = []
    try:
        until(server.answers)
        opened = open_many(server, order_ids)
        server.stop()  # in less time than the streams, or the grace for those that are not ended, would take
        for stream in opened:
            while stream.next() is not None:
                pass
        log = server.log.read_text()
        assert "Traceback" not in log and "ERROR" not in log, log
    finally:
        for stream in opened:
            stream.close()
        server.end()


def test_the_version_is_the_same_wherever_it_is_read(ada: APIClient, order_id: UUID) -> None:
    queued = UUID(place(ada)["id"])
    versions: dict[UUID, Any] = order_selectors.order_versions([order_id, queued])
    for each_id in (order_id, queued):
        read = order_selectors.order(order_id=each_id, customer_id=ada.user.pk)
        assert read is not None and versions[each_id] == read.version
    with connection.cursor() as cursor:
        cursor.execute("UPDATE orders_orderprocess SET process_state = 'error', locked_by = NULL")
    assert order_selectors.order_versions([order_id])[order_id].endswith("-error")
