"""How long rows are kept: finished orders move to the archive, and what is too old is deleted.

Everything goes in brief batches by key (`orders.engine.runtime.brief_batches`). A part that fails does not stop the
others; `failures` says which parts fail, and operators get an alert.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import connection

from orders.engine.errors import SaswebError
from orders.engine.runtime.brief_batches import LONGEST, Walk
from orders.engine.runtime.sql import DATABASE_TROUBLE, database_now
from orders.engine.runtime.text import first_line
from orders.retention import failures, logged_requests, moving, records

log = structlog.get_logger()

Part = Callable[..., Walk]
"""Walks from behind the position `after`, or from the beginning."""

_positions: dict[str, Any] = {}
"""Where the next walk of each part continues, if the last one ran out of time: what stays must not hide the rest."""


class LeftBehindError(SaswebError):
    """Raised when rows could not be handled within the time for which a lock may be held."""


def archive_orders() -> Mapping[str, int]:
    """Moves finished orders to the archive, and deletes those that have been there long enough.

    Returns the number of rows of each part that succeeded. Safe to run twice at once.
    """
    now, config = database_now(), settings.CONFIG
    parts: dict[str, Part] = {
        "finished orders": partial(moving.archive_finished, before=now - timedelta(days=config.keep_finished))
    }
    if config.keep_archived:
        archived_before = now - timedelta(days=config.keep_archived)
        parts["archived orders"] = partial(moving.delete_archived, before=archived_before)
    return run_parts("archive_orders", parts)


def delete_old_records() -> Mapping[str, int]:
    """Deletes old records that are no order's. Returns the number of rows of each part that succeeded."""
    now = database_now()
    rules = {**records.RULES, "requests": records.requests_rule(days=settings.CONFIG.keep_requests)}
    parts: dict[str, Part] = {
        name: partial(records.delete_old, rule, before=now - rule.age) for name, rule in rules.items()
    }
    return run_parts(
        "delete_old_records", {**parts, "requests of busy accounts": logged_requests.delete_beyond_most}
    )


def run_parts(job: str, parts: Mapping[str, Part]) -> Mapping[str, int]:
    """Runs the parts of a job one after another, and records which of them fail.

    Returns the number of rows of each part that succeeded.
    """
    done: dict[str, int] = {}
    failed: dict[str, str] = {}
    for name, part in parts.items():
        try:
            done[name] = _run(name, part)
        except Exception as error:
            log.exception("retention failed", action="retain", part=name, error=first_line(error))
            failed[name] = first_line(error)
            if isinstance(error, DATABASE_TROUBLE):
                connection.close()
    try:
        failures.record(job, failed)
    except DATABASE_TROUBLE as error:  # an outage, of which the web tells operators
        log.warning("failures not recorded", action="retain", error=first_line(error))
        connection.close()
    log.info("retained", action="retain", **{name.replace(" ", "_"): rows for name, rows in done.items()})
    return done


def _run(name: str, part: Part) -> int:
    """Runs a part from where it ran out of time. Raises `LeftBehindError`."""
    start = {"after": _positions.pop(name)} if name in _positions else {}
    walk = part(**start)
    if walk.after is not None:
        _positions[name] = walk.after
    if walk.left_behind:
        rows = "1 row" if walk.left_behind == 1 else f"{walk.left_behind:,} rows"
        raise LeftBehindError(f"{rows} could not be handled within {LONGEST * 1000:.0f} ms")
    return walk.changed
