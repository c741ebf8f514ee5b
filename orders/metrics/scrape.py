"""One read of the database for all who ask for the metrics within a few seconds."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import structlog
from django.db import DatabaseError, InterfaceError, connection
from psycopg_pool import PoolTimeout

from orders.engine.runtime.text import first_line

log = structlog.get_logger()

LIFETIME = 5.0
"""Seconds for which what was read is answered again."""
ANSWER_TIMEOUT = 2.0
"""Seconds that the database has to answer. Prometheus itself gives up after 10."""


class NoAnswerError(Exception):
    """Raised when the database does not answer in time, or at all."""


class Scrape:
    """Reads with `read`, in a thread of its own and once at a time, so that a database that hangs holds nobody up."""

    def __init__(
        self,
        read: Callable[[], bytes],
        *,
        lifetime: float = LIFETIME,
        timeout: float = ANSWER_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._lifetime = lifetime
        self._timeout = timeout
        self._clock = clock
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self._lock = threading.Lock()
        self._reading: Future[bytes] | None = None
        self._ends = 0.0

    def text(self) -> bytes:
        """The metrics, a few seconds old at most. Raises `NoAnswerError`."""
        with self._lock:
            reading = self._reading
            if reading is None or (reading.done() and (reading.exception() or self._clock() >= self._ends)):
                reading = self._reading = self._executor.submit(self._ask)
        try:
            return reading.result(timeout=self._timeout)
        except TimeoutError as error:
            raise NoAnswerError(f"the database did not answer within {self._timeout:.0f} s") from error
        except (DatabaseError, InterfaceError, PoolTimeout) as error:
            raise NoAnswerError("the database does not answer") from error

    def _ask(self) -> bytes:
        try:
            return self._read()
        except (DatabaseError, InterfaceError, PoolTimeout) as error:
            log.warning("metrics not read", action="scrape", error=first_line(error))
            raise
        finally:
            self._ends = self._clock() + self._lifetime
            connection.close()
