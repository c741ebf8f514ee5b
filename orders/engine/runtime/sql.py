"""Running set-based SQL: any number of rows go in as one parameter, so a statement costs the same for any batch."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import orjson
from django.db import InterfaceError, InternalError, OperationalError, connection
from psycopg.types.datetime import TimestamptzLoader

from orders.engine.runtime.text import keepable_json

DATABASE_TROUBLE = (OperationalError, InterfaceError, InternalError)
"""Errors that say nothing about a row: the connection, a lock, a time-out. PostgreSQL's transaction time-out comes as
an `InternalError`. Every transaction can be repeated after one of them."""


def fetch(statement: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """Runs one statement and returns its rows. Times are read by psycopg's C code, not by Django's slower loader."""
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
    listed = list(rows)
    try:
        text = orjson.dumps(listed, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a surrogate pair, or a number of more than 64 bits
        text = json.dumps(keepable_json(json.loads(json.dumps(listed, default=str))))
    if "\\u0000" in text:  # rare: a NUL, that the database would refuse
        text = json.dumps(keepable_json(json.loads(text)))
    return text


def database_now() -> datetime:
    """The database's clock, now, also in a transaction that began a while ago. It alone decides what is overdue."""
    return cast(datetime, fetch("SELECT clock_timestamp()")[0][0])
