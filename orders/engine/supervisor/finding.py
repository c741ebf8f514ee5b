"""What a sweep has found: an overdue order, and what is to be written about it."""

from dataclasses import dataclass, field
from datetime import datetime

from orders.engine.contracts import Workflow
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.vocabulary import AlertKind, ProcessState


@dataclass
class Finding:
    """One overdue order during a sweep: its row as it will be, and what to write."""

    row: ProcessRow
    workflow: Workflow
    writes: list[StepWrite] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    failed: tuple[AlertKind, StepRow | None] | None = None
    is_resolved: bool = False
    """Whether the default of a decision ends the order's Error."""


def is_late(complete_by: datetime | None, now: datetime) -> bool:
    """Whether this complete-by time, if there is one, has passed."""
    return complete_by is not None and complete_by <= now


def has_overrun(row: ProcessRow, now: datetime) -> bool:
    """Whether an order under way is past its own complete-by time."""
    return row.process_state == ProcessState.PROCESSING and is_late(row.complete_by, now)


def in_error(row: ProcessRow) -> ProcessRow:
    """The process in Error. A scheduler will tell the submitting application (V5, Q3)."""
    return row._replace(
        process_state=ProcessState.ERROR, locked_by=None, not_before=None, announced=not row.reply_to
    )
