"""The time that decides what is overdue: the database's."""

from datetime import datetime

from orders.engine.runtime.sql import database_now


def now() -> datetime:
    """The database's clock."""
    return database_now()
