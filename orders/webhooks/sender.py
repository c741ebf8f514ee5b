"""Sends what clients' webhooks are due, many calls at a time, in one process."""

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any
from uuid import UUID

from structlog.contextvars import bound_contextvars

from orders.engine.runtime.sql import DATABASE_TROUBLE, log_trouble
from orders.webhooks import calls, deliveries
from orders.webhooks.calls import Attempt
from orders.webhooks.deliveries import Assignment
from orders.webhooks.fan_out import Render, fan_out

MOST = 200
"""Calls that are under way at once."""
LAST_MOMENT = 2.0
"""Seconds that calls have to end once the process has to stop."""
GAP = 0.03
"""Seconds between two passes, however much happens."""


class Sender:
    """Reads the feed, and posts what is due. Between `run_once` and the next it rests until somebody wakes it.

    The calls are in an event loop with a thread of its own; everything else is in the thread that calls `run_once`.
    A context, which at its end waits for the calls that are under way, and writes how they went.
    """

    def __init__(
        self, *, render: Render, most: int = MOST, is_stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._render = render
        self._is_stopping = is_stopping
        self._most = most
        self._under_way: dict[Future[Attempt], Assignment] = {}
        self._woken = threading.Event()
        self._is_quiet = True
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="webhooks", daemon=True)

    def __enter__(self) -> "Sender":
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        try:
            self._finish()
        except DATABASE_TROUBLE as error:  # what is not written is sent again when its lease lapses
            log_trouble(error, is_slow=False)
        finally:
            for future in self._under_way:
                future.cancel()
            self._loop.call_soon_threadsafe(self._loop.call_later, GAP, self._loop.stop)
            self._thread.join()
            self._loop.close()

    def wake(self) -> None:
        """Ends a rest, from any thread."""
        self._woken.set()

    def rest(self, seconds: float) -> None:
        """Waits until something has happened, for so many seconds at most."""
        time.sleep(GAP)
        self._woken.wait(seconds if self._is_quiet else GAP)
        self._woken.clear()

    def run_once(self) -> None:
        """Writes how calls went, reads the feed, and begins calls of what is due."""
        self._record()
        self._is_quiet = fan_out(render=self._render)
        self._begin()

    def _begin(self) -> None:
        room = self._most - len(self._under_way)
        for assignment in deliveries.claim(limit=room) if room > 0 else ():
            with bound_contextvars(order_id=str(assignment.order_id)):  # in the loop's thread, too
                future = self._start(calls.post(assignment.message))
            self._under_way[future] = assignment
            future.add_done_callback(lambda _: self.wake())

    def _record(self) -> None:
        """Writes how calls have ended, those at one endpoint together. What cannot be written is kept for the next
        time."""
        ended: dict[UUID, list[Future[Attempt]]] = defaultdict(list)
        for future, assignment in self._under_way.items():
            if future.done():
                ended[assignment.endpoint_id].append(future)
        for endpoint_id, futures in ended.items():
            deliveries.record(endpoint_id, [(self._under_way[future], future.result()) for future in futures])
            for future in futures:
                del self._under_way[future]

    def _finish(self) -> None:
        """Waits for the calls that are under way. If the process has to stop, it gives them only a moment: what it
        leaves is sent again."""
        began = time.monotonic()
        while self._under_way:
            wait(self._under_way, timeout=GAP)
            self._record()
            patience = LAST_MOMENT if self._is_stopping() else calls.TIMEOUT + 1
            if time.monotonic() - began > patience:
                return

    def _start(self, call: Coroutine[Any, Any, Attempt]) -> Future[Attempt]:
        return asyncio.run_coroutine_threadsafe(call, self._loop)
