"""A host's threads for its database work, each with a connection of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

from orders.engine.runtime.sql import DATABASE_TROUBLE

Result = TypeVar("Result")


class DatabaseThread:
    """One thread, which does one thing after the other."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Runs database work. A connection that failed is closed, so that the next try opens a new one."""

        def guarded() -> Result:
            try:
                return work()
            except DATABASE_TROUBLE:
                connection.close()
                raise

        return await asyncio.get_running_loop().run_in_executor(self._executor, guarded)

    async def close(self) -> None:
        """Closes the connection, and ends the thread."""
        await asyncio.get_running_loop().run_in_executor(self._executor, lambda: connection.close())
        self._executor.shutdown()
