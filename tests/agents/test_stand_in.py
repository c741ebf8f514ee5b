"""The stand-in between an agent and its service, and the cancellation at a chosen await."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from orders.testing import StandIn
from orders.testing.cancelling import CancelledAt

BOUND = 60.0
"""Seconds after which a test gives up waiting."""


class Echo:
    """A service that repeats what it gets."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.app = web.Application()
        self.app.router.add_route("*", "/{path:.*}", self.handle)

    async def handle(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.text())
        seen = {"method": request.method, "path": request.raw_path, "key": request.headers.get("X-Key")}
        return web.json_response(seen, status=202, headers={"Retry-After": "7"})


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def stand_in(echo: Echo) -> Iterator[StandIn]:
    with StandIn(echo.app) as stand_in:
        yield stand_in


def ask(url: str, *, timeout: float = BOUND) -> tuple[int, Any, str | None]:
    """The status, the body and the Retry-After of one POST."""

    async def run() -> tuple[int, Any, str | None]:
        path, limit = f"{url}/a%2Fb?c=d", aiohttp.ClientTimeout(total=timeout)
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.post(path, data="body", headers={"X-Key": "k"}) as answer,
        ):
            return answer.status, await answer.json(), answer.headers.get("Retry-After")

    return asyncio.run(run())


def test_a_call_is_passed_on_unchanged_and_so_is_its_answer(stand_in: StandIn, echo: Echo) -> None:
    answer = ask(stand_in.url)
    assert answer == (202, {"method": "POST", "path": "/a%2Fb?c=d", "key": "k"}, "7")
    assert (echo.bodies, stand_in.calls) == (["body"], 1)


def test_a_service_may_be_a_url_with_a_path(stand_in: StandIn) -> None:
    with StandIn(f"{stand_in.url}/service/") as outer:
        assert ask(outer.url)[1]["path"] == "/service/a%2Fb?c=d"


def test_a_service_that_does_not_run_is_named_in_the_answer(stand_in: StandIn) -> None:
    with stand_in.away() as nowhere, StandIn(nowhere) as outer:
        status, body, _ = ask(outer.url)
    assert (status, body["error"]["code"]) == (502, "no_service")


def test_an_answer_comes_without_the_service(stand_in: StandIn, echo: Echo) -> None:
    stand_in.answer(503, b'{"a": 1}', {"Content-Type": "application/json", "Retry-After": "9"})
    assert ask(stand_in.url) == (503, {"a": 1}, "9")
    stand_in.pass_on()
    assert ask(stand_in.url)[0] == 202
    assert (len(echo.bodies), stand_in.calls) == (1, 2)


@pytest.mark.parametrize(("method", "done"), [("cut", 0), ("lose_answers", 1)])
def test_a_connection_is_cut_before_or_after_the_service(
    method: str, done: int, stand_in: StandIn, echo: Echo
) -> None:
    getattr(stand_in, method)()
    with pytest.raises(aiohttp.ServerDisconnectedError):
        ask(stand_in.url)
    assert len(echo.bodies) == done


@pytest.mark.parametrize(("method", "done"), [("hang", 0), ("hold_answers", 1)])
def test_silence_lasts_until_the_agent_leaves(method: str, done: int, stand_in: StandIn, echo: Echo) -> None:
    getattr(stand_in, method)()
    with pytest.raises(TimeoutError):
        ask(stand_in.url, timeout=0.2)
    stand_in.wait_for_calls(1)
    assert len(echo.bodies) == done


def test_a_connection_elsewhere_is_refused(stand_in: StandIn) -> None:
    with stand_in.away() as url, pytest.raises(aiohttp.ClientConnectorError):
        ask(url)


def test_a_service_that_cannot_start_says_why() -> None:
    app = web.Application()

    async def fail(app: web.Application) -> None:
        raise RuntimeError("no database")

    app.on_startup.append(fail)
    with pytest.raises(RuntimeError, match="no database"), StandIn(app):
        pass


async def three_awaits(steps: list[str]) -> str:
    for number in (1, 2, 3):
        with contextlib.suppress(ValueError):
            await asyncio.sleep(0)
            steps.append(f"after {number}")
    return "done"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_call_is_cancelled_at_the_await_of_that_number(number: int) -> None:
    steps: list[str] = []

    async def run() -> None:
        call = CancelledAt(three_awaits(steps), number=number)
        task = asyncio.create_task(call.run())
        await asyncio.wait([task])
        assert call.was_reached and task.cancelled()

    asyncio.run(run())
    assert steps == [f"after {step}" for step in range(1, number)]


def test_a_call_with_fewer_awaits_ends_by_itself() -> None:
    async def run() -> tuple[str, bool]:
        call = CancelledAt(three_awaits([]), number=4)
        return await call.run(), call.was_reached

    assert asyncio.run(run()) == ("done", False)


def test_an_await_that_fails_fails_in_the_call() -> None:
    async def work() -> str:
        failing = asyncio.get_running_loop().create_future()
        failing.set_exception(ValueError("no"))
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(failing, BOUND)
        except ValueError as error:
            return f"caught {error}"
        return "nothing"

    assert asyncio.run(CancelledAt(work(), number=100).run()) == "caught no"
