"""Tables that nobody can write to, or read, for a while, so that a process stops in the middle of its transaction."""

import contextlib
from collections.abc import Iterator

from django.db import connection

from tests.support.wait import until


@contextlib.contextmanager
def blocked(table: str, *, reads: bool = False) -> Iterator[None]:
    """Blocks writes to a table, and reads if told to, with a lock on a connection of its own.

    The next process that writes to it stops in the middle of its transaction, where a test can kill it. Its commit may
    have been sent by then; that of one that reads has not.
    """
    other = connection.copy()
    try:
        with other.cursor() as cursor:  # the product's limits of 5 s would take the lock away
            cursor.execute("SET transaction_timeout = 0; SET idle_in_transaction_session_timeout = 0")
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN {'ACCESS EXCLUSIVE' if reads else 'SHARE'} MODE")
        yield
    finally:
        other.close()


def somebody_waits_for(table: str) -> bool:
    """Whether a transaction waits for a table that is `blocked`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE relation = %s::regclass AND NOT granted", [table])
        return bool(cursor.fetchone()[0])


def end_waits_for(table: str) -> None:
    """Ends the sessions that wait for a table that is `blocked`. Otherwise a transaction whose commit has been sent is
    committed although its process is dead: the server notices that only when it answers."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = %s::regclass AND NOT granted",
            [table],
        )
    until(lambda: not somebody_waits_for(table), what=f"the end of what waits for {table}")
