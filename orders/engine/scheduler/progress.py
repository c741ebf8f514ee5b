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
from orders.vocabulary import EventKind, ProcessState, ReplyOutcome, StepStatus

FAILURES = {
    ReplyOutcome.REFUSED: EventKind.STEP_REFUSED,
    ReplyOutcome.DECLINED: EventKind.STEP_DECLINED,
    ReplyOutcome.FAILED: EventKind.STEP_FAILED,
}
"""What a forward step's failure is called in the order's history."""
FINISHED = frozenset({StepStatus.COMPLETED.value, StepStatus.SKIPPED.value})


ENDED = frozenset({ProcessState.PROCESSED.value, ProcessState.COMPENSATED.value, ProcessState.ERROR.value})
"""The states in which a scheduler does nothing for an order; an order in Error waits for an operator."""


class Decision(Enum):
    """Where an order stands after a look at all its steps."""

    CONTINUE = auto()
    FINISH = auto()
    FAIL = auto()
    COMPENSATE = auto()


@dataclass(frozen=True, kw_only=True)
class Moves:
    """What to do with one order now. `in_flight` says that something runs already, apart from what is to be started;
    `wake_at` is when the earliest thing that waits becomes due."""

    decision: Decision
    start: Sequence[tuple[StepRow, Step]] = ()
    in_flight: bool = False
    wake_at: datetime | None = None


def answers(reply: ReplyRow, step: StepRow) -> bool:
    """Says whether a reply counts (rule 4): only for the step's last attempt, and only once.

    So a reply that was posted in time but read after the supervisor gave up on the attempt still counts, while one for
    an earlier attempt, and a second copy, change nothing (I4).
    """
    return reply.attempt == step.attempt and step.answered != step.attempt


def needs_operator(step: StepRow) -> bool:
    """Whether a step has failed and waits for no customer."""
    return step.state == StepStatus.FAILED and step.not_before is None


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
                return Moves(decision=Decision.COMPENSATE)
            else:
                waits.append(row.not_before)
        elif all(rows[earlier].state in FINISHED for earlier in declared.after):
            if row.not_before is None or row.not_before <= now:
                start.append((row, declared))
            else:
                waits.append(row.not_before)
    if failed:
        return Moves(decision=Decision.FAIL, in_flight=in_flight)
    if not unfinished:
        return Moves(decision=Decision.FINISH)
    return Moves(
        decision=Decision.CONTINUE,
        start=start,
        in_flight=in_flight,
        wake_at=min(waits, default=None),
    )
