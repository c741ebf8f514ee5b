"""What operators' acts on one order share: the lock, the entry in the audit log, and how the order continues."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.errors import SaswebError
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.runtime.sql import database_now
from orders.engine.state_store.writes import StepWrite
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.order_lock import lock_order, operator, release_order
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus
from orders.wording.cancelling import REVERSED

Work = Callable[[ProcessRow, list[StepRow]], Result]


@dataclass(kw_only=True)
class Values:
    """What the audit log keeps of an act beside the states: values before and after it, which the work fills in."""

    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)


def act_on(
    act: str,
    work: Work,
    *,
    order_id: UUID,
    actor: Actor,
    reason: str = "",
    step: str | None = None,
    values: Values | None = None,
) -> Result:
    """Locks an order, runs `work`, and records the act in the audit log, even if it was refused, in one transaction."""
    audited = values or Values()
    with transaction.atomic():
        row, steps = lock_order(order_id)
        result = work(row, steps)
        audit.record(
            actor=actor,
            act=act,
            target=f"order {order_id}",
            result=result.message,
            reason=reason,
            allowed=result.status is not ResultStatus.REFUSED,
            before=_state(row, steps, step) | audited.before,
            after=_state(*lock_order(order_id), step) | audited.after,
        )
    return result


def _state(row: ProcessRow, steps: list[StepRow], name: str | None) -> dict[str, Any]:
    """Returns what the audit log keeps of an order: its state, and that of the step acted on."""
    state: dict[str, Any] = {"state": row.process_state, "goal": row.goal, "priority": row.priority}
    if (step := find_step(steps, name)) is not None:
        state[step.name] = {"state": step.state, "outcome": step.outcome, "generation": step.generation}
    return state


def continue_order(
    row: ProcessRow,
    steps: list[StepRow],
    changed: StepRow,
    *,
    kind: EventKind,
    detail: dict[str, Any],
    actor: Actor,
    reason: str,
    message: str,
    resolution: str,
    result: str | None = None,
) -> Result:
    """Writes the step and its event `kind`, and lets the order continue, unless another step needs a person.

    `message` says what was done to the step, without a full stop.
    """
    state_store.write_steps([StepWrite(changed, changed.attempt, result)])
    in_error = row.process_state == ProcessState.ERROR
    others = [other.name for other in steps if other.id != changed.id and _needs_a_person(other, row.goal)]
    continues = not (others and in_error)
    add_event(row, kind, changed, actor, reason, {**detail, "goes_on": continues})
    if not continues:
        wake(Topic.PROGRESS)
        return done(f"{message}. The order does not continue yet, because {', '.join(others)} failed too.")
    if in_error:
        row = row._replace(failure_count=row.failure_count - row.overruns, overruns=0)
    release_order(row, by=actor.name, resolution=resolution)
    if row.is_paused(database_now()):
        return done(f"{message}. The order is paused, and continues once it is resumed.")
    return done(f"{message}. The order continues.")


def _needs_a_person(step: StepRow, goal: str) -> bool:
    if step.state != StepStatus.FAILED or step.not_before is not None:
        return False
    return goal != Goal.COMPENSATE or step.compensation_failure_count > 0


def add_event(
    row: ProcessRow, kind: EventKind, step: StepRow | None, actor: Actor, reason: str, detail: dict[str, Any]
) -> None:
    """Appends an event to the order's history. Without a `step` it is about the order as a whole."""
    name, attempt = (step.name, step.attempt) if step else ("", 0)
    full_detail = {**detail, "reason": reason} if reason else detail
    state_store.record_events(
        [EventRow(row.order_id, kind, operator(actor.name), name, attempt, full_detail)]
    )


def find_step(steps: list[StepRow], name: str | None) -> StepRow | None:
    """Returns the step of this name, or None."""
    return next((step for step in steps if step.name == name), None)


def state_in_words(state: str) -> str:
    """Returns a state as it is written in a sentence."""
    return REVERSED.get(StepStatus(state), state.replace("_", " "))


def done(message: str) -> Result:
    """Returns the result of an act that was carried out."""
    return Result(status=ResultStatus.DONE, message=message)


def already(message: str) -> Result:
    """Returns the result of an act that was no longer needed."""
    return Result(status=ResultStatus.ALREADY, message=message)


def refused(message: str, *, cause: SaswebError | None = None) -> Result:
    """Returns the result of an act that the present state does not allow."""
    return Result(status=ResultStatus.REFUSED, message=message, cause=cause)
