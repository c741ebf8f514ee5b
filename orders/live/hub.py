"""Who watches which order, in one web process: one listener and one question for all of them.

A wake-up says only that some orders have changed. The hub then asks, in a thread, for the versions of exactly the
orders that somebody watches, and not more often than every `gap` seconds; the poll is for when no wake-up is heard. A
watch holds the latest version and no queue, so a slow reader costs nothing and holds up nobody.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID

import structlog
from django.db import Error

log = structlog.get_logger()

Versions = Mapping[UUID, str]


@dataclass(frozen=True, kw_only=True)
class HubConfig:
    """Times in seconds: `poll` is the longest between two looks while somebody watches, `gap` the shortest."""

    poll: float = 3.0
    gap: float = 0.1


class Watch:
    """One reader of one order: the latest version, and whether it is to end."""

    def __init__(self, order_id: UUID, version: str) -> None:
        self.order_id = order_id
        self.version = version
        self.is_over = False
        self.stirred = asyncio.Event()

    def tell(self, version: str) -> None:
        """Notes the present version, and stirs the reader if it is another."""
        if version != self.version:
            self.version = version
            self.stirred.set()

    def end(self) -> None:
        """Has the reader leave."""
        self.is_over = True
        self.stirred.set()


class Hub:
    """All watches of a process. Everything but `wake` belongs to the event loop; `read` runs in a thread."""

    def __init__(self, *, read: Callable[[Sequence[UUID]], Versions], config: HubConfig) -> None:
        self._read = read
        self._config = config
        self._watches: dict[UUID, set[Watch]] = {}
        self._look = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "progress")

    def watch(self, order_id: UUID, version: str) -> Watch:
        """Begins to watch an order whose version was just read; what has happened since is found at once."""
        watch = Watch(order_id, version)
        self._watches.setdefault(order_id, set()).add(watch)
        self._look.set()
        if self._task is None or self._task.done():
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._follow())
        return watch

    def leave(self, watch: Watch) -> None:
        """Ends a watch."""
        others = self._watches.get(watch.order_id, set())
        others.discard(watch)
        if not others:
            self._watches.pop(watch.order_id, None)

    def wake(self) -> None:
        """Says, from any thread, that orders may have changed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look.set)

    def end_all(self) -> None:
        """Has every reader leave."""
        for watches in self._watches.values():
            for watch in watches:
                watch.end()

    async def _follow(self) -> None:
        """Looks whenever it is woken, until nobody watches."""
        while self._watches:
            self._look.clear()  # before the question: a wake-up that comes during it asks for another one
            await self._ask()
            await asyncio.sleep(self._config.gap)
            try:
                async with asyncio.timeout(self._config.poll):
                    await self._look.wait()
            except TimeoutError:
                continue

    async def _ask(self) -> None:
        try:
            versions = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._read, list(self._watches)
            )
        except Error as error:
            reason = str(error).strip().split("\n")[0]
            log.warning("progress not known", action="poll", error=reason)
            return
        for order_id, version in versions.items():
            for watch in self._watches.get(order_id, ()):
                watch.tell(version)
