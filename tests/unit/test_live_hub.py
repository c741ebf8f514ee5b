"""The fan-out of a web process: few queries, only the latest version, and nobody waits for anybody."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError

from orders.live import following as following_module
from orders.live import streams as streams_module
from orders.live.admission import Admission
from orders.live.following import Following, StreamsConfig
from orders.live.hub import Hub, HubConfig, Versions, Watch
from orders.live.streams import Streams

SOON = 5.0
ONE, TWO = uuid4(), uuid4()


class Orders:
    """The database: the versions of orders, and the queries so far."""

    def __init__(self) -> None:
        self.versions = {ONE: "1", TWO: "1"}
        self.questions: list[set[UUID]] = []
        self.failures = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def read(self, order_ids: Sequence[UUID]) -> Versions:
        self.questions.append(set(order_ids))
        versions = {order_id: self.versions[order_id] for order_id in order_ids}
        assert self.may_answer.wait(SOON)
        if self.failures:
            self.failures -= 1
            raise OperationalError("the database is away")
        return versions


def run(
    scenario: Callable[[Orders, Hub], Awaitable[None]],
    *,
    poll: float = SOON,
    gap: float = 0.01,
    patience: float = SOON,
) -> Orders:
    orders = Orders()

    async def bounded() -> None:
        hub = Hub(read=orders.read, config=HubConfig(poll=poll, gap=gap, patience=patience))
        await asyncio.wait_for(scenario(orders, hub), SOON)

    asyncio.run(bounded())
    return orders


async def until_true(question: Callable[..., bool]) -> None:
    """Waits until the answer is true; the scenario's own bound ends the wait."""
    while not question():  # noqa: ASYNC110
        await asyncio.sleep(0.002)


async def until_asked(orders: Orders, number: int) -> None:
    """Waits until there have been this many queries."""
    await until_true(lambda: len(orders.questions) >= number)


async def stirred(watch: Watch) -> str:
    await watch.changed.wait()
    watch.changed.clear()
    return watch.version


def test_a_change_before_the_watch_was_registered_is_found_without_a_wake_up() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        assert await stirred(hub.watch(ONE, "0")) == "1"

    run(scenario)


def test_a_reader_who_comes_during_a_query_with_a_newer_version_is_not_taken_back() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        orders.may_answer.clear()
        early = hub.watch(ONE, "0")
        await until_asked(orders, 1)
        orders.versions[ONE] = "2"
        late = hub.watch(ONE, "2")
        orders.may_answer.set()
        assert await stirred(early) == "1"
        assert await stirred(early) == "2"
        assert not late.changed.is_set()

    run(scenario)


def test_one_query_covers_all_watched_orders_and_no_others() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        readers = [hub.watch(ONE, "1") for _ in range(100)] + [hub.watch(TWO, "1")]
        await until_asked(orders, 1)
        orders.versions[ONE] = "2"
        hub.wake()
        assert [await stirred(reader) for reader in readers[:100]] == ["2"] * 100
        assert not readers[100].changed.is_set()

    assert run(scenario).questions == [{ONE, TWO}, {ONE, TWO}]


def test_many_wake_ups_during_a_query_cause_one_more_query() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        orders.may_answer.clear()
        reader = hub.watch(ONE, "1")
        await until_asked(orders, 1)
        orders.versions[ONE] = "2"
        for _ in range(1000):
            hub.wake()
        orders.may_answer.set()
        assert await stirred(reader) == "2"
        await asyncio.sleep(0.1)
        assert len(orders.questions) == 2

    run(scenario)


def test_queries_are_spaced_apart() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        hub.watch(ONE, "1")
        ends = asyncio.get_running_loop().time() + 0.5
        while asyncio.get_running_loop().time() < ends:
            hub.wake()
            await asyncio.sleep(0.001)

    assert len(run(scenario, gap=0.1).questions) <= 6


def test_a_change_is_found_without_a_wake_up() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        reader = hub.watch(ONE, "1")
        await until_asked(orders, 1)
        orders.versions[ONE] = "2"
        assert await stirred(reader) == "2"

    run(scenario, poll=0.02)


