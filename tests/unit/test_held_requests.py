"""What becomes of a request that is held: its answer is sent when the time is over, or it is answered anew."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.db import OperationalError

from orders.engine.runtime.listener import Listener
from orders.live import following as following_module
from orders.live.following import Following, StreamsConfig
from orders.live.held import HeldRequests
from orders.live.hub import HubConfig
from orders.live.places import Caps, Room, RoomCaps
from sasweb.holding import Hold, Outcome, Part, Stream, Wait
from tests.unit.live_orders import ONE, SOON, TWO, Browser, Orders, until_true

ANSWER: list[dict[str, Any]] = [
    {"type": "http.response.start", "status": 304, "headers": [(b"content-length", b"0")]},
    {"type": "http.response.body", "body": b""},
]
START: list[dict[str, Any]] = [
    {"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"b"), (b"content-length", b"1")]},
    {"type": "http.response.body", "body": b"!", "more_body": True},
    {"type": "http.response.body", "body": b""},
]
CLIENTS = ("account:1", "address:192.0.2.1")
QUEUE = ("user:1/q", 7)


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Orders:
    """Orders without a database or a listener."""
    orders = Orders()
    monkeypatch.setattr(following_module, "read_versions", orders.read)

    def listen(self: Following) -> None:
        self._loop = asyncio.get_running_loop()

    monkeypatch.setattr(Following, "listen", listen)
    return orders


def wait_for(subject: Any = ONE, *, version: str = "1", seconds: float = SOON) -> Wait:
    return Wait(subject=subject, version=version, clients=CLIENTS, seconds=seconds)


def run(scenario: Callable[[Following, HeldRequests], Awaitable[None]], **config: Any) -> None:
    async def bounded() -> None:
        settings = StreamsConfig(hub=HubConfig(gap=0.01), **config)
        following = Following(settings)
        await asyncio.wait_for(scenario(following, HeldRequests(following, settings)), SOON)
        assert (following.orders._watches, following.queues._watches, following.open_streams) == ({}, {}, 0)

    asyncio.run(bounded())


async def held_by(requests: HeldRequests, hold: Hold, client: Browser) -> Outcome | None:
    answer = START if isinstance(hold, Stream) else ANSWER
    return await requests.hold(hold, answer, client.receive, client.send)


def test_a_change_between_the_view_and_the_watch_is_not_missed(orders: Orders) -> None:
    async def scenario(_: Following, requests: HeldRequests) -> None:
        client = Browser()
        assert await held_by(requests, wait_for(version="0"), client) is Outcome.CHANGED
        assert client.messages == []

    run(scenario)


def test_a_change_has_the_request_answered_anew(orders: Orders) -> None:
    async def scenario(following: Following, requests: HeldRequests) -> None:
        client = Browser()
        task = asyncio.create_task(held_by(requests, wait_for(), client))
        await until_true(lambda: len(orders.questions) == 1)
        orders.versions[ONE] = "2"
        following.orders.wake()
        assert await task is Outcome.CHANGED
        assert client.messages == []

    run(scenario)


def test_when_the_time_is_over_or_the_process_stops_the_answer_is_sent(orders: Orders) -> None:
    async def scenario(following: Following, requests: HeldRequests) -> None:
        late, stopped, too_late = Browser(), Browser(), Browser()
        assert await held_by(requests, wait_for(seconds=0.05), late) is None
        task = asyncio.create_task(held_by(requests, wait_for(TWO), stopped))
        await until_true(lambda: TWO in following.orders._watches)
        following.stop()
        assert await task is None
        assert await held_by(requests, wait_for(), too_late) is None
        assert late.messages == stopped.messages == too_late.messages == ANSWER

    run(scenario)


def test_a_client_that_leaves_gives_its_place_back(orders: Orders) -> None:
    async def scenario(following: Following, requests: HeldRequests) -> None:
        client = Browser()
        task = asyncio.create_task(held_by(requests, wait_for(seconds=60), client))
        await until_true(lambda: bool(following.orders._watches))
        client.has_left.set()
        assert await task is None
        assert requests._waits.enter(CLIENTS)

    run(scenario, waits=RoomCaps(total=1, share=1))


def test_a_queue_is_watched_as_an_order_is(orders: Orders, monkeypatch: pytest.MonkeyPatch) -> None:
    orders.versions = {QUEUE: "empty"}  # type: ignore[dict-item]
    monkeypatch.setattr(following_module, "read_queues", orders.read)

    async def scenario(following: Following, requests: HeldRequests) -> None:
        task = asyncio.create_task(held_by(requests, wait_for(QUEUE, version="empty"), Browser()))
        await until_true(lambda: len(orders.questions) == 1)
        orders.versions[QUEUE] = "filled"  # type: ignore[index]
        following._wake()
        assert await task is Outcome.CHANGED

    run(scenario)


@pytest.mark.parametrize("kind", ["a wait", "a stream"])
def test_who_cannot_be_held_because_nobody_listens_leaves_the_place_free(
    orders: Orders, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def listen(self: Following) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Following, "listen", listen)

    async def scenario(following: Following, requests: HeldRequests) -> None:
        hold = wait_for() if kind == "a wait" else Reader(orders).stream()
        room = requests._waits if kind == "a wait" else requests._streams
        for _ in range(2):
            with pytest.raises(RuntimeError):
                await held_by(requests, hold, Browser())
        assert room.enter(CLIENTS)

    run(scenario, waits=RoomCaps(total=1, share=1))


def test_a_listener_that_could_not_be_started_is_started_when_it_is_next_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts: list[Listener] = []

    def start(self: Listener) -> None:
        starts.append(self)
        if len(starts) == 1:
            raise RuntimeError("can't start new thread")

    async def scenario(following: Following, _: HeldRequests) -> None:
        with pytest.raises(RuntimeError):
            following.listen()
        for _again in range(2):
            following.listen()
        assert len(starts) == 2

    monkeypatch.setattr(Listener, "start", start)
    run(scenario)


def test_a_room_has_places_altogether_and_for_each_account_and_address() -> None:
    room = Room(RoomCaps(total=3, share=2))
    assert room.enter(("account:1", "address:a")) and room.enter(("account:1", "address:b"))
    assert not room.enter(("account:1", "address:c"))
    assert room.enter(("account:2", "address:a"))
    assert not room.enter(("account:3", "address:c"))
    room.leave(("account:1", "address:a"))
    assert room.enter(("account:3", "address:c"))
    assert not room.enter(("account:4", "address:d"))


# --- streams


class Reader:
    """What a stream reads of an order, which may be behind what is watched, or ahead of it."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.reads = 0
        self.fails = False

    def __call__(self) -> Part:
        self.reads += 1
        if self.fails:
            raise OperationalError("away")
        version = self.orders.versions[ONE]
        return Part(version, f"<{version}>".encode(), version == "9")

    def stream(self, version: str = "1") -> Stream:
        return Stream(subject=ONE, version=version, clients=CLIENTS, read=self)


