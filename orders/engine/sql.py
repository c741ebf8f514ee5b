"""Running set-based SQL: rows go in as one array per column, so a statement costs the same to send for any batch."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from django.db import connection


def fetch(statement: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
    """Runs one statement and returns its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cast(list[tuple[Any, ...]], cursor.fetchall())


def run(statement: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> int:
    """Runs one statement and returns how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def columns(rows: Iterable[Sequence[Any]], width: int) -> list[list[Any]]:
    """Turns rows into columns, for `unnest`; no rows make empty columns."""
    turned = [list(column) for column in zip(*rows, strict=True)]
    return turned or [[] for _ in range(width)]


def database_now() -> datetime:
    """The database's clock, now, also in a transaction that began a while ago. It alone decides what is overdue."""
    return cast(datetime, fetch("SELECT clock_timestamp()")[0][0])
