"""Set-based SQL: any number of rows go in as one parameter, so a pass needs the same statements for any batch."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

import orjson
import psycopg
import structlog
from django.db import (
    DEFAULT_DB_ALIAS,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
)

from orders.engine.runtime.statements import Parameters, Rows, count_of, rows_of, send
from orders.engine.runtime.statements import fetch_frequent as fetch_frequent
from orders.engine.runtime.text import first_line, keepable_json

log = structlog.get_logger()

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError, NotSupportedError)
"""Errors that say nothing about a row: a lost connection, a lock, a timeout. PostgreSQL's transaction timeout arrives
as an `InternalError`, and its refusal of a statement that was prepared before a migration as a `NotSupportedError`.
Every transaction can be repeated after one of them, on another connection."""

ABOUT_THE_DATABASE = frozenset({"08", "25", "40", "53", "55", "57", "58"})
"""The classes of SQLSTATE that say nothing about a row: connections, collisions, resources, locks and the system. A
value that is too large for an index, or a damaged row, is reported as the same kinds of error."""

TRANSACTION_LIMIT = 5.0
"""Seconds that the server lets a transaction last (`sasweb.database`)."""
SETTLED_AFTER = TRANSACTION_LIMIT + 1.0
"""Seconds after which a transaction has ended, so that its rows are visible or never will be."""
TIMEOUTS = frozenset({"57014", "25P04", "25P03", "55P03"})
"""The SQLSTATEs of a time-out: of a statement, a transaction, a transaction that waits for its client, and a lock."""
_LAST_WORDS = re.compile(r"due to (statement|transaction|idle-in-transaction|lock) timeout")


def is_database_trouble(error: Exception) -> bool:
    """Whether an error says nothing about a row, so that the transaction should simply be repeated."""
    if isinstance(error, NotSupportedError):
        return _was_prepared_too_early(error)
    sqlstate = getattr(error.__cause__, "sqlstate", None)
    return isinstance(error, DATABASE_TROUBLE) and (sqlstate is None or sqlstate[:2] in ABOUT_THE_DATABASE)


def _was_prepared_too_early(error: NotSupportedError) -> bool:
    """Whether a column has changed its type since the statement was prepared, so that only a new connection helps.

    The SQLSTATE stands for much else, and the message is in the server's language, so the server's function tells.
    """
    cause = error.__cause__
    return isinstance(cause, psycopg.Error) and cause.diag.source_function == "RevalidateCachedQuery"


def ran_out_of_time(error: Exception, seconds: float = 0.0) -> bool:
    """Whether the database ended the statement or the transaction because it took too long.

    A connection that the server has closed reports its last words without their SQLSTATE, or reports nothing. Then the
    `seconds` that the work has taken tell.
    """
    cause = error.__cause__ or error
    return (
        getattr(cause, "sqlstate", None) in TIMEOUTS
        or bool(_LAST_WORDS.search(str(error)))
        or seconds >= 0.9 * TRANSACTION_LIMIT
    )


def log_trouble(error: Exception, *, is_slow: bool, **context: Any) -> None:
    """Logs that the database ended or refused some work, which is about to be repeated."""
    event = "database slow" if is_slow else "database unavailable"
    log.warning(event, action="retry", error=first_line(error), **context)


def fetch(statement: str, parameters: Parameters = ()) -> Rows:
    """Runs one statement and returns its rows."""
    return send(statement, parameters, rows_of).result()


def run(statement: str, parameters: Parameters = ()) -> int:
    """Runs one statement and returns how many rows it changed."""
    return send(statement, parameters, count_of).result()


def avoid_sorts() -> None:
    """Has the statements of this transaction read an index in its order instead of sorting, if one has the order.

    After a quiet day the planner expects few rows in a queue, and would read and sort all of a sudden crowd at every
    claim.
    """
    send("SET LOCAL enable_sort = off")


def recordset(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON, for `json_to_recordset`, which names and types the columns. Times and ids go as text.

    One JSON text is several times cheaper to make, and to send, than an array for every column.
    """
    records = list(rows)
    try:
        text = orjson.dumps(records, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a surrogate pair, or an integer of more than 64 bits
        text = json.dumps(keepable_json(json.loads(json.dumps(records, default=str))))
    if "\\u0000" in text:  # rare: a NUL, which the database would refuse
        text = json.dumps(keepable_json(json.loads(text)))
    return text


def drop_if_stuck() -> None:
    """Drops a connection that an unexpected error at its commit has left inside a transaction.

    Django would refuse every further statement on it, or never commit again. The next statement opens another
    connection.
    """
    if connection.in_atomic_block or (connection.connection is not None and not connection.autocommit):
        log.error("connection stuck in a transaction", action="drop")
        connection.close()
        del connections[DEFAULT_DB_ALIAS]


def database_now() -> datetime:
    """The time by the database's clock, now rather than at the start of the transaction. It decides what is overdue."""
    return cast(datetime, fetch("SELECT clock_timestamp()")[0][0])
