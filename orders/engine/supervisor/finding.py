"""What a sweep has found: an overdue order, and what is to be written about it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from orders.engine.branches import declared_name
from orders.engine.contracts import Workflow
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.state_store.pauses import PausedSteps
from orders.engine.state_store.writes import StepWrite
from orders.vocabulary import AlertKind, Goal, ProcessState, StepStatus


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


def is_paused(step: StepRow, row: ProcessRow, paused_steps: PausedSteps) -> bool:
    """Whether no call of the step may begin: its order is paused, or the step in all orders of the workflow."""
    is_one = declared_name(step.name) in paused_steps.get(row.workflow, ())
    return row.paused_at is not None or (is_one and row.goal == Goal.COMPLETE)


def is_held_up(row: ProcessRow, steps: Iterable[StepRow], paused_steps: PausedSteps) -> bool:
    """Whether the order makes no headway, or not at all of its steps, because of a pause."""
    present = [step for step in steps if step.paused_since or step.state == StepStatus.RUNNING]
    return row.paused_at is not None or any(is_paused(step, row, paused_steps) for step in present)


def ends_of_waits(steps: Iterable[StepRow]) -> list[StepWrite]:
    """Ends the waits of the steps of an order that goes into Error, for their agents or because they are paused."""
    return [
        StepWrite(step._replace(waiting_since=None, paused_since=None), step.attempt)
        for step in steps
        if step.waiting_since or step.paused_since
    ]


def in_error(row: ProcessRow) -> ProcessRow:
    """The process in Error. A scheduler will tell the submitting application (V5, Q3)."""
    return row._replace(
        process_state=ProcessState.ERROR, locked_by=None, not_before=None, announced=not row.reply_to
    )


def back_to_pending(finding: Finding, row: ProcessRow, now: datetime) -> ProcessRow:
    """The process free and Pending, with a new complete-by, due when its first wait is over (V2)."""
    waits = [write.step.not_before for write in finding.writes]
    if row.not_before is not None:
        waits.append(row.not_before)
    not_before = None if any(wait is None for wait in waits) else min(filter(None, waits), default=None)
    complete_by = max(now, not_before or now) + timedelta(seconds=finding.workflow.complete_by)
    return row._replace(
        process_state=ProcessState.PENDING, locked_by=None, complete_by=complete_by, not_before=not_before
    )
