"""What the operators' acts on one order share: the lock, the entry in the audit log, and how the order goes on."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction

from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.services import audit
from orders.services.audit import Actor
from orders.services.orders import locked, operator, release
from orders.services.results import Result, ResultStatus
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus

ENDED = (ProcessState.PROCESSED.value, ProcessState.COMPENSATED.value)

Work = Callable[[ProcessRow, list[StepRow]], Result]


def act_on(
    act: str, work: Work, *, order_id: UUID, actor: Actor, reason: str = "", step: str | None = None
) -> Result:
    """One transaction: the order locked, the act, and its entry in the audit log, which says so if it was refused."""
    with transaction.atomic():
        row, steps = locked(order_id)
        result = work(row, steps)
        audit.record(
            actor=actor,
            act=act,
            target=f"order {order_id}",
            said=result.said,
            reason=reason,
            allowed=result.status is not ResultStatus.REFUSED,
            before=_state(row, steps, step),
            after=_state(*locked(order_id), step),
        )
    return result


def _state(row: ProcessRow, steps: list[StepRow], name: str | None) -> dict[str, Any]:
    """What the audit log keeps of an order: its state, and that of the step that was acted on."""
    kept: dict[str, Any] = {"state": row.process_state, "goal": row.goal, "priority": row.priority}
    if (one := step_named(steps, name)) is not None:
        kept[one.name] = {"state": one.state, "outcome": one.outcome, "generation": one.generation}
    return kept


def go_on(
    row: ProcessRow,
    steps: list[StepRow],
    changed: StepRow,
    *,
    kind: EventKind,
    detail: dict[str, Any],
    actor: Actor,
    reason: str,
    said: str,
    resolution: str,
    result: str | None = None,
) -> Result:
    """Writes the step and its event `kind`, and has the order go on from there, unless something else of it waits for a
    person."""
    state_store.write_steps([StepWrite(changed, changed.attempt, result)])
    in_error = row.process_state == ProcessState.ERROR
    others = [one.name for one in steps if one.id != changed.id and _needs_a_person(one, row.goal)]
    goes_on = not (others and in_error)
    note(row, kind, changed, actor, reason, {**detail, "goes_on": goes_on})
    if not goes_on:
        wake(Topic.PROGRESS)
        return done(f"{said}. The order does not continue yet, because {', '.join(others)} failed too.")
    if in_error:
        row = row._replace(failure_count=row.failure_count - row.overruns, overruns=0)
    release(row, by=actor.name, resolution=resolution)
    return done(f"{said}. The order continues.")


def _needs_a_person(one: StepRow, goal: str) -> bool:
    if one.state != StepStatus.FAILED or one.not_before is not None:
        return False
    return goal != Goal.COMPENSATE or one.undo_failure_count > 0


def note(
    row: ProcessRow, kind: EventKind, step: StepRow | None, actor: Actor, reason: str, detail: dict[str, Any]
) -> None:
    """Appends to the order's history."""
    name, attempt = (step.name, step.attempt) if step else ("", 0)
    told = {**detail, "reason": reason} if reason else detail
    state_store.record_events([EventRow(row.order_id, kind, operator(actor.name), name, attempt, told)])


def step_named(steps: list[StepRow], name: str | None) -> StepRow | None:
    return next((one for one in steps if one.name == name), None)


def words(state: str) -> str:
    return state.replace("_", " ")


def done(said: str) -> Result:
    return Result(status=ResultStatus.DONE, said=said)


def already(said: str) -> Result:
    return Result(status=ResultStatus.ALREADY, said=said)


def refused(said: str) -> Result:
    return Result(status=ResultStatus.REFUSED, said=said)
