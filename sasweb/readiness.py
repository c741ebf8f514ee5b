"""Whether this process is ready: the database answers and is fit, and its tables are those of this release."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor

from sasweb import database

REPORT_LIMIT = 60.0
"""Seconds for which a look at the system counts; one is taken every ten."""
ANSWER_TIMEOUT = 0.8
"""Seconds that the database has to answer."""


class Readiness:
    """Asks the database in a separate thread, one question at a time, so that a database that hangs blocks nobody
    else."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="readiness")
        self._lock = threading.Lock()
        self._question: Future[str] | None = None
        self._is_fit = False
        self._known_unfitness = ""
        """What the last whole check found; it may take longer than an answer may."""

    def find_problem(self) -> str:
        """Why this process is not ready, in one line; empty when it is. Takes at most `ANSWER_TIMEOUT` seconds."""
        with self._lock:
            if self._question is None or self._question.done():
                self._question = self._executor.submit(self._ask)
            question = self._question
        try:
            return question.result(timeout=ANSWER_TIMEOUT)
        except TimeoutError:
            return self._known_unfitness or f"the database did not answer within {ANSWER_TIMEOUT} s"

    def _ask(self) -> str:
        try:
            if not self._is_fit:
                self._known_unfitness = _find_unfitness()
                self._is_fit = not self._known_unfitness
                return self._known_unfitness
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            return ""
        except (database.UnreachableDatabase, DatabaseError, InterfaceError):
            return "the database does not answer"
        finally:
            connection.close()


def _find_unfitness() -> str:
    """Why the database cannot carry this release, in one line; empty when it can.

    Raises `UnreachableDatabase`, or Django's errors of a database.
    """
    try:
        database.check(connection.get_connection_params(), listener=settings.LISTEN_PARAMETERS)
    except database.UnsuitableDatabase as error:
        return str(error)
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"migrations still to be applied: {len(plan)}" if plan else ""


class SystemReport:
    """What this process last found wrong with the rest of the system: `orders.watchdog` reports it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._problems: Sequence[str] = ()
        self._reported_at: float | None = None

    def report(self, problems: Sequence[str]) -> None:
        """Takes the latest findings, a line each; none if all is well."""
        self._problems, self._reported_at = problems, self._clock()

    def find_problems(self) -> Sequence[str]:
        """The latest findings. That there are none, or old ones, is a problem of its own."""
        if self._reported_at is None:
            return ["this process has not looked at the system yet"]
        age = self._clock() - self._reported_at
        if age > REPORT_LIMIT:
            return [f"this process has not looked at the system for {age:.0f} s"]
        return self._problems


READINESS = Readiness()
SYSTEM = SystemReport()


def find_problem() -> str:
    """Why this process is not ready, in one line; empty when it is."""
    return READINESS.find_problem()
