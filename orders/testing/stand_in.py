"""A real HTTP server in front of a stand-in service, which answers, cuts or keeps silent as a test tells it to."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from typing import Self, TypeAlias

import aiohttp
from aiohttp import web
from yarl import URL

BOUND = 60.0
"""Seconds after which a wait for the stand-in fails."""
LARGEST_BODY = 2**26
"""In bytes."""
TURNS_OF_ACCEPTING = 10
"""Turns of the loop in which a connection that has just come is accepted completely. asyncio loses it, and does not
close it, if its server stops in the middle of that."""

Service: TypeAlias = str | web.Application
"""A stand-in service: the url where it runs, or an aiohttp application that is to be run."""

_HOP_BY_HOP = frozenset(
    {"connection", "content-length", "date", "host", "keep-alive", "server", "transfer-encoding", "upgrade"}
)


class Behaviour(Enum):
    """What happens to a call, besides an answer of our own."""

    PASS_ON = "the service answers"
    CUT = "the connection is cut, and the service learns nothing"
    LOSE_ANSWER = "the service does it, and the connection is cut"
    HOLD_ANSWER = "the service does it, and its answer never comes"
    HANG = "nothing happens, and no answer comes"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer that does not come from the service."""

    status: int
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Received:
    """A call as it has arrived."""

    method: str
    path: str
    """With the query, as it was sent."""
    headers: Mapping[str, str]
    body: bytes


class StandIn:
    """Stands between an agent and a stand-in service, at `url`. A context manager.

    It passes calls on until it is told something else, so the service needs no fault injection of its own:

        with StandIn("http://127.0.0.1:9000") as stand_in:
            agent = Rooms(stand_in.url)
            stand_in.answer(503)

    A call that is passed on is done to its end even if the agent leaves, as by a real service. Its methods may be
    called from any thread.
    """

    def __init__(self, service: Service) -> None:
        self.url = ""
        self.calls = 0
        """The calls that have arrived so far."""
        self.received: list[Received] = []
        """The same calls, the last one last."""
        self._service = service
        self._behaviour: Behaviour | Answer = Behaviour.PASS_ON
        self._under_way: set[asyncio.Task[web.Response]] = set()
        self._changed = threading.Condition()
        self._ready: Future[str] = Future()
        self._thread = threading.Thread(target=self._run, name="stand-in", daemon=True)

    def pass_on(self) -> None:
        """Passes calls on to the service."""
        self._behaviour = Behaviour.PASS_ON

    def answer(self, status: int, body: bytes = b"{}", headers: Mapping[str, str] | None = None) -> None:
        """Answers calls with this, and passes none on."""
        self._behaviour = Answer(status=status, body=body, headers=headers or {})

    def cut(self) -> None:
        """Cuts the connections of calls, and passes none on."""
        self._behaviour = Behaviour.CUT

    def lose_answers(self) -> None:
        """Passes calls on, and cuts their connections in place of the answer."""
        self._behaviour = Behaviour.LOSE_ANSWER

    def hold_answers(self) -> None:
        """Passes calls on, and keeps their answers."""
        self._behaviour = Behaviour.HOLD_ANSWER

    def hang(self) -> None:
        """Keeps the connections of calls open in silence, and passes none on."""
        self._behaviour = Behaviour.HANG

    @contextlib.contextmanager
    def away(self) -> Iterator[str]:
        """Gives another url, at which nobody listens as long as the context lasts: connections to it are refused."""
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"

    def wait_for_calls(self, number: int) -> None:
        """Waits until that many calls have arrived, counted from the start, and none is with the service any more.

        Raises `AssertionError` if they do not come within `BOUND`.
        """
        with self._changed:
            arrived = self._changed.wait_for(lambda: self.calls >= number and not self._under_way, BOUND)
        assert arrived, f"{self.calls} of {number} calls have arrived and been done within {BOUND:.0f} s"

    def settle(self) -> None:
        """Waits until the service has done all calls that have arrived. Raises `AssertionError` after `BOUND`."""
        self.wait_for_calls(0)

    def __enter__(self) -> Self:
        self._thread.start()
        self.url = self._ready.result(BOUND)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(BOUND)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve_until_stopped())
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    async def _serve_until_stopped(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with contextlib.AsyncExitStack() as cleanup:
            if isinstance(self._service, web.Application):
                self._service = await cleanup.enter_async_context(_serving(self._service))
            self._session = await cleanup.enter_async_context(
                aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
            )
            cleanup.push_async_callback(self._cancel_passing)
            proxy = web.Application(client_max_size=LARGEST_BODY)
            proxy.router.add_route("*", "/{path:.*}", self._handle)
            self._ready.set_result(await cleanup.enter_async_context(_serving(proxy)))
            await self._stop.wait()

    async def _cancel_passing(self) -> None:
        """Ends the calls that the service has not done by the end of the test."""
        passing = list(self._under_way)
        for task in passing:
            task.cancel()
        await asyncio.gather(*passing, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.Response:
        body, behaviour = await request.read(), self._behaviour
        passing = None
        with self._changed:
            self.calls += 1
            self.received.append(
                Received(
                    method=request.method, path=request.raw_path, headers=dict(request.headers), body=body
                )
            )
            if not isinstance(behaviour, Answer) and behaviour not in (Behaviour.CUT, Behaviour.HANG):
                passing = asyncio.create_task(self._pass_on(request, body))
                self._under_way.add(passing)
                passing.add_done_callback(self._note_end)
            self._changed.notify_all()
        if isinstance(behaviour, Answer):
            return web.Response(status=behaviour.status, body=behaviour.body, headers=behaviour.headers)
        response = await asyncio.shield(passing) if passing else web.Response()
        if behaviour in (Behaviour.HANG, Behaviour.HOLD_ANSWER):
            await asyncio.get_running_loop().create_future()  # until the agent leaves, or the test ends
        if behaviour in (Behaviour.CUT, Behaviour.LOSE_ANSWER) and request.transport is not None:
            request.transport.abort()
        return response

    async def _pass_on(self, request: web.Request, body: bytes) -> web.Response:
        url = URL(f"{str(self._service).rstrip('/')}{request.raw_path}", encoded=True)
        sent = _end_to_end(request.headers)
        try:
            async with self._session.request(
                request.method, url, data=body, headers=sent, allow_redirects=False
            ) as answer:
                content = await answer.read()
                return web.Response(status=answer.status, body=content, headers=_end_to_end(answer.headers))
        except aiohttp.ClientError as error:
            problem = {"code": "no_service", "message": f"the stand-in service does not answer: {error}"}
            return web.json_response({"error": problem}, status=502)

    def _note_end(self, passing: "asyncio.Task[web.Response]") -> None:
        with self._changed:
            self._under_way.discard(passing)
            self._changed.notify_all()


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}


@contextlib.asynccontextmanager
async def _serving(app: web.Application) -> AsyncIterator[str]:
    """Runs an application on a loopback port of its own, and gives its url."""
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        for _ in range(TURNS_OF_ACCEPTING):
            await asyncio.sleep(0)
    finally:
        await runner.cleanup()
