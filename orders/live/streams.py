"""Server-sent events about orders, as a separate ASGI application.

    GET /events/orders/<order id>/   for its owner, by the session cookie
    GET /events/console/             for operators, by the session cookie: something has changed
    GET /events/o/<signed token>/    for guests (orders.access.guest_links)

This does not use Django's handler, which keeps a thread for every open request, and whose middleware keeps a database
connection too: a process could not hold hundreds of streams. Here a stream is a task and a few objects. It ends after a
minute. The browser then reconnects with the version that it knows, and gets an event at once if there is a newer one.

A stream that is refused, or that has to leave for a newer one of the same reader, is no loss: until it has a stream
again, the page asks for changes every few seconds.
"""

import asyncio
import io
import json
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.db import Error

from orders.access.addresses import read_ip_address
from orders.access.guest_links import read_token
from orders.access.limits import LimitedError
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.listener import Listener, connection_parameters
from orders.live.admission import (
    CONSOLE,
    Admission,
    admit_bearer,
    admit_operator,
    admit_owner,
    count_and_admit,
    read_desk_version,
    read_versions,
)
from orders.live.hub import Hub, HubConfig, Watch
from orders.live.places import Caps, Places, Reader

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

OWNERS = re.compile(r"/events/orders/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/")
OPERATORS = "/events/console/"
BEARERS = re.compile(r"/events/o/([^/]{1,200})/")
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
HEARTBEAT = b": still here\n\n"
LINGER = 1.0
"""Seconds that a client which does not read is given at the end."""


@dataclass(frozen=True, kw_only=True)
class StreamsConfig:
    """Times in seconds. `retry` is the browser's pause before it reconnects, `displaced_retry` that of a stream that
    has to leave for a newer one of the same reader: it must not take its place back at once."""

    lifetime: float = 60.0
    heartbeat: float = 15.0
    retry: float = 2.0
    displaced_retry: float = 30.0
    caps: Caps = field(default_factory=Caps)
    hub: HubConfig = field(default_factory=HubConfig)
    console: HubConfig = field(default_factory=lambda: HubConfig(poll=3.0, gap=2.0))


