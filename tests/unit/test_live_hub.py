"""The fan-out of a web process: few queries, and only the latest version."""

import asyncio
from collections.abc import Awaitable, Callable

from orders.live.hub import Hub, HubConfig, Watch
from tests.unit.live_orders import ONE, SOON, TWO, Orders, until_true


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