def test_a_stream_begins_with_the_answer_and_goes_on_until_the_last_part(orders: Orders) -> None:
    async def scenario(following: Following, requests: HeldRequests) -> None:
        client, reader = Browser(), Reader(orders)
        task = asyncio.create_task(held_by(requests, reader.stream(), client))
        for version in ("2", "9"):
            await until_true(lambda: bool(orders.questions))
            orders.versions[ONE] = version
            following.orders.wake()
            await until_true(lambda part=f"<{version}>": part in client.text)
        assert await task is None
        assert client.messages[0] == {**START[0], "headers": [(b"x-a", b"b")]}
        assert client.text.partition("\n\n")[2] == "!<2><9>"
        assert client.messages[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
        assert reader.reads == 2

    run(scenario)


def test_a_stream_that_reads_ahead_of_the_watch_sends_nothing_twice(orders: Orders) -> None:
    async def scenario(following: Following, requests: HeldRequests) -> None:
        client, reader = Browser(), Reader(orders)
        task = asyncio.create_task(held_by(requests, reader.stream(version="0"), client))
        await until_true(lambda: "<1>" in client.text)
        (watch,) = following.orders._watches[ONE]
        watch.update("0.5")  # what the hub read before
        await until_true(lambda: reader.reads == 2)
        orders.versions[ONE] = "9"
        following.orders.wake()
        assert await task is None
        assert client.text.partition("\n\n")[2] == "!<1><9>"

    run(scenario)


def test_a_stream_ends_when_the_database_cannot_be_read_and_its_client_comes_back(orders: Orders) -> None:
    async def scenario(_: Following, requests: HeldRequests) -> None:
        client, reader = Browser(), Reader(orders)
        reader.fails = True
        assert await held_by(requests, reader.stream(version="0"), client) is None
        assert client.text.startswith("retry: ")
        assert client.messages[-1]["more_body"] is False

    run(scenario)


def test_streams_of_tokens_leave_the_operators_theirs_and_others_their_share(orders: Orders) -> None:
    async def scenario(following: Following, requests: HeldRequests) -> None:
        client, reader = Browser(), Reader(orders)
        task = asyncio.create_task(held_by(requests, reader.stream(), client))
        await until_true(lambda: following.open_streams == 1)
        assert await held_by(requests, reader.stream(), Browser()) is Outcome.CROWDED
        following.open_streams += 1  # of a browser
        other = Stream(subject=TWO, version="1", clients=("account:2", "address:b"), read=reader)
        assert await held_by(requests, other, Browser()) is Outcome.CROWDED
        following.open_streams -= 1
        client.has_left.set()
        assert await task is None

    run(scenario, caps=Caps(total=3, operators=1), waits=RoomCaps(total=9, share=1))
