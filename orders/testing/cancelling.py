"""The tests of the contract about cancellation, and what cancels a call at a chosen one of its awaits."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from orders.engine.contracts import Agent, Request
from orders.testing.basis import ContractBasis, check_nothing_is_left, one_try, title, try_until_done

MOST_AWAITS = 1_000
"""The awaits after which a call is taken for one that never ends."""

Returned = TypeVar("Returned")


class CancelledAt(Generic[Returned]):
    """Awaits a coroutine, and cancels the task that does so once it has suspended for the `number`th time.

    `was_reached` tells whether it has suspended so often.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Returned], *, number: int) -> None:
        self.was_reached = False
        self._coroutine = coroutine
        self._number = number

    async def run(self) -> Returned:
        """Runs the coroutine in the task that is to be cancelled."""
        return await self

    def __await__(self) -> Generator[Any, Any, Returned]:
        task = asyncio.current_task()
        assert task is not None
        inner = self._coroutine.__await__()
        resume: Callable[[], Any] = partial(next, inner)
        suspensions = 0
        while True:
            try:
                future = resume()
            except StopIteration as end:
                result: Returned = end.value
                return result
            suspensions += 1
            if suspensions == self._number:
                self.was_reached = True
                task.cancel()  # the coroutine gets the CancelledError when it is resumed
            try:
                value = yield future
            except BaseException as error:  # noqa: BLE001 - the coroutine's to handle, above all a CancelledError
                resume = partial(inner.throw, error)
            else:
                resume = partial(inner.send, value)


class CancellationTests(ContractBasis):
    """A call that is cancelled may have had its effect or not. Its key finds out, and nothing is left open."""

    def test_a_call_may_be_cancelled_at_any_await(self) -> None:
        """Cancelled at its first await, its second, and so on, and repeated with its key, a call has one effect."""
        self._cancel_at_each_await(self.make_request)

    def test_a_compensation_may_be_cancelled_at_any_await(self) -> None:
        """Cancelled at any of its awaits, and then repeated with its key, a compensation has one effect."""

        def performed() -> Request:
            request = self.make_request()
            self.call(request)
            return self.reversal_of(request)

        self._cancel_at_each_await(performed)

    def test_a_call_cancelled_after_its_effect_is_not_done_again(self) -> None:
        """The service has done it and its answer is still out: after the cancellation the key gives that answer."""
        request = self.make_request()
        self.stand_in.hold_answers()
        self.run(partial(self._cancel_on_arrival, request=request))
        self.stand_in.pass_on()
        self.run(partial(try_until_done, request=request))
        assert self.count(request) == 1, f"the repeated call made it {self.count(request)} effects, not 1"

    def test_nothing_is_called_after_a_cancellation(self) -> None:
        """The host cancels a call at its timeout or at complete-by. From then on the agent is silent."""
        for request in self.directions():
            self.stand_in.hang()
            self.run(partial(self._cancel_on_arrival, request=request))
            assert self.count(request) == 0, "the service has done what never reached it"

    def _cancel_at_each_await(self, prepare: Callable[[], Request]) -> None:
        for number in range(1, MOST_AWAITS):
            request = prepare()
            was_reached = self.run(partial(_cancel_and_repeat, request=request, number=number))
            effects = self.count(request)
            assert effects == 1, (
                f"{title(request)} was cancelled at its await number {number}; repeated with the same key, "
                f"it had {effects} effects, not 1"
            )
            if not was_reached:
                return
        raise AssertionError(f"the call had not ended after {MOST_AWAITS} awaits")

    async def _cancel_on_arrival(self, agent: Agent, request: Request) -> None:
        """Cancels a call that has reached the stand-in. Raises `AssertionError` if a further call follows."""
        earlier = self.stand_in.calls
        task = asyncio.create_task(one_try(agent, request))
        arrival = asyncio.create_task(asyncio.to_thread(self.stand_in.wait_for_calls, earlier + 1))
        await asyncio.wait([task, arrival], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()
        await arrival
        arrived = self.stand_in.calls
        await asyncio.wait([task])
        check_cancelled(task, request)
        await check_nothing_is_left()
        assert self.stand_in.calls == arrived, f"{title(request)} went on calling after it was cancelled"


async def _cancel_and_repeat(agent: Agent, *, request: Request, number: int) -> bool:
    """Cancels a call at its await of this number, then tries it until it is done. Returns whether it was cancelled."""
    call = CancelledAt(one_try(agent, request), number=number)
    task = asyncio.create_task(call.run())
    await asyncio.wait([task])
    if call.was_reached:
        check_cancelled(task, request)
    await try_until_done(agent, request)
    return call.was_reached


def check_cancelled(task: "asyncio.Task[Any]", request: Request) -> None:
    """Raises `AssertionError` if a call that was cancelled has ended otherwise."""
    if not task.cancelled():
        error = task.exception()
        ending = f"raised {type(error).__name__}: {error}" if error else f"returned {task.result()!r:.200}"
        raise AssertionError(
            f"{title(request)} was cancelled and {ending}. A CancelledError must not be caught for good: "
            "clean up in `finally`, or raise it again."
        )
