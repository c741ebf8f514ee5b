"""Edits the request of a failed step and retries it. See `orders.services.operators.order_acts`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from orders.business import editing
from orders.business.fields import Field, FieldType
from orders.engine import state_store
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators.acts import (
    act_on,
    add_event,
    already,
    done,
    find_step,
    refused,
    state_in_words,
)
from orders.services.order_changes import resubmit_order
from orders.services.order_lock import release_order, reset_step
from orders.vocabulary import EventKind, Goal, Outcome, ProcessState, StepStatus

__all__ = ["Field", "FieldType", "NotEditableError", "edit_and_resubmit", "editable_fields"]


class NotEditableError(ValueError):
    """Raised when fields that cannot be edited, `names`, are to be changed. Its text is one sentence."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"{', '.join(names)} cannot be edited.")
        self.names = names


def editable_fields(*, workflow: str, version: int, step: str) -> tuple[Field, ...]:
    """Returns the fields of a step that `edit_and_resubmit` can change, with their types."""
    return editing.editable(workflow, version, step)


def edit_and_resubmit(
    *,
    order_id: UUID,
    step: str,
    changes: Mapping[str, Any],
    seen: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
) -> Result:
    """Changes fields of a failed step's request, keeps the original, and resubmits the order.

    `changes` are the new values and `seen` the values that the operator saw, both by fields that the step's declaration
    names as editable. Refused while the step's outcome is unknown. Raises `NoSuchOrderError`, `NotEditableError`, and
    `BadOrderError` for a value that a field cannot take.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        fields = {field.name: field for field in editing.editable(row.workflow, row.version, step)}
        if unknown := sorted(set(changes) - set(fields)):
            raise NotEditableError(unknown)
        new = {name: editing.read(row.workflow, name, value) for name, value in changes.items()}
        failed = find_step(steps, step)
        if refusal := _why_not_edit(row, failed, new):
            return refusal
        assert failed is not None
        old = {name: value for name, value in state_store.request_of(failed).items() if name in fields}
        if any(old.get(name) != value for name, value in seen.items()):
            return refused("Somebody else has edited this step in the meantime. Check its fields again.")
        changed = {name: value for name, value in new.items() if old.get(name) != value}
        if not changed:
            return refused("There are no changes. Resubmit the step as it is.")
        state_store.edit_request(failed, changed, keep_original=True)
        before = {name: old.get(name) for name in changed}
        add_event(row, EventKind.EDITED, failed, actor, reason, {"before": before, "after": changed})
        return _resubmit_edited(row, failed, actor, reason)

    return act_on("edit and resubmit", work, order_id=order_id, actor=actor, reason=reason, step=step)


def _why_not_edit(row: ProcessRow, step: StepRow | None, new: Mapping[str, Any]) -> Result | None:
    if step is None:
        return refused("The order has no such step.")
    if row.goal == Goal.COMPENSATE:
        return refused("The order is being cancelled, so its steps can no longer be edited.")
    if step.state != StepStatus.FAILED:
        is_as_wanted = new.items() <= state_store.request_of(step).items()
        answer = already if is_as_wanted else refused
        return answer(
            f"Step {step.name} is {state_in_words(step.state)}. Only a step that failed can be edited."
        )
    if step.outcome == Outcome.UNKNOWN:
        return refused(
            f"It is unknown whether {step.name} was done. Settle it first, or it could be done twice."
        )
    return None


def _resubmit_edited(row: ProcessRow, step: StepRow, actor: Actor, reason: str) -> Result:
    """Resubmits all failed steps of an order in Error, or else only this step, which was waiting for its customer."""
    if row.process_state == ProcessState.ERROR:
        result = resubmit_order(order_id=row.order_id, by=actor.name, reason=reason)
        return done(f"Edited {step.name}. {result.message}")
    reset = reset_step(step, row.goal)._replace(error=None, sent_at=None)
    forgiven = row.failure_count - step.failure_count - step.compensation_failure_count
    state_store.write_steps([StepWrite(reset, step.attempt)])
    release_order(row._replace(failure_count=forgiven), by=actor.name, resolution="edited")
    return done(f"Edited {step.name}. It will be tried again.")
