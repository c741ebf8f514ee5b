"""How long rows are kept: finished orders move to the archive, and what is too old is deleted.

Everything goes in short transactions that each take a bounded number of rows by key. A part that fails is logged and
does not stop the others.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import connection

from orders.engine.runtime.sql import DATABASE_TROUBLE, database_now
from orders.engine.runtime.text import first_line
from orders.retention import moving, records

log = structlog.get_logger()


def archive_orders() -> Mapping[str, int]:
    """Moves finished orders to the archive, and deletes those that have been there long enough.

    Returns the number of rows of each part that succeeded. Safe to run twice at once.
    """
    now, config = database_now(), settings.CONFIG
    finished_before = now - timedelta(days=config.keep_finished)
    parts = {"finished orders": lambda: moving.archive_finished(before=finished_before)}
    if config.keep_archived:
        archived_before = now - timedelta(days=config.keep_archived)
        parts["archived orders"] = lambda: moving.delete_archived(before=archived_before)
    return _run(parts)


def delete_old_records() -> Mapping[str, int]:
    """Deletes old records that are no order's. Returns the number of rows of each part that succeeded."""
    return _run(records.parts(database_now()))


def _run(parts: Mapping[str, Callable[[], int]]) -> Mapping[str, int]:
    done: dict[str, int] = {}
    for name, part in parts.items():
        try:
            done[name] = part()
        except Exception as error:
            log.exception("retention failed", action="retain", part=name, error=first_line(error))
            if isinstance(error, DATABASE_TROUBLE):
                connection.close()
    log.info("retained", action="retain", **{name.replace(" ", "_"): rows for name, rows in done.items()})
    return done
