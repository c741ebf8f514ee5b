"""Server-sent events about orders, as a separate ASGI application.

    GET /events/orders/<order id>/   for its owner, by the session cookie
    GET /events/console/             for operators, by the session cookie: something has changed
    GET /events/o/<signed token>/    for guests (orders.access.guest_links)

This does not use Django's handler, which keeps a thread for every open request, and whose middleware keeps a database
connection too: a process could not hold hundreds of streams. Here a stream is a task and a few objects. It ends after a
minute. The browser then reconnects with the version that it knows, and gets an event at once if there is a newer one.

While changes cannot be read, each stream says that what its page shows may be out of date.

A stream that is refused, or that has to leave for a newer one of the same reader, is no loss: until it has a stream
again, the page asks for changes every few seconds.
"""

import asyncio
import io
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.core.handlers.asgi import ASGIRequest
from django.db import Error

from orders.access.addresses import read_ip_address
from orders.access.guest_links import read_token
from orders.access.limits import LimitedError
from orders.live.admission import (
    CONSOLE,
    Admission,
    admit_bearer,
    admit_operator,
    admit_owner,
    count_and_admit,
)
from orders.live.following import (
    Following,
    Message,
    Receive,
    Scope,
    Send,
    StreamsConfig,
    displace,
    limit_of,
    pause,
    piece,
)
from orders.live.held import HeldRequests
from orders.live.hub import Watch
from orders.live.places import Caps, Places, Reader, RoomCaps
from sasweb.holding import Hold, Outcome

OWNERS = re.compile(r"/events/orders/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/")
OPERATORS = "/events/console/"
BEARERS = re.compile(r"/events/o/([^/]{1,200})/")
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class Streams:
    """The ASGI application for `/events/`, and what holds the requests of the API."""

    def __init__(self, config: StreamsConfig | None = None) -> None:
        self._config = config or StreamsConfig()
        self._following = Following(self._config)
        self._held = HeldRequests(self._following, self._config)
        self._threads = ThreadPoolExecutor(4, "admission")
        self._arriving: Counter[str] = Counter()
        self._places = Places(self._config.caps)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        caps = self._config.caps
        most = caps.total if scope["path"] == OPERATORS else caps.total - caps.operators
        if scope["method"] != "GET":
            await refuse(send, 405, allow="GET")
        elif self._following.open_streams >= most:
            await refuse(send, 503, retry_after=random.randint(5, 15))
        else:
            self._following.open_streams += 1
            try:
                await self._answer(scope, receive, send)
            finally:
                self._following.open_streams -= 1

    async def hold(
        self, hold: Hold, answer: Sequence[Message], receive: Receive, send: Send
    ) -> Outcome | None:
        """Sends this answer of the API when it is due, or returns why the request has to be answered anew."""
        return await self._held.hold(hold, answer, receive, send)

    def stop(self) -> None:
        """Ends every stream and every wait. May be called from any thread and from a signal handler."""
        self._following.stop()

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
        elif self._following.is_stopping:
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
        try:
            self._following.listen()
            hub = self._following.console if admission.order_id == CONSOLE else self._following.orders
            lifetime = self._config.lifetime * random.uniform(0.8, 1)
            limit = limit_of(lifetime)
            watch = hub.watch(admission.order_id, admission.version)
            place.leave = partial(displace, watch, limit)
            try:
                await self._following.stream(
                    watch, limit, receive, partial(self._send_versions, watch, known_version, lifetime, send)
                )
            finally:
                hub.leave(watch)
        finally:
            self._places.give_back(place)

    async def _send_versions(self, watch: Watch, known_version: str, lifetime: float, send: Send) -> None:
        """Sends the version whenever it differs from the last one sent, until the stream's lifetime is over."""

        async def render(version: str) -> tuple[bytes, bool]:
            return event(version), False

        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send(piece(pause(self._config.retry)))
        await self._following.send_changes(
            watch, known_version, render=render, lifetime=lifetime, send=send, is_for_page=True
        )


def make_streams(*, connections: int) -> Streams:
    """The streams of a process that takes this many connections: at most a third of them. There may be as many waits
    as streams of the API."""
    total = min(Caps.total, connections // 3)
    operators = total // 11
    return Streams(
        StreamsConfig(
            caps=Caps(total=total, operators=operators),
            waits=RoomCaps(total=total - operators, share=max(1, (total - operators) // 4)),
        )
    )


def event(version: str) -> bytes:
    """Returns the event for a version."""
    return f"id: {version}\nevent: progress\ndata: {json.dumps({'version': version})}\n\n".encode()


async def refuse(
    send: Send, status: int, *, retry_after: int | None = None, allow: str | None = None
) -> None:
    """Answers without opening a stream."""
    headers = [(b"content-length", b"0"), (b"cache-control", b"no-store")]
    headers += [(b"retry-after", str(retry_after).encode())] if retry_after else []
    headers += [(b"allow", allow.encode())] if allow else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send(piece(b"", more=False))
