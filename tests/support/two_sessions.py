"""Forced races: sessions whose steps a test puts in order, and crowds that begin together.

Each session is a real thread with its own connection. The server's lock table shows who waits, and every wait has a
bound.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any, TypeVar

from django.db import connection, transaction

from orders.engine.runtime.sql import fetch, run
from tests.support.wait import until

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds after which a missing event fails the test."""

PROMPT = 30.0
"""Seconds that an act may take if it must not wait for anybody. This is less than the two minutes after which the
server ends a transaction of the tests: that frees its locks, and an act that waited for one would go on unnoticed."""

GATE = 20_260_101
"""The advisory lock that `held` uses."""

BAD_PLANS = {
    "as planned": (),
    "row by row": (
        "enable_hashjoin",
        "enable_mergejoin",
        "enable_hashagg",
        "enable_material",
        "enable_memoize",
        "enable_sort",
    ),
    "no index": ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"),
    "no order from an index": ("enable_indexscan", "enable_seqscan", "enable_hashjoin", "enable_hashagg"),
}
"""Planner settings to switch off: plans that PostgreSQL could choose with wrong statistics. A claim must be right under
each of them (F9). "row by row" triggers trap 1 for a claim that has its LIMIT inside the UPDATE's condition."""


class Session:
    """One database session. `do` runs a step to its end; `start` starts a step that will wait for another session."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "session")
        self._open: transaction.Atomic | None = None
        self._started: Future[Any] | None = None
        self.pid: int = self.do(lambda: fetch("SELECT pg_backend_pid()")[0][0])

    def do(self, act: Callable[[], T]) -> T:
        """Runs an act that must not wait for anybody."""
        try:
            return self.start(act).result(timeout=PROMPT)
        except TimeoutError:
            raise AssertionError(f"the act waited for more than {PROMPT} s") from None

    def start(self, act: Callable[[], T]) -> "Future[T]":
        """Begins an act and returns at once."""
        started = self._thread.submit(act)
        self._started = started
        return started

    def begin(self, *switched_off: str) -> None:
        """Begins a transaction with these planner settings switched off."""

        def enter() -> None:
            self._open = transaction.atomic()
            self._open.__enter__()
            switch_off(switched_off)

        self.do(enter)

    def commit(self) -> None:
        """Commits the open transaction."""
        self.do(self._leave)

    def rollback(self) -> None:
        """Rolls back the open transaction."""

        def roll_back() -> None:
            transaction.set_rollback(True)
            self._leave()

        self.do(roll_back)

    def _leave(self) -> None:
        entered, self._open = self._open, None
        assert entered is not None, "no transaction is open"
        entered.__exit__(None, None, None)

    def is_waiting(self) -> bool:
        """Whether this session waits for another one's lock. Call it from the test's own thread."""
        return bool(fetch("SELECT cardinality(pg_blocking_pids(%s)) > 0", [self.pid])[0][0])

    def await_wait(self) -> None:
        """Returns as soon as the started act waits for another session."""

        def waits() -> bool:
            if self._started is not None and self._started.done():
                raise AssertionError(f"the act did not wait, and returned {self._started.result()!r}")
            return self.is_waiting()

        until(waits, seconds=PATIENCE, what="the wait for a lock")

    def close(self) -> None:
        """Rolls back an open transaction and closes the connection."""
        self._thread.submit(self._give_up).result(timeout=PATIENCE)
        self._thread.shutdown()

    def _give_up(self) -> None:
        try:
            if self._open is not None:
                transaction.set_rollback(True)
                self._leave()
        finally:
            connection.close()


NewSession = Callable[[], Session]


def hold_snapshot(session: Session) -> None:
    """Keeps what is deleted from now on from being cleaned up, as a backup or a long report does."""
    session.begin()
    session.do(lambda: run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    session.do(lambda: fetch("SELECT count(*) FROM orders_agentrequest"))


"""The fixture `new_session`."""


@contextmanager
def held(session: Session, act: Callable[[], T], *, at: str) -> Iterator["Future[T]"]:
    """Begins an act and holds its first statement that contains `at` after its snapshot and before it locks a row.

    So what the test commits inside the block happens between the choice of a row and its lock. The act goes on when
    the block ends.
    """
    gated: list[str] = []

    def gate(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not gated and at in sql:
            gated.append(sql)
            closed = f"WHERE (SELECT pg_advisory_xact_lock_shared({GATE})) IS NOT NULL AND"
            sql = sql.replace("WHERE", closed, 1)
        return execute(sql, params, many, context)

    def gated_act() -> T:
        with connection.execute_wrapper(gate):
            return act()

    fetch("SELECT pg_advisory_lock(%s)", [GATE])
    try:
        future = session.start(gated_act)
        session.await_wait()
        yield future
    finally:
        fetch("SELECT pg_advisory_unlock(%s)", [GATE])


def all_at_once(number: int, act: Callable[[int], T]) -> list[T]:
    """Runs `act(0)`, `act(1)` … each in a thread with its own connection, starting together; returns their results."""
    barrier = Barrier(number)

    def one(n: int) -> T:
        try:
            fetch("SELECT 1")
            barrier.wait(timeout=PATIENCE)
            return act(n)
        finally:
            connection.close()

    with ThreadPoolExecutor(number, "crowd") as threads:
        futures = [threads.submit(one, n) for n in range(number)]
        return [future.result(timeout=3 * PATIENCE) for future in futures]


def switch_off(settings: Sequence[str]) -> None:
    """Switches planner settings off until the transaction ends."""
    for setting in settings:
        run(f"SET LOCAL {setting} = off")
