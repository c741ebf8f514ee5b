"""Group commit: every job that is waiting when a transaction begins goes into that transaction.

Under light load a transaction is one call; under heavy load a few hundred calls share one, and the cost of its commit.
A job gets its result only after the commit.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sandbox import ledger
from sandbox.answers import Answer

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], Any]
BATCH = 500
"""Jobs that share one transaction, at most."""

log = logging.getLogger("sandbox")


class Commits:
    """The only writer of a ledger, created and used in one event loop. Raises `sqlite3.Error` if the file cannot be
    used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = ledger.connect(path)
        ledger.make_tables(self._writer)
        self._reader = ledger.connect(path)
        # Separate threads: a long read of the ledger must not keep a commit waiting for a thread.
        self._writing = ThreadPoolExecutor(1, "ledger-write")
        self._reading = ThreadPoolExecutor(2, "ledger-read")
        self._queue: asyncio.Queue[tuple[Job, asyncio.Future[Any]]] = asyncio.Queue()
        self._task = asyncio.create_task(self._run())

    async def write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `job` in a transaction and returns its result once that is committed. Raises what the job raised."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((job, future))
        return await future

    def is_answered(self, service: str, key: str) -> bool:
        """Whether the first answer to `key` is committed."""
        return ledger.is_answered(self._reader, service, key)

    def answer(self, service: str, key: str) -> Answer | None:
        """The committed answer to `key`, if there is one."""
        return ledger.read_answer(self._reader, service, key)

    async def read(self, query: Callable[..., T], **values: Any) -> T:
        """The result of `query`, called with a connection of its own and these values."""
        return await asyncio.get_running_loop().run_in_executor(
            self._reading, partial(self._read, query, **values)
        )

    def _read(self, query: Callable[..., T], **values: Any) -> T:
        with closing(ledger.connect(self._path)) as connection:
            return query(connection, **values)

    async def read_array(self, service: str) -> str:
        """The ledger of `service` as one JSON array, newest last."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, ledger.read_array, self._path, service)

    async def read_effects(self, service: str, *, since: str, after: str, most: int) -> str:
        """One page of the effects of `service` (see `ledger.read_effects`)."""
        read = partial(ledger.read_effects, self._path, service, since=since, after=after, most=most)
        return await asyncio.get_running_loop().run_in_executor(self._reading, read)

    async def close(self) -> None:
        """Lets the running transaction finish, drops the jobs that wait, and closes the file."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writing.shutdown(wait=True)
        self._reading.shutdown(wait=False, cancel_futures=True)
        self._reader.close()
        self._writer.close()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            results = await loop.run_in_executor(self._writing, self._commit, [job for job, _ in batch])
            for (_, future), (result, error) in zip(batch, results, strict=True):
                if future.done():
                    continue
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)

    def _commit(self, jobs: list[Job]) -> list[tuple[Any, Exception | None]]:
        """The result or the error of each job. A failing job must not fail those that share its transaction."""
        try:
            return [(result, None) for result in self._transaction(jobs)]
        except Exception as error:
            if len(jobs) == 1:
                log.exception("the ledger could not store a call")
                return [(None, error)]
            return [self._commit([job])[0] for job in jobs]

    def _transaction(self, jobs: list[Job]) -> list[Any]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            results = [job(self._writer) for job in jobs]
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise
        return results
