"""How a statement gets to the server: prepared, and without a wait for its result where nobody needs it yet.

Most of what a pass costs is the way to the server and back, and the planning of the same few statements. So the roles
bind parameters on the server, which plans each statement once (`prepare_statements`), and a pass sends what does not
depend on one another in one go (`pipelined`).
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload
from uuid import UUID
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from psycopg.types.datetime import TimestamptzBinaryLoader, TimestamptzLoader

T = TypeVar("T")
Result = TypeVar("Result")
Cursor: TypeAlias = psycopg.Cursor[Any]
Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
Rows: TypeAlias = list[tuple[Any, ...]]

PREPARED_AFTER = 2
"""A statement is prepared when it has been run that often on a connection."""
PLANS_LAST = 2.0
"""Seconds after which the server plans anew. A queue that was empty when its statements were planned may be long by
now, and its statistics come too late."""
PLANNING = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off"
"""Otherwise the server would go on planning most of them: a plan for one row always looks cheaper than one for ten. And
while a table is small, reading all of it looks cheaper than its index, which finds what the roles look for."""


FREQUENT_ONLY = 1_000_000_000
"""As psycopg's threshold for preparing statements: none is run so often, and only what goes through `fetch_frequent` is
prepared."""


def prepare_frequent_statements() -> None:
    """Has the connections that this process opens from now on prepare what goes through `fetch_frequent`, and nothing
    else. It does nothing if PREPARED_STATEMENTS is off."""
    if settings.CONFIG.prepared_statements:
        connection.settings_dict["OPTIONS"].setdefault("prepare_threshold", FREQUENT_ONLY)


def prepare_statements() -> None:
    """Has the connections that this process opens from now on prepare what goes through `send`.

    Their plans do not depend on the parameters, so this is for the roles, whose statements find their rows through
    indexes whatever they are asked for. It does nothing if PREPARED_STATEMENTS is off, as behind a pooler: a prepared
    statement belongs to one connection of the server.
    """
    options = connection.settings_dict["OPTIONS"]
    if settings.CONFIG.prepared_statements and "prepare_threshold" not in options:
        options["prepare_threshold"] = PREPARED_AFTER
        options["options"] = f"{options.get('options', '')} {PLANNING}".strip()


class _Here(threading.local):
    """This thread's connection if it prepares statements, when it began to plan them, and the pipeline that it is
    in."""

    session: psycopg.Connection[Any] | None = None
    planned_at = 0.0
    pipeline: psycopg.Pipeline | None = None


_here = _Here()
_plans_end: WeakKeyDictionary[psycopg.Connection[Any], float] = WeakKeyDictionary()
"""When the plans of each connection that has frequent statements are made anew."""


class Sent(Generic[T]):
    """A statement that has been sent. If nobody asks for its result, its errors come with that of another."""

    def __init__(self, read: Callable[[], T]) -> None:
        self.result = read
        """Waits for what the statement gives, and returns it. Called once. Raises the errors of Django."""

    def then(self, work: Callable[[T], Result]) -> "Sent[Result]":
        """The same statement, with what `work` makes of its result."""
        return Sent(lambda: work(self.result()))


def known(value: T) -> Sent[T]:
    """A result that needs no statement."""
    return Sent(lambda: value)


def rows_of(cursor: Cursor) -> Rows:
    """Reads the rows that a statement returns."""
    return cursor.fetchall()


class _JsonAsText(Loader):
    """JSON comes as text, as in Django's own cursors: most of it passes through without being parsed."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        """The text after the byte that is the version of the format."""
        return bytes(data[1:]).decode()


@overload
def send(statement: str, parameters: Parameters = ()) -> Sent[Rows]: ...
@overload
def send(statement: str, parameters: Parameters, read: Callable[[Cursor], T]) -> Sent[T]: ...
def send(statement: str, parameters: Parameters = (), read: Callable[[Cursor], Any] = rows_of) -> Sent[Any]:
    """Sends one statement; `read` makes its result of it. Outside `pipelined` it waits for it."""
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    session = django.connection
    if _prepares_all(session):
        with django.wrap_database_errors:
            _prepare(session)
    cursor = _execute(django, session, statement, parameters)

    def result() -> Any:
        with django.wrap_database_errors:
            return read(cursor)

    return Sent(result)


def fetch_frequent(statement: str, parameters: Parameters = ()) -> Rows:
    """Runs one statement and returns its rows. For what most requests of the web run, and what finds its rows through
    indexes whatever the parameters are: the server plans it once for all, if the connection prepares statements.
    """
    django = connections[DEFAULT_DB_ALIAS]
    django.ensure_connection()
    session = django.connection
    is_watched = django.queries_logged or django.execute_wrappers
    if session.prepare_threshold != FREQUENT_ONLY or is_watched:
        return send(statement, parameters, rows_of).result()
    django.validate_no_broken_transaction()
    with django.wrap_database_errors:
        if session not in _plans_end:
            _read_binary(session)
        if time.monotonic() >= _plans_end.get(session, 0.0):
            session.execute("DISCARD PLANS")
            _plans_end[session] = time.monotonic() + PLANS_LAST
        cursor = psycopg.Cursor(session)
        cursor.format = Format.BINARY
        try:
            cursor.execute(statement, parameters or None, prepare=True)
        except psycopg.errors.FeatureNotSupported:
            session.prepare_threshold = None  # it was prepared before a migration, and never fits again
            if django.in_atomic_block:
                raise
            return send(statement, parameters, rows_of).result()
        return cursor.fetchall()


