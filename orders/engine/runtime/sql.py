"""Set-based SQL: any number of rows go in as one parameter, so a pass needs the same statements for any batch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import orjson
from django.db import InterfaceError, InternalError, OperationalError, connection
from psycopg.types.datetime import TimestamptzLoader

from orders.engine.runtime.text import keepable_json

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError)
"""Errors that say nothing about a row: a lost connection, a lock, a timeout. PostgreSQL's transaction timeout arrives
as an `InternalError`. Every transaction can be repeated after one of them."""


def fetch(statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """Runs one statement and returns its rows. psycopg's C code reads the times, because Django's loader is slower."""
    with connection.cursor() as cursor:
        cursor.cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        cursor.execute(statement, parameters)
        return cast(list[tuple[Any, ...]], cursor.fetchall())


def run(statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> int:
    """Runs one statement and returns how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


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


def database_now() -> datetime:
    """The time by the database's clock, now rather than at the start of the transaction. It decides what is overdue."""
    return cast(datetime, fetch("SELECT clock_timestamp()")[0][0])