def test_an_unreachable_database_is_queried_again() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        orders.failures = 2
        assert await stirred(hub.watch(ONE, "0")) == "1"

    assert len(run(scenario, poll=0.02).questions) == 3


def test_nothing_is_queried_while_nobody_watches_and_queries_resume_afterwards() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        watch = hub.watch(ONE, "1")
        await until_asked(orders, 1)
        hub.leave(watch)
        hub.leave(watch)
        await asyncio.sleep(0.1)
        count = len(orders.questions)
        hub.wake()
        await asyncio.sleep(0.1)
        assert len(orders.questions) == count <= 2
        assert await stirred(hub.watch(TWO, "0")) == "1"
        assert orders.questions[-1] == {TWO}

    run(scenario, poll=0.02)


def test_whoever_watches_is_told_that_a_read_stalls_and_that_it_has_been_answered() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        watch = hub.watch(ONE, "1")
        await until_asked(orders, 1)
        orders.may_answer.clear()
        hub.wake()
        await watch.changed.wait()
        watch.changed.clear()
        late = hub.watch(TWO, "1")
        assert (watch.is_behind, watch.version, late.is_behind) == (True, "1", True)
        orders.may_answer.set()
        await watch.changed.wait()
        await late.changed.wait()
        assert (watch.is_behind, watch.is_over, late.is_behind) == (False, False, False)

    run(scenario, patience=0.05)


def test_whoever_watches_is_told_that_reads_keep_failing() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        orders.failures = 10**6
        watch = hub.watch(ONE, "1")
        await watch.changed.wait()
        watch.changed.clear()
        assert watch.is_behind and len(orders.questions) > 1
        orders.failures = 0
        await watch.changed.wait()
        assert not watch.is_behind

    run(scenario, poll=0.01, patience=0.05)


def test_one_read_that_fails_is_nobodys_concern() -> None:
    async def scenario(orders: Orders, hub: Hub) -> None:
        orders.failures = 1
        watch = hub.watch(ONE, "1")
        await until_asked(orders, 3)
        assert not (watch.is_behind or watch.changed.is_set())

    run(scenario, poll=0.01)


# --- the streams over it


