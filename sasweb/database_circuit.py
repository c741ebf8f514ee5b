"""Whether the database answers, as one web process knows it. While it does not, nobody waits for it.

A database that is down refuses connections, and one that hangs keeps them and says nothing: a thread that waits for it
would wait for ever, and soon all of them would. So whoever gets no connection, or no answer within `SUSPICIOUS`
seconds, raises a suspicion, and a thread of its own asks the database for a sign of life. If there is none, the circuit
opens: whoever is waiting is let go, and whoever comes is refused at once, until the database gives the sign, for which
it is asked every second.

A single statement that is slow opens nothing: the sign of life comes over a connection of its own.
"""

import threading
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg
import structlog
from django.db import connection
from psycopg.waiting import Ready

from sasweb.shutdown import STOPPING

log = structlog.get_logger()

Result = TypeVar("Result")


class NoAnswer(psycopg.OperationalError):
    """Raised when there is no more use in waiting for the server."""


SUSPICIOUS = 2.0
"""Seconds without a word from the server after which a statement raises a suspicion."""
SIGN_WITHIN = 3.0
"""Seconds that the database has for its sign of life."""
LONGEST_SILENCE = 6.5
"""Seconds after which a statement is given up although the database gives signs of life: its server ends whatever takes
more than five, so this connection is dead."""
PAUSE = 1.0
"""Seconds between two questions for a sign of life."""
SILENT = "the database does not answer"
FULL = (
    "too many clients already",
    "remaining connection slots are reserved",
    "too many connections for role",
    "too many connections for database",
)
"""What a server says that has no connection left (53300). libpq keeps the code of a refused connection to itself, so a
server that says it in another language than English counts as one that is down."""


class DatabaseCircuit:
    """What a process knows of its database. Threads share it. `ask` returns after a sign of life, or raises psycopg's
    errors."""

    def __init__(
        self, ask: Callable[[], None], *, clock: Callable[[], float] = time.monotonic, pause: float = PAUSE
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()
        self._is_asking = False
        self._asked_at: float | None = None
        self._answered_at = float("-inf")
        self._error: Exception | None = None

    @property
    def is_open(self) -> bool:
        """Whether the database does not answer."""
        asked_at = self._asked_at
        return self._error is not None or (asked_at is not None and self._clock() - asked_at > SIGN_WITHIN)

    def check(self) -> None:
        """Raises `NoAnswer` while the database does not answer, from what it last said."""
        if self.is_open:
            raise NoAnswer(SILENT) from self._error

    def suspect(self) -> None:
        """Has the database asked for a sign of life, unless it is being asked or has just given one."""
        with self._lock:
            if self._is_asking or self._clock() - self._answered_at < self._pause:
                return
            asking = threading.Thread(target=self._ask_until_it_answers, daemon=True, name="sign of life")
            try:
                asking.start()
            except RuntimeError:  # no thread is left for it: the next one who waits tries again
                return
            self._is_asking, self._asked_at = True, self._clock()

    def _ask_until_it_answers(self) -> None:
        with self._lock:
            pass  # until `suspect` has noted that it is being asked
        try:
            while not self._answers() and not STOPPING.wait(self._pause):
                self._asked_at = self._clock()
        finally:
            self._is_asking = False

    def _answers(self) -> bool:
        try:
            self._ask()
        except (psycopg.Error, OSError) as error:
            if self._error is None:
                log.warning("database lost", action="lose_database", error=str(error).strip().split("\n")[0])
            self._error, self._asked_at = error, None
            return False
        if self._error is not None:
            log.info("database found", action="find_database")
        self._answered_at, self._error, self._asked_at = self._clock(), None, None
        return True

    def watched(self, steps: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        """The steps of a statement as psycopg takes them, which raise `NoAnswer`. Between two of them psycopg waits a
        tenth of a second at most."""
        began = self._clock()
        try:
            waits_for = next(steps)
            while True:
                ready = yield waits_for
                if ready == Ready.NONE:
                    self._look_at_silence(self._clock() - began)
                else:
                    began = self._clock()
                waits_for = steps.send(ready)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _look_at_silence(self, seconds: float) -> None:
        if seconds >= LONGEST_SILENCE:
            raise NoAnswer(f"no answer within {LONGEST_SILENCE} s")
        self.check()
        if seconds >= SUSPICIOUS:
            self.suspect()


class _BriefConnection(psycopg.Connection[Any]):
    """A connection that waits no longer than a sign of life may take."""

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = SIGN_WITHIN) -> Any:
        return super().wait(gen, interval, timeout)


def ask_the_database() -> None:
    """Connects anew. A server that has too many connections lives: who has one of them may go on."""
    parameters = {
        **connection.get_connection_params(),
        "connect_timeout": int(SIGN_WITHIN),
        "autocommit": True,
    }
    try:
        with _BriefConnection.connect(**parameters) as session:
            session.execute("SELECT 1")
    except psycopg.OperationalError as error:
        if not any(words in str(error) for words in FULL):
            raise


CIRCUIT = DatabaseCircuit(ask_the_database)
"""This process's."""


class WatchedConnection(psycopg.Connection[Any]):
    """A connection of the pool. It is closed when its server no longer answers."""

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> "WatchedConnection":
        """Connects, unless the database is known not to answer."""
        CIRCUIT.check()
        try:
            return super().connect(conninfo, **options)
        except psycopg.OperationalError:
            CIRCUIT.suspect()
            raise

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """Runs the steps of a statement."""
        try:
            return super().wait(CIRCUIT.watched(gen), *args, **options)
        except NoAnswer:
            self.close()  # what the server sends later would be taken for the answer to something else
            raise
