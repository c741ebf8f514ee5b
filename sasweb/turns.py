"""Lets each IP address occupy only some of the threads, so that one client with many requests at once does not make
everybody else wait. Its other requests wait in the event loop, where they cost nothing."""

import asyncio
from collections.abc import MutableMapping
from typing import Any


class Turns:
    """At most `most` requests of an address are with the threads at a time. Call it in the event loop."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._addresses: dict[str, tuple[asyncio.Semaphore, int]] = {}

    async def take(self, scope: MutableMapping[str, Any]) -> "Turn":
        """Waits until it is this request's turn. A request without an address does not wait."""
        host, _port = scope.get("client") or ("", 0)
        if not host:
            return Turn(self, "")
        semaphore, requests = self._addresses.get(host) or (asyncio.Semaphore(self._most), 0)
        self._addresses[host] = (semaphore, requests + 1)
        try:
            await semaphore.acquire()
        except asyncio.CancelledError:
            self._leave(host)
            raise
        return Turn(self, host)

    def end(self, host: str) -> None:
        """Ends a turn of an address."""
        self._addresses[host][0].release()
        self._leave(host)

    def _leave(self, host: str) -> None:
        semaphore, requests = self._addresses[host]
        if requests == 1:
            del self._addresses[host]
        else:
            self._addresses[host] = (semaphore, requests - 1)


class Turn:
    """The turn of one request."""

    def __init__(self, turns: Turns, host: str) -> None:
        self._turns = turns
        self._host = host

    def end(self) -> None:
        """Lets the next request have its turn. Does nothing the second time."""
        host, self._host = self._host, ""
        if host:
            self._turns.end(host)
