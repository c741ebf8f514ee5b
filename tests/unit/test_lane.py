"""What one host knows of a circuit: who may call, what is to be reported, and retries out of the purse (A8, I8)."""

import asyncio
from typing import Any

import pytest

from orders.engine.agent_host.circuit_view import Lane, Purse
from orders.engine.circuits.rules import CircuitRow, Tally
from orders.engine.errors import Transient
from tests.unit.rows import NOW, at

pytestmark = pytest.mark.pattern("A8")

DOWN = Transient("http_503", "it is down")


def circuit(state: str = "closed", **fields: Any) -> CircuitRow:
    return CircuitRow("kitchen", state, at(-1))._replace(**fields)


def test_a_lane_lets_calls_through_until_it_learns_otherwise() -> None:
    lane = Lane("kitchen")
    assert (lane.is_clear, lane.admits()) == (True, True)
    lane.follow(circuit("open", cause_message="it is down"), NOW)
    assert (lane.is_clear, lane.admits(), lane.cause) == (False, False, "it is down")
    lane.follow(circuit(), NOW)
    assert (lane.is_clear, lane.admits()) == (True, True)


def test_one_probe_is_let_through_in_each_half_open_period() -> None:
    lane = Lane("kitchen")
    for since in (at(0), at(50)):  # the first probe was lost
        for _ in range(3):  # however often it is told of the period
            lane.follow(circuit("half_open", since=since), at(60))
            admitted = [lane.admits() for _ in range(5)]
            assert admitted[1:] == [False] * 4
            if since == at(0):
                since_first = admitted[0]
        assert lane.is_clear is False
    assert since_first is False  # told of it again, it did not begin anew


@pytest.mark.parametrize("held", [{"paused": True}, {"forced": "open", "forced_until": at(60)}])
def test_an_operators_hold_lets_no_probe_through(held: dict[str, Any]) -> None:
    lane = Lane("kitchen")
    lane.follow(circuit("half_open", **held), NOW)
    assert lane.admits() is False
    if "paused" in held:
        assert lane.cause == "the agent is paused"


def test_what_was_counted_is_reported_once_and_kept_when_it_could_not_be() -> None:
    news: list[str] = []
    lane = Lane("kitchen", on_news=lambda: news.append("!"))
    lane.count(failed=False, is_retry=False)
    assert news == []  # nothing that anybody waits for
    lane.count(failed=True, is_retry=True, fault=DOWN)
    assert news == ["!"]
    tally = lane.take()
    assert tally == Tally(2, 1, 1, "http_503", "it is down")
    assert lane.take() == Tally()
    lane.count(failed=False, is_retry=False)
    lane.put_back(tally)
    assert lane.take() == Tally(3, 1, 1, "http_503", "it is down")


def test_the_success_of_a_probe_is_news() -> None:
    news: list[str] = []
    lane = Lane("kitchen", on_news=lambda: news.append("!"))
    lane.follow(circuit("half_open"), NOW)
    lane.count(failed=False, is_retry=False)
    assert news == ["!"]


def test_a_newer_cause_outlives_what_is_put_back() -> None:
    lane = Lane("kitchen")
    lane.count(failed=True, is_retry=False, fault=Transient("no_answer", "silence"))
    lane.put_back(Tally(1, 1, 0, "http_503", "it is down"))
    assert lane.take() == Tally(2, 2, 0, "no_answer", "silence")


def test_retries_are_granted_in_the_order_in_which_they_were_asked_for() -> None:
    async def scene() -> list[int]:
        purse, served = Purse(lambda: None), list[int]()

        async def ask(n: int) -> None:
            if await purse.take(within=60):
                served.append(n)

        asking = [asyncio.create_task(ask(n)) for n in range(4)]
        await asyncio.sleep(0)
        assert purse.wanted() == 4
        purse.grant(1)
        await asking[0]
        assert (served, purse.wanted()) == ([0], 3)
        asking[1].cancel()
        await asyncio.gather(asking[1], return_exceptions=True)
        purse.grant(2)  # the one that was cancelled costs none
        await asyncio.gather(*asking, return_exceptions=True)
        assert purse.wanted() == 0
        return served

    assert asyncio.run(scene()) == [0, 2, 3]


def test_a_retry_that_is_not_granted_in_time_is_given_up() -> None:
    async def scene() -> tuple[bool, int]:
        purse = Purse(lambda: None)
        granted = await purse.take(within=0.01)
        return granted, purse.wanted()

    assert asyncio.run(scene()) == (False, 0)


def test_a_lane_asks_its_purse_only_when_there_is_time_for_a_retry() -> None:
    async def scene() -> tuple[list[bool], int]:
        wants: list[str] = []
        lane = Lane("kitchen", purse=Purse(lambda: wants.append("?")))
        said = [await lane.retry(within=within) for within in (0.0, -1.0, 0.01)]
        return said, len(wants)

    assert asyncio.run(scene()) == ([False, False, False], 1)
    assert asyncio.run(Lane("kitchen").retry(within=1.0)) is True
