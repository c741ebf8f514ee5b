"""What an order needs next on its way back: pure decisions of the scheduler for compensation (C10).

Every step whose outcome is done or unknown is compensated, after all the steps that depend on it, so in reverse order
(I10). A forward call that is still under way is awaited, and one whose outcome is unknown is given its settle time
first, because it may still take effect. Notices are sent last.
"""

from collections.abc import Iterable
from datetime import datetime

from orders.engine import parking
from orders.engine.branches import declared_name
from orders.engine.contracts import Compensation, Step, Workflow
from orders.engine.rows import StepRow
from orders.engine.scheduler import branching, dispatch
from orders.engine.scheduler.progress import Decision, Moves, rows_by_name
from orders.vocabulary import Outcome, StepStatus


def is_settled(row: StepRow, declared: Step) -> bool:
    """Whether this step has no effect that is left to compensate, or never had one."""
    if row.state == StepStatus.RUNNING:
        return False
    if row.state == StepStatus.COMPENSATED or declared.compensation is Compensation.NONE:
        return True
    if branching.is_joint(row, declared):  # its items have the effects
        return True
    if declared.when is not None and row.state == StepStatus.SKIPPED and not row.attempt:
        return True  # nobody is told of what was never to happen
    return declared.compensation is Compensation.REVERSE and row.outcome in (Outcome.NONE, Outcome.REFUSED)


def next_compensation_moves(workflow: Workflow, steps: Iterable[StepRow], now: datetime) -> Moves:
    """The compensations that are due. Raises `WorkflowError` if the stored steps are not those of the workflow."""
    rows = rows_by_name(workflow, steps)
    open_steps = {name for name, row in rows.items() if not is_settled(row, workflow.step_of(name))}
    reversals_open = {name for name in open_steps if not _is_notice(rows[name], workflow.step_of(name))}
    start: list[tuple[StepRow, Step]] = []
    waits: list[datetime] = []
    parked: list[datetime] = []
    in_flight = False
    for name in open_steps:
        row, declared = rows[name], workflow.step_of(name)
        later = workflow.dependents[declared.name]
        blockers = reversals_open
        if name in reversals_open:
            blockers = {other for other in reversals_open if declared_name(other) in later}
        if row.state == StepStatus.RUNNING or (
            row.state == StepStatus.COMPENSATING and row.complete_by is not None
        ):
            in_flight = True
        elif row.is_backward and row.state == StepStatus.AWAITING:
            if parking.is_due(row, now):
                start.append((row, declared))
            else:
                parked.append(parking.parked_until(row, now))
        elif not blockers:
            due = dispatch.compensation_due_at(row, declared, now)
            if due is None or due <= now:
                start.append((row, declared))
            else:
                waits.append(due)
    if not open_steps:
        return Moves(decision=Decision.FINISH)
    return Moves(
        decision=Decision.CONTINUE,
        start=start,
        in_flight=in_flight,
        wake_at=min(waits, default=None),
        parked_until=min(parked, default=None),
    )


def _is_notice(row: StepRow, declared: Step) -> bool:
    return declared.compensation is Compensation.NOTICE and row.state != StepStatus.RUNNING
