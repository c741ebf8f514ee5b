"""Lets each IP address, and all who enter a password, occupy only some of the threads, so that one client with many
requests at once, or a flood of sign-ins, does not make everybody else wait. Their other requests wait in the event
loop, where they cost nothing."""

import asyncio
import time

LONGEST_REST = 1.0
"""Seconds. A turn that took longer has mostly waited, for the database for example, and kept no processor busy."""


class Turns:
    """At most `most` requests of a key, such as an address, are with the threads at a time. After a turn, its place
    stays empty for `rest` times as long as the turn took, and for `LONGEST_REST` at most. Call it in the event loop."""

    def __init__(self, *, most: int, rest: float = 0.0) -> None:
        self._most = most
        self._rest = rest
        self._requests: dict[str, tuple[asyncio.Semaphore, int]] = {}

    async def take(self, key: str) -> "Turn":
        """Waits until it is this request's turn. A request whose key is empty does not wait."""
        if not key:
            return Turn(self, "")
        semaphore, requests = self._requests.get(key) or (asyncio.Semaphore(self._most), 0)
        self._requests[key] = (semaphore, requests + 1)
        try:
            await semaphore.acquire()
        except asyncio.CancelledError:
            self._leave(key)
            raise
        return Turn(self, key)

    def end(self, key: str, seconds: float) -> None:
        """Ends a turn of a key that took so many seconds."""
        if self._rest:
            asyncio.get_running_loop().call_later(min(self._rest * seconds, LONGEST_REST), self._free, key)
        else:
            self._free(key)

    def _free(self, key: str) -> None:
        self._requests[key][0].release()
        self._leave(key)

    def _leave(self, key: str) -> None:
        semaphore, requests = self._requests[key]
        if requests == 1:
            del self._requests[key]
        else:
            self._requests[key] = (semaphore, requests - 1)


class Turn:
    """The turn of one request."""

    def __init__(self, turns: Turns, key: str) -> None:
        self._turns = turns
        self._key = key
        self._begun = time.monotonic()

    def end(self) -> None:
        """Lets the next request have its turn. Does nothing the second time."""
        key, self._key = self._key, ""
        if key:
            self._turns.end(key, time.monotonic() - self._begun)