class Streams:
    """The ASGI application for `/events/`."""

    def __init__(self, config: StreamsConfig | None = None) -> None:
        self._config = config or StreamsConfig()
        self._hub = Hub(read=read_versions, config=self._config.hub)
        self._console = Hub(read=read_desk_version, config=self._config.console)
        self._threads = ThreadPoolExecutor(4, "admission")
        self._open = 0
        self._arriving: Counter[str] = Counter()
        self._places = Places(self._config.caps)
        self._is_stopping = False
        self._limits: set[asyncio.Timeout] = set()
        self._listener: Listener | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        caps = self._config.caps
        most = caps.total if scope["path"] == OPERATORS else caps.total - caps.operators
        if scope["method"] != "GET":
            await refuse(send, 405, allow="GET")
        elif self._open >= most:
            await refuse(send, 503, retry_after=random.randint(5, 15))
        else:
            self._open += 1
            try:
                await self._answer(scope, receive, send)
            finally:
                self._open -= 1

    def stop(self) -> None:
        """Ends every stream. May be called from any thread and from a signal handler."""
        self._is_stopping = True
        if self._listener is not None:
            self._listener.stop()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_all)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = ASGIRequest(scope, io.BytesIO())
            request.get_host()
            address = read_ip_address(request) or ""
            if self._arriving[address] >= self._config.caps.address:
                await refuse(send, 429, retry_after=random.randint(10, 30))
                return
            admission = await self._admit(request, address)
        except (BadRequest, SuspiciousOperation, UnicodeDecodeError):
            await refuse(send, 400)
            return
        except LimitedError as error:
            await refuse(send, 429, retry_after=error.wait)
            return
        except Error:
            await refuse(send, 503, retry_after=random.randint(2, 10))
            return
        if admission is None:
            await refuse(send, 404)
        elif self._is_stopping:
            await refuse(send, 503, retry_after=random.randint(1, 5))
        else:
            reader = Reader(admission.follower, None if admission.order_id == CONSOLE else address)
            await self._follow(admission, reader, request.headers.get("Last-Event-ID", ""), receive, send)

    async def _admit(self, request: ASGIRequest, address: str) -> Admission | None:
        if request.path == OPERATORS:
            admit = partial(admit_operator, request)
        elif owners := OWNERS.fullmatch(request.path):
            admit = partial(count_and_admit, address, partial(admit_owner, request, UUID(owners[1])))
        elif bearers := BEARERS.fullmatch(request.path):
            order_id = read_token(bearers[1])
            if order_id is None:
                return None
            admit = partial(count_and_admit, address, partial(admit_bearer, order_id))
        else:
            return None
        self._arriving[address] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, admit)
        finally:
            self._arriving[address] -= 1
            self._arriving += Counter()  # drops the zero counts

    async def _follow(
        self, admission: Admission, reader: Reader, known_version: str, receive: Receive, send: Send
    ) -> None:
        place = self._places.take(reader)
        if place is None:
            await refuse(send, 429, retry_after=random.randint(10, 30))
            return
        self._listen()
        hub = self._console if admission.order_id == CONSOLE else self._hub
        watch = hub.watch(admission.order_id, admission.version)
        leaving = asyncio.create_task(end_when_gone(watch, receive))
        lifetime = self._config.lifetime * random.uniform(0.8, 1)
        limit = asyncio.timeout(lifetime + LINGER)
        self._limits.add(limit)
        place.leave = partial(displace, watch, limit)
        try:
            async with limit:
                await self._send_versions(watch, known_version, lifetime, send)
        except TimeoutError:
            # A client that does not read cannot be sent the end. The server treats this as a client that has left.
            raise asyncio.CancelledError from None
        finally:
            leaving.cancel()
            self._limits.discard(limit)
            hub.leave(watch)
            self._places.give_back(place)

    async def _send_versions(self, watch: Watch, known_version: str, lifetime: float, send: Send) -> None:
        """Sends the version whenever it differs from the last one sent, until the stream's lifetime is over."""
        clock = asyncio.get_running_loop().time
        ends = clock() + lifetime
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send(piece(pause(self._config.retry)))
        while not watch.is_over and (remaining := ends - clock()) > 0:
            watch.changed.clear()
            if watch.version != known_version:
                known_version = watch.version
                await send(piece(event(known_version)))
                continue
            try:
                async with asyncio.timeout(min(remaining, self._config.heartbeat)):
                    await watch.changed.wait()
            except TimeoutError:
                await send(piece(HEARTBEAT))
        await send(piece(pause(self._config.displaced_retry) if watch.is_displaced else b"", more=False))

    def _listen(self) -> None:
        """Starts this process's one listener when it is first needed."""
        if self._listener is None:
            self._loop = asyncio.get_running_loop()
            self._listener = Listener(
                parameters=connection_parameters(), on_wake={Topic.PROGRESS: self._wake}
            )
            self._listener.start()

    def _wake(self) -> None:
        self._hub.wake()
        self._console.wake()

    def _end_all(self) -> None:
        self._hub.end_all()
        self._console.end_all()
        for limit in self._limits:
            hasten(limit)


def make_streams(*, connections: int) -> Streams:
    """The streams of a process that takes this many connections: at most half of them."""
    total = min(Caps.total, connections // 2)
    return Streams(StreamsConfig(caps=Caps(total=total, operators=total // 10)))


async def end_when_gone(watch: Watch, receive: Receive) -> None:
    """Ends a watch when its client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    watch.end()


def displace(watch: Watch, limit: asyncio.Timeout) -> None:
    """Ends a stream for a newer one of the same reader."""
    watch.displace()
    hasten(limit)


def hasten(limit: asyncio.Timeout) -> None:
    """Leaves a stream that was told to end only the time that a client which does not read is given."""
    if not limit.expired():
        limit.reschedule(asyncio.get_running_loop().time() + LINGER)


def pause(seconds: float) -> bytes:
    """Returns what tells the browser how long to wait before it reconnects: once to twice these seconds."""
    return f"retry: {round(seconds * random.uniform(1, 2) * 1000)}\n\n".encode()


def event(version: str) -> bytes:
    """Returns the event for a version."""
    return f"id: {version}\nevent: progress\ndata: {json.dumps({'version': version})}\n\n".encode()


def piece(body: bytes, *, more: bool = True) -> dict[str, Any]:
    """Returns a part of a stream."""
    return {"type": "http.response.body", "body": body, "more_body": more}


async def refuse(
    send: Send, status: int, *, retry_after: int | None = None, allow: str | None = None
) -> None:
    """Answers without opening a stream."""
    headers = [(b"content-length", b"0"), (b"cache-control", b"no-store")]
    headers += [(b"retry-after", str(retry_after).encode())] if retry_after else []
    headers += [(b"allow", allow.encode())] if allow else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send(piece(b"", more=False))
