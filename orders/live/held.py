"""Requests of the API that are held (`sasweb.holding`): each is a task and a few objects, and takes no thread.

They are watched as the browsers' streams are: subscribed first, then compared with the version that the view has read,
so that a change in between is not missed.
"""

import asyncio
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from django.db import Error

from orders.live.following import (
    Following,
    Message,
    Receive,
    Send,
    StreamsConfig,
    end_when_gone,
    limit_of,
    pause,
    piece,
)
from orders.live.hub import Hub, Watch
from orders.live.places import Room, RoomCaps
from sasweb.holding import Hold, Outcome, Stream, Wait


class HeldRequests:
    """The API's requests that a process holds."""

    def __init__(self, following: Following, config: StreamsConfig) -> None:
        self._following = following
        self._config = config
        self._waits = Room(config.waits)
        self._most_streams = config.caps.total - config.caps.operators
        self._streams = Room(RoomCaps(total=self._most_streams, share=config.waits.share))
        self._threads = ThreadPoolExecutor(4, "events")

    async def hold(
        self, hold: Hold, answer: Sequence[Message], receive: Receive, send: Send
    ) -> Outcome | None:
        """Sends this answer when it is due, or returns why the request has to be answered anew."""
        if self._following.is_stopping:
            await _send_all(answer, send)
            return None
        room = self._streams if isinstance(hold, Stream) else self._waits
        if not room.enter(hold.clients):
            return Outcome.CROWDED
        try:
            self._following.listen()
            hub = self._following.hub_of(hold.subject)
            if isinstance(hold, Stream):
                return await self._stream(hold, hub, answer, receive, send)
            assert isinstance(hold, Wait)
            return await self._wait(hold, hub, answer, receive, send)
        finally:
            room.leave(hold.clients)

    async def _wait(
        self, hold: Wait, hub: Hub, answer: Sequence[Message], receive: Receive, send: Send
    ) -> Outcome | None:
        watch = hub.watch(hold.subject, hold.version)
        leaving = asyncio.create_task(end_when_gone(watch, receive))
        try:
            async with asyncio.timeout(hold.seconds):
                while not watch.is_over and watch.version == hold.version:
                    watch.changed.clear()
                    await watch.changed.wait()
        except TimeoutError:
            pass
        finally:
            leaving.cancel()
            hub.leave(watch)
        if watch.is_lost or (watch.version != hold.version and not watch.is_over):
            return Outcome.CHANGED
        await _send_all(answer, send)  # whose client may have left: then it goes nowhere
        return None

    async def _stream(
        self, hold: Stream, hub: Hub, answer: Sequence[Message], receive: Receive, send: Send
    ) -> Outcome | None:
        if self._following.open_streams >= self._most_streams:
            return Outcome.CROWDED
        lifetime = self._config.lifetime * random.uniform(0.8, 1)
        limit = limit_of(lifetime)
        watch = hub.watch(hold.subject, hold.version)
        self._following.open_streams += 1
        try:
            await self._following.stream(
                watch, limit, receive, partial(self._send_events, hold, watch, answer, lifetime, send)
            )
        finally:
            hub.leave(watch)
            self._following.open_streams -= 1
        return None

    async def _send_events(
        self, hold: Stream, watch: Watch, answer: Sequence[Message], lifetime: float, send: Send
    ) -> None:
        start, *bodies = answer
        headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
        await send({**start, "headers": headers})
        beginning = b"".join(body["body"] for body in bodies)
        await send(piece(pause(self._config.retry) + beginning))
        sent_version = hold.version

        async def render(_version: str) -> tuple[bytes, bool]:
            nonlocal sent_version
            try:
                part = await asyncio.get_running_loop().run_in_executor(self._threads, hold.read)
            except Error:
                return b"", True  # the client comes back, and is told what is wrong
            is_news = part.is_last or part.version != sent_version
            sent_version = part.version
            return (part.body if is_news else b""), part.is_last

        await self._following.send_changes(watch, hold.version, render=render, lifetime=lifetime, send=send)


async def _send_all(answer: Sequence[Message], send: Send) -> None:
    for message in answer:
        await send(message)
