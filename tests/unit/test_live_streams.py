"""The streams over the fan-out of a web process: nobody waits for anybody."""

import asyncio
from typing import Any

import pytest
from django.db import OperationalError

from orders.live import following as following_module
from orders.live import streams as streams_module
from orders.live.admission import Admission
from orders.live.following import Following, StreamsConfig
from orders.live.hub import HubConfig
from orders.live.streams import Streams
from tests.unit.live_orders import ONE, SOON, Browser, Orders, until_true


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
