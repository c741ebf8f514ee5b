"""What the simulation does to sessions, on real locks."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from tests.simulation.kernel import Violation
from tests.simulation.sessions import Sessions
from tests.support.system import database_url
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


class Rivals:
    """Three sessions, of which each has locked the row with its own number."""

    def __init__(self, stack: ExitStack) -> None:
        monitor = stack.enter_context(psycopg.connect(database_url(), autocommit=True))
        monitor.execute(
            "CREATE TABLE rival AS SELECT number, 0 AS holder FROM generate_series(0, 2) AS number"
        )
        stack.callback(monitor.execute, "DROP TABLE rival")
        self.sessions = Sessions(monitor)
        self._threads = stack.enter_context(ThreadPoolExecutor())
        self.connections = [psycopg.connect(database_url()) for _ in range(3)]
        self.backends = [connection.info.backend_pid for connection in self.connections]
        for number in range(3):
            self.lock(number, number)
        for backend, connection in zip(self.backends, self.connections, strict=True):
            stack.callback(connection.close)
            stack.callback(self.sessions.end, backend)

    def lock(self, session: int, row: int) -> None:
        """Has a session lock a row."""
        self.connections[session].execute("UPDATE rival SET holder = %s WHERE number = %s", [session, row])

    def halt(self, session: int, row: int) -> Future[None]:
        """Has a session wait for a row, and halts it."""
        waits = self._threads.submit(self.lock, session, row)
        until(lambda: self.sessions.waits_for_lock(self.backends[session]))
        self.sessions.halt(self.backends[session])
        return waits


@pytest.fixture
def rivals() -> Iterator[Rivals]:
    with ExitStack() as stack:
        yield Rivals(stack)


def test_a_halted_session_goes_on_only_when_it_is_told_to(rivals: Rivals) -> None:
    waits = [rivals.halt(0, row=2), rivals.halt(1, row=2)]
    rivals.connections[2].rollback()
    until(lambda: not rivals.sessions.waits_for_lock(rivals.backends[0]))
    with pytest.raises(TimeoutError):
        waits[0].result(timeout=0.1)
    rivals.sessions.resume(rivals.backends[0])
    waits[0].result()
    rivals.connections[0].rollback()
    until(lambda: not rivals.sessions.waits_for_lock(rivals.backends[1]))
    assert not waits[1].done()
    rivals.sessions.resume(rivals.backends[1])
    waits[1].result()


def test_sessions_that_wait_in_a_circle_are_a_violation(rivals: Rivals) -> None:
    rivals.halt(0, row=1)
    rivals.halt(1, row=2)
    with pytest.raises(Violation, match=r"rule 12: a deadlock of\n(UPDATE rival.*\n){2}UPDATE rival"):
        rivals.halt(2, row=0)


def test_a_halted_session_can_be_ended(rivals: Rivals) -> None:
    waits = rivals.halt(0, row=1)
    rivals.sessions.end(rivals.backends[0])
    with pytest.raises(psycopg.OperationalError):
        waits.result()
