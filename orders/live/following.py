"""What one web process follows by one listener: orders, the console, response queues and feeds of changes; and streams
about them."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.listener import Listener, connection_parameters
from orders.live.admission import read_desk_version, read_feeds, read_queues, read_versions
from orders.live.hub import Hub, HubConfig, Watch
from orders.live.places import Caps, RoomCaps
from orders.selectors.changes import FeedReader

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Render: TypeAlias = Callable[[str], Awaitable[tuple[bytes, bool]]]
"""What to send about a version, and whether that is the end."""

HEARTBEAT = b": still here\n\n"
BEHIND, UP_TO_DATE = b"event: behind\ndata: {}\n\n", b"event: up-to-date\ndata: {}\n\n"
"""What tells a page that what it shows may be out of date, because changes cannot be read; and that they are again."""
LINGER = 1.0
"""Seconds that a client which does not read is given at the end."""


@dataclass(frozen=True, kw_only=True)
class StreamsConfig:
    """Times in seconds. `retry` is the client's pause before it reconnects, `displaced_retry` that of a stream that has
    to leave for a newer one of the same reader: it must not take its place back at once. `waits` are the API's requests
    that wait; of its streams, which count as the others do, a client may have as large a share."""

    lifetime: float = 60.0
    heartbeat: float = 15.0
    retry: float = 2.0
    displaced_retry: float = 30.0
    caps: Caps = field(default_factory=Caps)
    waits: RoomCaps = field(default_factory=RoomCaps)
    hub: HubConfig = field(default_factory=HubConfig)
    console: HubConfig = field(default_factory=lambda: HubConfig(poll=3.0, gap=2.0))


class Following:
    """The hubs of a process, its listener, and how many streams are open. Call everything but `stop` in the event
    loop."""

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self.orders = Hub(read=read_versions, config=config.hub)
        self.queues = Hub(read=read_queues, config=config.hub)
        self.feeds = Hub(read=read_feeds, config=config.hub)
        self.console = Hub(read=read_desk_version, config=config.console)
        self.open_streams = 0
        self.is_stopping = False
        self._limits: set[asyncio.Timeout] = set()
        self._listener: Listener | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def _hubs(self) -> Sequence[Hub]:
        return (self.orders, self.queues, self.feeds, self.console)

    def hub_of(self, subject: Hashable) -> Hub:
        """The hub for what a request of the API waits for: an order, a reader of a feed, or one of a queue."""
        if isinstance(subject, UUID):
            return self.orders
        return self.feeds if isinstance(subject, FeedReader) else self.queues

    def stop(self) -> None:
        """Ends every stream and every wait. May be called from any thread and from a signal handler."""
        self.is_stopping = True
        if self._listener is not None:
            self._listener.stop()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_all)

    def listen(self) -> None:
        """Starts this process's one listener when it is first needed."""
        if self._listener is None:
            self._loop = asyncio.get_running_loop()
            listener = Listener(parameters=connection_parameters(), on_wake={Topic.PROGRESS: self._wake})
            listener.start()
            self._listener = listener  # unless it could not be started

    async def stream(
        self,
        watch: Watch,
        limit: asyncio.Timeout,
        receive: Receive,
        send_all: Callable[[], Awaitable[None]],
    ) -> None:
        """Runs what sends a stream, until it ends, its client leaves, or its time is over."""
        leaving = asyncio.create_task(end_when_gone(watch, receive))
        self._limits.add(limit)
        try:
            async with limit:
                await send_all()
        except TimeoutError:
            # A client that does not read cannot be sent the end. The server treats this as a client that has left.
            raise asyncio.CancelledError from None
        finally:
            leaving.cancel()
            self._limits.discard(limit)

    async def send_changes(
        self,
        watch: Watch,
        known_version: str,
        *,
        render: Render,
        lifetime: float,
        send: Send,
        is_for_page: bool = False,
    ) -> None:
        """Sends what is rendered about each version that is not known yet, until the stream's lifetime is over; to a
        page also whether what it shows may be out of date."""
        clock = asyncio.get_running_loop().time
        ends = clock() + lifetime
        is_last = is_told_behind = False
        while not is_last and not watch.is_over and (remaining := ends - clock()) > 0:
            watch.changed.clear()
            if is_for_page and watch.is_behind != is_told_behind:
                is_told_behind = watch.is_behind
                await send(piece(BEHIND if is_told_behind else UP_TO_DATE))
            if watch.version != known_version:
                known_version = watch.version
                body, is_last = await render(known_version)
                if body:
                    await send(piece(body))
                continue
            try:
                async with asyncio.timeout(min(remaining, self._config.heartbeat)):
                    await watch.changed.wait()
            except TimeoutError:
                await send(piece(HEARTBEAT))
        end = pause(self._config.displaced_retry) if watch.is_displaced else b""
        if is_for_page and watch.is_lost and not is_told_behind:
            end += BEHIND
        await send(piece(end, more=False))

    def _wake(self) -> None:
        for hub in self._hubs:
            hub.wake()

    def _end_all(self) -> None:
        for hub in self._hubs:
            hub.end_all()
        for limit in self._limits:
            hasten(limit)


def limit_of(lifetime: float) -> asyncio.Timeout:
    """Returns the time limit of a stream that lives so many seconds."""
    return asyncio.timeout(lifetime + LINGER)


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
    """Returns what tells the client how long to wait before it reconnects: once to twice these seconds."""
    return f"retry: {round(seconds * random.uniform(1, 2) * 1000)}\n\n".encode()


def piece(body: bytes, *, more: bool = True) -> Message:
    """Returns a part of a stream."""
    return {"type": "http.response.body", "body": body, "more_body": more}
