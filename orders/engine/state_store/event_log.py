"""The log's lines about orders: what went wrong with each, that it was tried again, and what people did to it.

What goes as it should is in the order's history alone: a line for each step would cost as much as the step.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import structlog
from django.db import transaction

from orders.engine.rows import EventRow
from orders.vocabulary import EventKind

log = structlog.get_logger()

ORDINARY = frozenset(
    {
        EventKind.RECEIVED,
        EventKind.DUPLICATE_IGNORED,
        EventKind.CLAIMED,
        EventKind.STEP_STARTED,
        EventKind.STEP_COMPLETED,
        EventKind.STEP_RECALLED,
        EventKind.STEP_DEFERRED,
        EventKind.COMPENSATION_STARTED,
        EventKind.WAITING,
        EventKind.WAITING_FOR_AGENT,
        EventKind.AWAITING,
        EventKind.WAIT_ENDED,
        EventKind.PROCESSED,
        EventKind.LINK_MAILED,
    }
)
"""What happens to orders that are well, and, in an outage, to all of them at once."""
STARTS = (EventKind.STEP_STARTED, EventKind.COMPENSATION_STARTED)


def log_events(events: Iterable[EventRow]) -> None:
    """Logs those of these events that are not ordinary, once the transaction commits."""
    noteworthy = [event for event in events if is_noteworthy(event)]
    if noteworthy:
        transaction.on_commit(partial(_write, noteworthy))


def is_noteworthy(event: EventRow) -> bool:
    """Whether the log has a line about an event. Starting a step is ordinary the first time. Pure."""
    return event.kind not in ORDINARY or (event.kind in STARTS and event.attempt > 1)


def _write(events: Iterable[EventRow]) -> None:
    for event in events:
        facts: dict[str, Any] = {"by": str(event.actor.kind)}
        if event.step:
            facts |= {"step": event.step, "attempt": event.attempt}
        if code := (event.detail or {}).get("code"):
            facts["code"] = code
        log.info("order event", action=str(event.kind), order_id=str(event.order_id), **facts)
