"""What is asked at the same moment is answered together, in a thread, and Django has whatever the thread has not."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import OperationalError

from orders.api import together
from orders.api.together import CROWD, Together

PATIENCE = 60.0


def run(scene: Callable[[], Any]) -> Any:
    return asyncio.run(asyncio.wait_for(scene(), PATIENCE))


class Doubles:
    """Doubles numbers, but for those that it leaves to Django. It can be stopped at the next batch."""

    def __init__(self, *, exception: int = -1, error: Exception | None = None) -> None:
        self.batches: list[Sequence[int]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        self._exception, self.error = exception, error

    def __call__(self, numbers: Sequence[int]) -> Sequence[int | None]:
        self.batches.append(numbers)
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        if self.error:
            raise self.error
        return [None if number == self._exception else 2 * number for number in numbers]

    async def stopped(self) -> None:
        """Returns when it is at work on a batch, which it does not finish before `go_on`."""
        await asyncio.to_thread(self.begun.wait, PATIENCE)


def test_what_waits_is_answered_together_and_each_has_its_own_answer() -> None:
    doubles = Doubles(exception=7)

    async def scene() -> Sequence[int | None]:
        desk = Together(doubles, at_once=10)
        return await asyncio.gather(*(desk.ask(number) for number in range(25)))

    assert run(scene) == [None if number == 7 else 2 * number for number in range(25)]
    assert [len(batch) for batch in doubles.batches] == [10, 10, 5]


def test_a_client_that_leaves_takes_nothing_from_the_others() -> None:
    doubles = Doubles()
    doubles.go_on.clear()

    async def scene() -> Sequence[Any]:
        desk = Together(doubles, at_once=10)
        tasks = [asyncio.create_task(desk.ask(number)) for number in range(3)]
        await doubles.stopped()
        tasks[1].cancel()
        await asyncio.sleep(0)
        doubles.go_on.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, third = run(scene)
    assert (first, third) == (0, 4) and isinstance(second, asyncio.CancelledError)


def test_a_crowd_goes_to_django() -> None:
    async def scene() -> Sequence[int | None]:
        desk = Together(Doubles(), at_once=100)
        return await asyncio.gather(*(desk.ask(1) for _ in range(CROWD + 50)))

    answers = run(scene)
    assert answers.count(None) == 50


def test_while_the_thread_is_stuck_nobody_else_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "LONG", 0.0)
    doubles = Doubles()
    doubles.go_on.clear()

    async def scene() -> Sequence[int | None]:
        desk = Together(doubles, at_once=10)
        first = asyncio.create_task(desk.ask(1))
        await doubles.stopped()
        second = await desk.ask(2)
        doubles.go_on.set()
        return [await first, second, await desk.ask(3)]

    assert run(scene) == [2, None, 6]


@pytest.mark.parametrize("error", [OperationalError("no"), ValueError("a mistake of ours")])
def test_after_a_failure_everything_goes_to_django_for_a_while(error: Exception) -> None:
    doubles = Doubles(error=error)

    async def scene() -> None:
        desk = Together(doubles, at_once=2)
        assert await asyncio.gather(*(desk.ask(number) for number in range(6))) == [None] * 6
        assert len(doubles.batches) == 1, "what waited at the time does not try it again"
        doubles.error = None
        assert await desk.ask(1) is None

    run(scene)


def test_after_the_pause_it_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "PAUSE", 0.0)
    doubles = Doubles(error=OperationalError("no"))

    async def scene() -> Sequence[int | None]:
        desk = Together(doubles, at_once=2)
        failed = await desk.ask(1)
        doubles.error = None
        return [failed, await desk.ask(1)]

    assert run(scene) == [None, 2]
