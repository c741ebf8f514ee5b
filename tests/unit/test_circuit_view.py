"""What one host knows about a circuit: who may call, what it must report, and the queue for retries (A8, I8)."""

import asyncio
from typing import Any

import pytest

from orders.engine.agent_host.circuit_view import CircuitView, RetryQueue
from orders.engine.circuits.rules import CircuitRow, Tally
from orders.engine.errors import Transient
from tests.unit.rows import NOW, at

pytestmark = pytest.mark.pattern("A8")

DOWN = Transient("http_503", "it is down")


def circuit(state: str = "closed", **fields: Any) -> CircuitRow:
    return CircuitRow("kitchen", state, at(-1))._replace(**fields)


def test_a_circuit_view_lets_calls_through_until_it_learns_otherwise() -> None:
    view = CircuitView("kitchen")
    assert (view.is_clear, view.admits()) == (True, True)
    view.follow(circuit("open", cause_message="it is down"), NOW)
    assert (view.is_clear, view.admits(), view.cause) == (False, False, "it is down")
    view.follow(circuit(), NOW)
    assert (view.is_clear, view.admits()) == (True, True)


def test_one_probe_is_let_through_in_each_half_open_period() -> None:
    view = CircuitView("kitchen")
    for since in (at(0), at(50)):  # the first probe was lost
        for _ in range(3):  # however often the view sees the period
            view.follow(circuit("half_open", since=since), at(60))
            admitted = [view.admits() for _ in range(5)]
            assert admitted[1:] == [False] * 4
            if since == at(0):
                since_first = admitted[0]
        assert view.is_clear is False
    assert since_first is False  # when the view saw the period again, it did not restart it


@pytest.mark.parametrize("held", [{"paused": True}, {"forced": "open", "forced_until": at(60)}])
def test_an_operators_hold_lets_no_probe_through(held: dict[str, Any]) -> None:
    view = CircuitView("kitchen")
    view.follow(circuit("half_open", **held), NOW)
    assert view.admits() is False
    if "paused" in held:
        assert view.cause == "the agent is paused"


def test_counts_are_reported_once_and_kept_if_the_report_fails() -> None:
    news: list[str] = []
    view = CircuitView("kitchen", on_news=lambda: news.append("!"))
    view.count(failed=False, is_retry=False)
    assert news == []  # nobody waits for this report
    view.count(failed=True, is_retry=True, fault=DOWN, order_id="a")
    assert news == ["!"]
    tally = view.take()
    assert tally == Tally(2, 1, 1, "http_503", "it is down", frozenset("a"))
    assert view.take() == Tally()
    view.count(failed=False, is_retry=False)
    view.put_back(tally)
    assert view.take() == Tally(3, 1, 1, "http_503", "it is down", frozenset("a"))


def test_a_successful_probe_is_news() -> None:
    news: list[str] = []
    view = CircuitView("kitchen", on_news=lambda: news.append("!"))
    view.follow(circuit("half_open"), NOW)
    view.count(failed=False, is_retry=False)
    assert news == ["!"]


def test_a_newer_cause_survives_counts_that_are_put_back() -> None:
    view = CircuitView("kitchen")
    view.count(failed=True, is_retry=False, fault=Transient("no_answer", "silence"), order_id="b")
    view.put_back(Tally(1, 1, 0, "http_503", "it is down", frozenset("a"), "failed"))
    assert view.take() == Tally(2, 2, 0, "no_answer", "silence", frozenset("ab"), "failed")


@pytest.mark.parametrize(("failed", "probe"), [(True, "failed"), (False, "done")])
def test_how_the_probe_went_is_reported_apart(failed: bool, probe: str) -> None:
    view = CircuitView("kitchen")
    view.count(failed=failed, is_retry=False, order_id="a", is_probe=True)
    view.count(failed=not failed, is_retry=False, order_id="b")
    assert (view.take().probe, view.take().probe) == (probe, "")


def test_no_more_orders_are_reported_than_it_takes_to_open_a_circuit() -> None:
    view = CircuitView("kitchen")
    for order_id in "abcdef":
        view.count(failed=True, is_retry=False, fault=DOWN, order_id=order_id)
    assert len(view.take().orders) == 3


def test_retries_are_granted_in_the_order_of_their_requests() -> None:
    async def scene() -> list[int]:
        retry_queue, served = RetryQueue(lambda: None), list[int]()

        async def ask(n: int) -> None:
            if await retry_queue.take(within=60):
                served.append(n)

        asking = [asyncio.create_task(ask(n)) for n in range(4)]
        await asyncio.sleep(0)
        assert retry_queue.count_waiting() == 4
        retry_queue.grant(1)
        await asking[0]
        assert (served, retry_queue.count_waiting()) == ([0], 3)
        asking[1].cancel()
        await asyncio.gather(asking[1], return_exceptions=True)
        retry_queue.grant(2)  # the cancelled request uses up no grant
        await asyncio.gather(*asking, return_exceptions=True)
        assert retry_queue.count_waiting() == 0
        return served

    assert asyncio.run(scene()) == [0, 2, 3]


def test_a_retry_that_is_not_granted_in_time_is_given_up() -> None:
    async def scene() -> tuple[bool, int]:
        retry_queue = RetryQueue(lambda: None)
        granted = await retry_queue.take(within=0.01)
        return granted, retry_queue.count_waiting()

    assert asyncio.run(scene()) == (False, 0)


def test_a_retry_is_requested_only_when_there_is_time_for_it() -> None:
    async def scene() -> tuple[list[bool], int]:
        wants: list[str] = []
        view = CircuitView("kitchen", retry_queue=RetryQueue(lambda: wants.append("?")))
        allowed = [await view.retry(within=within) for within in (0.0, -1.0, 0.01)]
        return allowed, len(wants)

    assert asyncio.run(scene()) == ([False, False, False], 1)
    assert asyncio.run(CircuitView("kitchen").retry(within=1.0)) is True
