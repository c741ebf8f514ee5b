"""Nobody can take everybody's live updates: what readers, orders and IP addresses may have of a process's streams."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from tests.support.people import person, signed_in
from tests.support.wait import until
from tests.web.following import EACH, about, as_guest, as_owner, cookie, many_orders, session_cookie, started
from tests.web.helpers import place, run_submission
from tests.web.server import Server
from tests.web.sse import Stream

pytestmark = pytest.mark.django_db(transaction=True)

CONSOLE = "/events/console/"
HOME, OFFICE, ELSEWHERE = "127.0.2.1", "127.0.2.2", "127.0.2.3"

Open = Callable[..., Stream]


@pytest.fixture(scope="module")
def shared(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The product's own limits."""
    yield from started(Server(tmp_path_factory.mktemp("caps") / "log", **about("caps")))


@pytest.fixture(scope="module")
def small(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Nine streams, two of them for operators; two a reader, three an order, four an IP address."""
    log = tmp_path_factory.mktemp("small") / "log"
    yield from started(Server(log, application="tests.web.few_streams:application", **about("small")))


@pytest.fixture
def follow() -> Iterator[Open]:
    """Opens streams, which are closed at the end."""
    opened: list[Stream] = []

    def follow(server: Server, path: str, source: str = HOME, **headers: str) -> Stream:
        stream = Stream(server, path, source=source, **headers).open()
        opened.append(stream)
        return stream

    yield follow
    for stream in opened:
        stream.close()


@pytest.fixture
def orders(ada: APIClient) -> list[UUID]:
    placed = [UUID(place(ada)["id"]) for _ in range(7)]
    run_submission()
    return placed


def may_try_again(stream: Stream, status: int) -> bool:
    return stream.status == status and int(stream.headers["retry-after"]) >= 1


def close(*streams: Stream) -> None:
    for stream in streams:
        stream.close()


def retry_of_the_end(stream: Stream) -> int:
    """Reads a stream to its end. How many milliseconds the browser waits before it reconnects."""
    pauses = [2000]
    while (block := stream.next()) is not None:
        pauses += [int(block.fields["retry"])] if "retry" in block.fields else []
    return pauses[-1]


def test_one_address_with_many_orders_leaves_room_for_everybody_else(
    shared: Server, ada: APIClient, follow: Open
) -> None:
    order_ids = sorted(many_orders(ada, 11 * EACH))
    taken = [follow(shared, as_guest(order_id)) for order_id in order_ids]
    assert [stream.status for stream in taken].count(200) == 60
    assert all(may_try_again(stream, 429) for stream in taken if stream.status != 200)
    assert follow(shared, as_guest(order_ids[0]), OFFICE).status == 200


def test_one_orders_link_shared_by_many_has_a_limit(shared: Server, orders: list[UUID], follow: Open) -> None:
    crowd = [follow(shared, as_guest(orders[0]), f"127.0.3.{number}") for number in range(1, 26)]
    assert [stream.status for stream in crowd[:24]] == [200] * 24
    assert may_try_again(crowd[24], 429)
    assert follow(shared, as_guest(orders[1]), "127.0.3.25").status == 200


def test_a_readers_oldest_stream_leaves_for_the_newest_and_does_not_fight_for_its_place(
    small: Server, ada: APIClient, orders: list[UUID], follow: Open
) -> None:
    as_ada = {"Cookie": cookie(ada)}
    oldest = follow(small, as_owner(orders[0]), **as_ada)
    older = follow(small, as_guest(orders[0]))  # the same order, at the same IP address
    newest = follow(small, as_owner(orders[0]), **as_ada)
    assert (oldest.status, older.status, newest.status) == (200, 200, 200)
    assert 30_000 <= retry_of_the_end(oldest) <= 60_000
    older.next_version()
    newest.next_version()
    close(older, newest)


def test_a_full_order_or_address_refuses_others_but_renews_the_streams_of_its_readers(
    small: Server, orders: list[UUID], follow: Open
) -> None:
    first = orders[0]
    at_home = follow(small, as_guest(first))
    others = [follow(small, as_guest(first), source) for source in (OFFICE, ELSEWHERE)]
    assert may_try_again(follow(small, as_guest(first), "127.0.2.4"), 429)
    renewed = follow(small, as_guest(first))
    assert renewed.status == 200
    assert retry_of_the_end(at_home) >= 30_000
    more = [follow(small, as_guest(order_id)) for order_id in orders[1:4]]
    assert {stream.status for stream in more} == {200}
    assert may_try_again(follow(small, as_guest(orders[4])), 429)
    assert follow(small, as_guest(orders[3])).status == 200
    assert retry_of_the_end(more[2]) >= 30_000
    close(renewed, *others, *more)


def test_customers_cannot_take_the_streams_that_are_kept_for_operators(
    small: Server, orders: list[UUID], follow: Open
) -> None:
    viewer, another = (session_cookie(signed_in(person("viewer", name))) for name in ("vera", "viktor"))

    def follows(order_id: UUID, source: str) -> bool:
        return follow(small, as_guest(order_id), source).status == 200

    customers = [(order_id, f"127.0.4.{number}") for number, order_id in enumerate(orders)]
    until(lambda: follows(*customers[0]), what="room after the test before")
    assert all(follows(*customer) for customer in customers[1:])
    assert may_try_again(follow(small, as_guest(orders[0]), "127.0.4.9"), 503)
    operators = [follow(small, CONSOLE, Cookie=viewer) for _ in range(2)]
    assert {stream.status for stream in operators} == {200}
    assert may_try_again(follow(small, CONSOLE, Cookie=another), 503)


def test_places_are_free_again_when_readers_leave(small: Server, orders: list[UUID], follow: Open) -> None:
    for _ in range(3):
        streams: list[Stream] = []

        def opens(number: int, streams: list[Stream] = streams) -> bool:
            streams.append(follow(small, as_guest(orders[number // 2]), f"127.0.5.{number // 4}"))
            return streams[-1].status == 200

        for number in range(6):
            until(lambda number=number: opens(number), what="a place")
        close(*streams)


def test_an_address_that_opens_streams_too_often_has_to_wait(
    orders: list[UUID], follow: Open, tmp_path: Path
) -> None:
    server = Server(tmp_path / "log", **about("often"), LIMITS="streams.address=3/60")
    try:
        until(server.answers, what="the server")
        statuses = [follow(server, as_guest(orders[0])).status for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert follow(server, as_guest(orders[0]), OFFICE).status == 200
        viewer = session_cookie(signed_in(person("viewer")))
        assert follow(server, CONSOLE, Cookie=viewer).status == 200
    finally:
        server.end()
