"""One address occupies some of the threads at most, and nobody waits for it."""

import asyncio
import time

import pytest

from sasweb.turns import Turns

SOON = 30.0
HOST = "203.0.113.1"


def test_one_address_waits_for_itself_and_others_do_not() -> None:
    async def run() -> None:
        turns = Turns(most=2)
        first, second = await turns.take(HOST), await turns.take(HOST)
        third = asyncio.create_task(turns.take(HOST))
        await asyncio.wait_for(turns.take("203.0.113.2"), SOON)
        assert not third.done()
        first.end()
        first.end()  # counts once
        fourth = asyncio.create_task(turns.take(HOST))
        turn = await asyncio.wait_for(third, SOON)
        assert not fourth.done()
        second.end()
        (await asyncio.wait_for(fourth, SOON)).end()
        turn.end()
        assert turns._requests.keys() == {"203.0.113.2"}, "an address without requests is forgotten"

    asyncio.run(run())


def test_a_request_that_gives_up_leaves_its_place() -> None:
    async def run() -> None:
        turns = Turns(most=1)
        first = await turns.take(HOST)
        second = asyncio.create_task(turns.take(HOST))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        first.end()
        (await asyncio.wait_for(turns.take(HOST), SOON)).end()
        assert turns._requests == {}

    asyncio.run(run())


def test_a_request_without_an_address_does_not_wait() -> None:
    async def run() -> None:
        turns = Turns(most=1)
        for _ in range(3):
            await asyncio.wait_for(turns.take(""), SOON)

    asyncio.run(run())


def test_a_place_stays_empty_for_a_while_after_a_turn() -> None:
    async def run() -> None:
        turns = Turns(most=1, rest=3.0)
        began = time.monotonic()
        first = await turns.take(HOST)
        second = asyncio.create_task(turns.take(HOST))
        await asyncio.sleep(0.02)
        first.end()
        took = time.monotonic() - began
        turn = await asyncio.wait_for(second, SOON)
        assert time.monotonic() - began >= took + 3 * 0.02
        turn.end()
        assert HOST in turns._requests, "it is not forgotten, however soon its next request comes"

    asyncio.run(run())


def test_a_long_turn_is_followed_by_a_short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sasweb.turns.LONGEST_REST", 0.0)

    async def run() -> None:
        turns = Turns(most=1, rest=1e9)
        (await turns.take(HOST)).end()
        (await asyncio.wait_for(turns.take(HOST), SOON)).end()

    asyncio.run(run())
