"""What an order needs next on its way forward: pure decisions of the scheduler.

`orders.engine.scheduler.compensation` decides the same for an order that is being compensated. Both return `Moves`, and
neither touches a database: the same rows and the same `now` give the same moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from orders.engine import parking
from orders.engine.branches import is_item
from orders.engine.contracts import Step, Workflow
from orders.engine.errors import WorkflowError
from orders.engine.rows import ReplyRow, StepRow
from orders.engine.scheduler import branching, dispatch
from orders.vocabulary import EventKind, Goal, ProcessState, ReplyOutcome, StepStatus

FAILURES: Mapping[str, EventKind] = {
    ReplyOutcome.REFUSED: EventKind.STEP_REFUSED,
    ReplyOutcome.DECLINED: EventKind.STEP_DECLINED,
    ReplyOutcome.FAILED: EventKind.STEP_FAILED,
}
"""The event kind of a forward step's failure, by outcome."""
FINISHED = frozenset({StepStatus.COMPLETED.value, StepStatus.SKIPPED.value})


ENDED = frozenset({ProcessState.PROCESSED.value, ProcessState.COMPENSATED.value, ProcessState.ERROR.value})
"""The states in which a scheduler does nothing for an order; an order in Error waits for an operator."""


class Decision(Enum):
    """What happens to an order, given all its steps."""

    CONTINUE = auto()
    FINISH = auto()
    FAIL = auto()
    COMPENSATE = auto()


@dataclass(frozen=True, kw_only=True)
class Moves:
    """What to do with an order now.

    `start` are the steps to dispatch. `in_flight` says that some step is under way already, and `wake_at` is when the
    earliest wait for another try is over. `parked_until` is when a step that awaits something is to be looked at again.
    """

    decision: Decision
    start: Sequence[tuple[StepRow, Step]] = ()
    in_flight: bool = False
    wake_at: datetime | None = None
    parked_until: datetime | None = None


def answers(reply: ReplyRow, step: StepRow) -> bool:
    """Whether a reply counts: only for the step's last attempt, and only once (rule 4).

    So a reply that was posted in time counts even if it is read after the supervisor has given up the attempt. A reply
    to an earlier attempt changes nothing, and neither does a second copy (I4).
    """
    return reply.attempt == step.attempt and step.answered != step.attempt


def needs_operator(step: StepRow) -> bool:
    """Whether a step has failed and waits for no customer."""
    return step.state == StepStatus.FAILED and step.not_before is None


def rows_by_name(workflow: Workflow, steps: Iterable[StepRow]) -> dict[str, StepRow]:
    """These steps by their names. Raises `WorkflowError` if they are not those of the workflow."""
    rows = {step.name: step for step in steps}
    if {name for name in rows if not is_item(name)} != workflow.by_name.keys():
        raise WorkflowError(f"the stored steps {sorted(rows)} are not those of {workflow.title}")
    return rows


def next_moves(workflow: Workflow, steps: Iterable[StepRow], now: datetime) -> Moves:
    """The next steps forward: every step whose predecessors are finished and whose wait is over (C1, C4).

    Raises `WorkflowError` if the stored steps are not those of the workflow.
    """
    rows = rows_by_name(workflow, steps)
    start: list[tuple[StepRow, Step]] = []
    waits: list[datetime] = []
    parked: list[datetime] = []
    in_flight, failed, unfinished = False, False, False
    for name, row in rows.items():
        if row.state in FINISHED:
            continue
        unfinished = True
        declared = workflow.step_of(name)
        if row.state == StepStatus.RUNNING or (
            row.state == StepStatus.COMPENSATING and row.complete_by is not None
        ):
            in_flight = True
        elif row.state == StepStatus.AWAITING and branching.is_joint(row, declared):
            items = branching.items_of(row, rows)
            if branching.are_added(row, items) and all(item.state in FINISHED for item in items):
                start.append((row, declared))
        elif row.state == StepStatus.AWAITING:
            if parking.is_due(row, now):
                start.append((row, declared))
            else:
                parked.append(parking.parked_until(row, now))
        elif row.state == StepStatus.FAILED:
            if row.not_before is None:
                failed = True
            elif row.not_before <= now:
                return Moves(decision=Decision.COMPENSATE)
            else:
                waits.append(row.not_before)
        elif _is_ready(row, declared, rows):
            due = _due_at(row, declared, now)
            if due is None or due <= now:
                start.append((row, declared))
            else:
                waits.append(due)
    if failed:
        return Moves(decision=Decision.FAIL, in_flight=in_flight)
    if not unfinished:
        return Moves(decision=Decision.FINISH)
    return Moves(
        decision=Decision.CONTINUE,
        start=start,
        in_flight=in_flight,
        wake_at=min(waits, default=None),
        parked_until=min(parked, default=None),
    )


def _is_ready(row: StepRow, declared: Step, rows: Mapping[str, StepRow]) -> bool:
    """Whether it is a step's turn. What it may have done can be reversed whatever its predecessors have come to."""
    is_reversed = row.state == StepStatus.COMPENSATING
    return is_reversed or all(rows[earlier].state in FINISHED for earlier in declared.after)


def _due_at(row: StepRow, declared: Step, now: datetime) -> datetime | None:
    """When a step that is ready may be sent: forward, or back if its present generation is reversed first."""
    if row.state == StepStatus.COMPENSATING:
        return dispatch.compensation_due_at(row, declared, now)
    return dispatch.latest(row.not_before, dispatch.settles_at(row, declared, Goal.COMPLETE, now))
