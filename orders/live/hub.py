"""Who watches what in one web process: orders, for example. All watches of a hub share one listener and one query.

A wake-up says only that something has changed. The hub then reads, in a thread, the versions of exactly the subjects
that are watched, at most once every `gap` seconds. It also polls, in case a wake-up is lost. A watch holds the latest
version and no queue, so a slow reader costs nothing and delays nobody. If a read takes `patience` seconds, or fails
that long after the last one, each watch is told that what it has may be out of date, until something is read again.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import structlog
from django.db import Error

from sasweb.database_circuit import CIRCUIT

log = structlog.get_logger()

Versions = Mapping[Any, str]


class Unsettled(dict[Any, str]):
    """Versions of which some are about to change without a wake-up, so that they are soon read again."""


@dataclass(frozen=True, kw_only=True)
class HubConfig:
    """Times in seconds: `poll` is the longest time between two reads while there are watches, `gap` the shortest.
    `patience` is how long a read may take until what a watch has may be out of date."""

    poll: float = 3.0
    gap: float = 0.05
    patience: float = 4.0


class Watch:
    """One reader of one subject, such as an order: the latest version, whether that may be out of date, and whether the
    reader must leave."""

    def __init__(self, subject: Hashable, version: str, *, is_behind: bool = False) -> None:
        self.subject = subject
        self.version = version
        self.is_behind = is_behind
        self.is_over = False
        self.is_displaced = False
        self.is_lost = False
        self.changed = asyncio.Event()

    def update(self, version: str) -> None:
        """Sets the current version, and wakes the reader if it has changed."""
        if version != self.version:
            self.version = version
            self.changed.set()

    def note_behind(self, is_behind: bool) -> None:
        """Says whether the version may be out of date, and wakes the reader if that has changed."""
        if is_behind != self.is_behind:
            self.is_behind = is_behind
            self.changed.set()

    def end(self) -> None:
        """Has the reader leave."""
        self.is_over = True
        self.changed.set()

    def lose(self) -> None:
        """Ends the reader's wait or stream because nobody can tell whether anything has changed."""
        self.is_lost = self.is_behind = True
        self.end()

    def displace(self) -> None:
        """Ends the reader's stream because the same reader has opened a newer one."""
        self.is_displaced = True
        self.end()


class Hub:
    """All watches of a process. Call everything but `wake` in the event loop; `read` runs in a thread."""

    def __init__(self, *, read: Callable[[Sequence[Any]], Versions], config: HubConfig) -> None:
        self._read = read
        self._config = config
        self._watches: dict[Hashable, set[Watch]] = {}
        self._look = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "progress")
        self._read_at = 0.0
        self._is_behind = False

    def watch(self, subject: Hashable, version: str) -> Watch:
        """Starts watching a subject whose version was just read. A change since then is noticed at once."""
        if self._task is None or self._task.done():
            self._loop = asyncio.get_running_loop()
            self._read_at, self._is_behind = self._loop.time(), False
            self._task = self._loop.create_task(self._follow())
        watch = Watch(subject, version, is_behind=self._is_behind)
        self._watches.setdefault(subject, set()).add(watch)
        self._look.set()
        return watch

    def leave(self, watch: Watch) -> None:
        """Ends a watch."""
        others = self._watches.get(watch.subject, set())
        others.discard(watch)
        if not others:
            self._watches.pop(watch.subject, None)

    def wake(self) -> None:
        """Reports that something may have changed. May be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look.set)

    def end_all(self) -> None:
        """Has every reader leave."""
        for watches in self._watches.values():
            for watch in watches:
                watch.end()

    async def _follow(self) -> None:
        """Reads versions whenever it is woken, until there are no watches."""
        while self._watches:
            self._look.clear()  # before the read: a wake-up during it leads to another read
            await self._read_versions()
            await asyncio.sleep(self._config.gap)
            try:
                async with asyncio.timeout(self._config.poll):
                    await self._look.wait()
            except TimeoutError:
                continue

    async def _read_versions(self) -> None:
        # Not who comes during the read: they may have a version that is newer than what is being read.
        watched = {subject: tuple(watches) for subject, watches in self._watches.items()}
        loop = asyncio.get_running_loop()
        begun = loop.time()
        alarm = loop.call_later(self._config.patience, self._note_behind, True)
        try:
            versions = await loop.run_in_executor(self._thread, self._read, list(watched))
        except Error as error:
            reason = str(error).strip().split("\n")[0]
            log.warning("versions not read", action="poll", error=reason)
            if loop.time() - self._read_at >= self._config.patience:
                self._note_behind(True)
            if CIRCUIT.is_open:
                for watches in self._watches.values():
                    for watch in watches:
                        watch.lose()
            return
        finally:
            alarm.cancel()
        self._read_at = begun
        self._note_behind(False)
        if isinstance(versions, Unsettled):
            self._look.set()
        for subject, version in versions.items():
            for watch in watched.get(subject, ()):
                watch.update(version)

    def _note_behind(self, is_behind: bool) -> None:
        if is_behind == self._is_behind:
            return
        self._is_behind = is_behind
        log.info("reads of versions stall" if is_behind else "versions are read again", action="poll")
        for watches in self._watches.values():
            for watch in watches:
                watch.note_behind(is_behind)