class Browser:
    """The other end of a stream. While `reads` is not set, it reads nothing."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.has_left = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self.messages.append(message)

    async def receive(self) -> dict[str, Any]:
        await self.has_left.wait()
        return {"type": "http.disconnect"}

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.messages).decode()


def scope() -> dict[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "path": f"/events/orders/{ONE}/",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> Orders:
    """Orders that anybody may follow, without a database or a listener."""
    orders = Orders()
    monkeypatch.setattr(following_module, "read_versions", orders.read)
    monkeypatch.setattr(
        streams_module,
        "admit_owner",
        lambda _, order_id: Admission(order_id, orders.versions[order_id], "ada"),
    )
    monkeypatch.setattr(streams_module, "count_and_admit", lambda _, admit: admit())
    monkeypatch.setattr(following_module, "LINGER", 0.05)

    def listen(self: Following) -> None:
        self._loop = asyncio.get_running_loop()

    monkeypatch.setattr(Following, "listen", listen)
    return orders


def test_a_slow_reader_delays_nobody_and_gets_only_the_latest_state(orders: Orders) -> None:
    async def scenario() -> None:
        streams = Streams(StreamsConfig(hub=HubConfig(gap=0.01)))
        slow, quick = Browser(), Browser()
        tasks = [
            asyncio.create_task(streams(scope(), browser.receive, browser.send)) for browser in (slow, quick)
        ]
        await until_true(lambda: "id: 1" in slow.text)
        slow.reads.clear()
        for version in ("2", "3", "4"):
            orders.versions[ONE] = version
            streams._following.orders.wake()
            await until_true(lambda event_id=f"id: {version}\n": event_id in quick.text)
        slow.reads.set()
        await until_true(lambda: "id: 4" in slow.text)
        # One state may have been on its way when the reader stopped reading; which one depends on who was served first.
        assert sum(f"id: {version}\n" in slow.text for version in (2, 3)) <= 1
        for browser in (slow, quick):
            browser.has_left.set()
        await asyncio.gather(*tasks)

    asyncio.run(asyncio.wait_for(scenario(), SOON))


def test_a_stream_says_that_its_page_may_be_out_of_date_and_takes_that_back(orders: Orders) -> None:
    async def scenario() -> None:
        streams, browser = Streams(StreamsConfig(hub=HubConfig(gap=0.01, patience=0.05))), Browser()
        task = asyncio.create_task(streams(scope(), browser.receive, browser.send))
        await until_true(lambda: "id: 1" in browser.text)
        orders.may_answer.clear()
        streams._following.orders.wake()
        await until_true(lambda: "event: behind" in browser.text)
        assert "event: up-to-date" not in browser.text
        orders.may_answer.set()
        await until_true(lambda: "event: up-to-date" in browser.text)
        assert browser.text.count("event: behind") == 1
        browser.has_left.set()
        await task

    asyncio.run(asyncio.wait_for(scenario(), SOON))


def test_a_stream_that_ends_because_the_database_is_lost_says_so_first(orders: Orders) -> None:
    async def scenario() -> None:
        streams, browser = Streams(), Browser()
        task = asyncio.create_task(streams(scope(), browser.receive, browser.send))
        await until_true(lambda: "id: 1" in browser.text)
        for watch in streams._following.orders._watches[ONE]:
            watch.lose()
        await task
        assert browser.text.count("event: behind") == 1
        assert browser.text.endswith("event: behind\ndata: {}\n\n")

    asyncio.run(asyncio.wait_for(scenario(), SOON))


def test_a_reader_who_never_reads_is_dropped_at_the_end_of_its_stream_and_at_a_stop(orders: Orders) -> None:
    async def scenario(*, lifetime: float, is_stopped: bool) -> None:
        streams = Streams(StreamsConfig(lifetime=lifetime))
        stuck = Browser()
        stuck.reads.clear()
        task = asyncio.create_task(streams(scope(), stuck.receive, stuck.send))
        await until_true(lambda: bool(streams._following._limits))
        if is_stopped:
            streams.stop()
        await asyncio.wait([task])
        assert task.cancelled()
        following = streams._following
        assert (following.open_streams, streams._places._held, following.orders._watches) == (0, {}, {})

    asyncio.run(asyncio.wait_for(scenario(lifetime=0.05, is_stopped=False), SOON))
    asyncio.run(asyncio.wait_for(scenario(lifetime=60.0, is_stopped=True), SOON))


def test_a_stop_properly_ends_the_streams_of_active_readers(orders: Orders) -> None:
    async def scenario() -> None:
        streams = Streams()
        browser = Browser()
        task = asyncio.create_task(streams(scope(), browser.receive, browser.send))
        await until_true(lambda: "id: 1" in browser.text)
        streams.stop()
        await task
        assert browser.messages[-1] == {"type": "http.response.body", "body": b"", "more_body": False}

    asyncio.run(asyncio.wait_for(scenario(), SOON))


def test_a_reader_who_arrives_during_a_stop_is_sent_elsewhere(orders: Orders) -> None:
    streams, browser = Streams(), Browser()
    streams.stop()
    asyncio.run(asyncio.wait_for(streams(scope(), browser.receive, browser.send), SOON))
    assert browser.messages[0]["status"] == 503
    assert int(dict(browser.messages[0]["headers"])[b"retry-after"]) >= 1


def test_a_stream_that_cannot_begin_because_nobody_listens_gives_its_place_back(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listen(self: Following) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Following, "listen", listen)
    streams, browser = Streams(), Browser()
    with pytest.raises(RuntimeError):
        asyncio.run(asyncio.wait_for(streams(scope(), browser.receive, browser.send), SOON))
    assert (streams._following.open_streams, streams._places._held) == (0, {})


def test_an_unreachable_database_makes_the_client_try_again(
    orders: Orders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(streams_module, "admit_owner", away)
    browser = Browser()
    asyncio.run(asyncio.wait_for(Streams()(scope(), browser.receive, browser.send), SOON))
    assert browser.messages[0]["status"] == 503
    assert int(dict(browser.messages[0]["headers"])[b"retry-after"]) >= 1
