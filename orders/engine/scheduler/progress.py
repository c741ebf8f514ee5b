"""What an order needs next: pure decisions of the scheduler, forward.

`orders.engine.scheduler.compensation` has the same for an order that is being undone. Both answer with `Moves`, and
neither touches a database: the same rows and the same `now` give the same answer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from orders.engine.contracts import Step, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.rows import ReplyRow, StepRow
from orders.vocabulary import EventKind, ReplyOutcome, StepStatus

FAILURES = {
    ReplyOutcome.REFUSED: EventKind.STEP_REFUSED,
    ReplyOutcome.DECLINED: EventKind.STEP_DECLINED,
    ReplyOutcome.FAILED: EventKind.STEP_FAILED,
}
"""What a forward step's failure is called in the order's history."""
FINISHED = frozenset({StepStatus.COMPLETED.value, StepStatus.SKIPPED.value})


class Verdict(Enum):
    """Where an order stands after a look at all its steps."""

    GOING = auto()
    FINISHED = auto()
    FAILED = auto()
    UNDO = auto()


@dataclass(frozen=True, kw_only=True)
class Moves:
    """What to do with one order now. `in_flight` says that something runs already, apart from what is to be started;
    `wake_at` is when the earliest thing that waits becomes due."""

    verdict: Verdict
    start: Sequence[tuple[StepRow, Step]] = ()
    in_flight: bool = False
    wake_at: datetime | None = None


def answers(reply: ReplyRow, step: StepRow) -> bool:
    """Says whether a reply counts (rule 4): only for the step's last attempt, and only once.

    So a reply that was posted in time but read after the supervisor gave up on the attempt still counts, while one for
    an earlier attempt, and a second copy, change nothing (I4).
    """
    return reply.attempt == step.attempt and step.answered != step.attempt


def next_moves(workflow: Workflow, steps: Iterable[StepRow], now: datetime) -> Moves:
    """The next steps forward (C1, C4): every step whose predecessors are finished and whose wait is over.

    Raises `WorkflowError` when the stored steps are not those of the workflow.
    """
    rows = {step.name: step for step in steps}
    if rows.keys() != workflow.by_name.keys():
        raise WorkflowError(
            f"the stored steps {sorted(rows)} are not those of {workflow.name} v{workflow.version}"
        )
    start: list[tuple[StepRow, Step]] = []
    waits: list[datetime] = []
    in_flight, failed, unfinished = False, False, False
    for name, row in rows.items():
        if row.state in FINISHED:
            continue
        unfinished = True
        declared = workflow.by_name[name]
        if row.state == StepStatus.RUNNING:
            in_flight = True
        elif row.state == StepStatus.FAILED:
            if row.not_before is None:
                failed = True
            elif row.not_before <= now:
                return Moves(verdict=Verdict.UNDO)
            else:
                waits.append(row.not_before)
        elif all(rows[earlier].state in FINISHED for earlier in declared.after):
            if row.not_before is None or row.not_before <= now:
                start.append((row, declared))
            else:
                waits.append(row.not_before)
    if failed:
        return Moves(verdict=Verdict.FAILED, in_flight=in_flight)
    if not unfinished:
        return Moves(verdict=Verdict.FINISHED)
    return Moves(
        verdict=Verdict.GOING,
        start=start,
        in_flight=in_flight,
        wake_at=min(waits, default=None),
    )