def _prepares_all(session: psycopg.Connection[Any]) -> bool:
    return session.prepare_threshold not in (None, FREQUENT_ONLY)


def _prepare(session: psycopg.Connection[Any]) -> None:
    """Sets a new connection up, and has the server plan anew from time to time."""
    if _here.session is not session:
        _here.session, _here.planned_at = session, time.monotonic()
        _read_binary(session)
    elif time.monotonic() - _here.planned_at >= PLANS_LAST:
        _here.planned_at = time.monotonic()
        session.execute("DISCARD PLANS")


def _read_binary(session: psycopg.Connection[Any]) -> None:
    """Prepares a new connection for results in their binary form, which is cheaper for both sides where there are
    times, numbers and ids; and psycopg's C code reads the times."""
    session.adapters.register_loader("timestamptz", TimestamptzBinaryLoader)
    session.adapters.register_loader("jsonb", _JsonAsText)


def _execute(
    django: BaseDatabaseWrapper, session: psycopg.Connection[Any], statement: str, parameters: Parameters
) -> Cursor:
    """Django's own cursor is passed by unless somebody watches its statements: it doubles what a statement costs
    here."""
    if django.queries_logged or not _prepares_all(session):
        watched = django.cursor()
        watched.cursor.adapters.register_loader("timestamptz", TimestamptzLoader)  # Django's is slower
        watched.execute(statement, parameters or None)
        return cast(Cursor, watched.cursor)
    cursor = psycopg.Cursor(session)
    if parameters:  # otherwise it may be several statements, whose results come as text
        cursor.format = Format.BINARY
    if django.execute_wrappers:
        django.make_cursor(cast(CursorWrapper, cursor)).execute(statement, parameters or None)
    else:
        django.validate_no_broken_transaction()
        with django.wrap_database_errors:
            cursor.execute(statement, parameters or None)
    return cursor


def count_of(cursor: Cursor) -> int:
    """Reads how many rows a statement has changed."""
    if _here.pipeline is not None:
        _here.pipeline.sync()
    return cursor.rowcount


@contextmanager
def pipelined() -> Iterator[None]:
    """Sends the statements in the block without waiting for the results of those before, and waits at its end.

    The server runs them in their order all the same, and skips what follows on an error. Without a transaction they are
    one, unless one of them counts the rows that it has changed (`count_of`).

    Whoever watches the statements of the connection, as tests do that let others come between any two, sees each with
    its result.
    """
    connection.ensure_connection()
    if _here.pipeline is not None or connection.execute_wrappers:
        yield
        return
    try:
        with connection.wrap_database_errors, connection.connection.pipeline() as _here.pipeline:
            yield
    finally:
        _here.pipeline = None


@contextmanager
def pipelined_transaction() -> Iterator[None]:
    """A transaction that is `pipelined`, with its BEGIN and its COMMIT: each would have a trip of its own otherwise.

    The server does not commit after an error. So what forbids the commit must be found by a statement, or be asked for
    in the block.
    """
    if connection.in_atomic_block or connection.execute_wrappers:
        with transaction.atomic(), pipelined():
            yield
        return
    with transaction.atomic():
        session = connection.connection
        with connection.wrap_database_errors:
            session.autocommit = True  # otherwise psycopg sends a BEGIN, and waits for it
        with pipelined():
            session.execute(b"BEGIN", prepare=False)
            yield
            if not connection.needs_rollback:
                _commit(session)


@contextmanager
def savepoint() -> Iterator[None]:
    """A part of a transaction that can fail alone, also in a pipeline.

    After an error the server skips all that is sent before the pipeline ends, and that would be the rollback as well.
    So the block has a pipeline of its own.
    """
    with transaction.atomic(), connection.wrap_database_errors, connection.connection.pipeline():
        yield


def _commit(session: psycopg.Connection[Any]) -> None:
    session.execute(b"COMMIT", prepare=False)


def _is_news(record: logging.LogRecord) -> bool:
    """psycopg warns of every error in a pipeline, which is raised besides."""
    return not str(record.msg).startswith("error ignored terminating")


logging.getLogger("psycopg").addFilter(_is_news)


def array(values: Iterable[UUID | int]) -> str:
    """The values as the text of an array, which is cast in the statement: it is made several times faster than psycopg
    makes one, and has one type, whatever the numbers are."""
    return f"{{{','.join(map(str, values))}}}"
