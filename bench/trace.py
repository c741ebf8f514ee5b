"""What this process sends to the database, as libpq traces it: the statements of all connections, pipelined or not."""

import contextlib
import ctypes
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from psycopg import pq

MESSAGE = re.compile(r"([FB])\t\d+\t(\w+)(?:\t (.*))?$")
"""A message to the server (F) or from it (B). A statement of several lines goes on in lines that do not match."""
STATEMENT = ("Query", "Execute")
ENDS = ('"COMMIT"', '"ROLLBACK"')


class Traffic(NamedTuple):
    """Statements, among them BEGIN and COMMIT; how often a process waited for the server's answers, to one statement
    or to a pipeline of them; and transactions, which are a single statement each outside BEGIN and COMMIT."""

    statements: int
    round_trips: int
    transactions: int


class Trace:
    """Traces the connections that Django opens in the `with` block, once they are set up."""

    def __init__(self) -> None:
        self._resources = contextlib.ExitStack()
        self._files: list[IO[str]] = []

    def __enter__(self) -> Self:
        self._folder = self._resources.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        connection_created.connect(self._follow)
        connection.close()
        return self

    def __exit__(self, *_: object) -> None:
        connection.close()
        connection_created.disconnect(self._follow)
        self._resources.close()

    def take(self) -> Traffic:
        """The traffic since the last call. Call it while no statement is under way."""
        ctypes.CDLL(None).fflush(None)  # libpq buffers what it writes
        traffic = [read_traffic(file) for file in self._files]
        return Traffic(*map(sum, zip(*traffic, strict=True))) if traffic else Traffic(0, 0, 0)

    def _follow(self, *, connection: BaseDatabaseWrapper, **_: Any) -> None:
        number, name = tempfile.mkstemp(dir=self._folder)
        server = connection.connection.pgconn
        # libpq never closes it, and nobody else may: a later file would get its number, and libpq's writing.
        server.trace(number)
        server.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
        file = Path(name)
        self._files.append(self._resources.enter_context(file.open(errors="replace")))


def read_traffic(lines: Iterable[str]) -> Traffic:
    """Counts what a trace of one connection shows."""
    statements = round_trips = transactions = 0
    is_sending = is_running = False  # a statement has been answered, but its transaction has not ended
    for direction, kind, detail in (match.groups() for match in map(MESSAGE.match, lines) if match):
        statements += direction == "F" and kind in STATEMENT
        round_trips += direction == "B" and is_sending
        is_sending = direction == "F"
        if kind == "CommandComplete":
            transactions += detail in ENDS
            is_running = detail not in ENDS
        elif kind == "ReadyForQuery" and detail == "I":
            transactions += is_running
            is_running = False
    return Traffic(statements, round_trips, transactions)
