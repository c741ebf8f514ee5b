"""Editing what a failed step asks for, and trying it again. See `orders.services.operators.orders`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from orders.engine import state_store
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.services import orders as services
from orders.services.audit import Actor
from orders.services.operators.acts import act_on, already, done, note, refused, step_named, words
from orders.services.orders import again, release
from orders.services.results import Result
from orders.vocabulary import EventKind, Goal, Outcome, ProcessState, StepStatus
from orders.workflow import editing
from orders.workflow.editing import Field, FieldType

__all__ = ["Field", "FieldType", "edit_and_resubmit", "editable_fields"]


def editable_fields(*, workflow: str, version: int, step: str) -> tuple[Field, ...]:
    """The fields of a step that `edit_and_resubmit` takes, with their types."""
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
    """Changes fields of what a failed step asks for, keeps the original, and has the order tried again.

    `changes` and `seen`, the values that the operator saw, have whole fields that the step's declaration names as
    editable. Refused while the step's outcome is unknown. Raises `NoSuchOrderError`, and `ValueError` with a sentence
    for a field that may not be edited, or not so.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        fields = {one.name: one for one in editing.editable(row.workflow, row.version, step)}
        if unknown := sorted(set(changes) - set(fields)):
            raise ValueError(f"{', '.join(unknown)} cannot be edited.")
        new = {name: editing.read(fields[name], value) for name, value in changes.items()}
        one = step_named(steps, step)
        if refusal := _why_not_edit(row, steps, one):
            return refusal
        assert one is not None
        old = {name: value for name, value in state_store.request_of(one).items() if name in fields}
        if any(old.get(name) != value for name, value in seen.items()):
            return refused("Somebody else has edited this step in the meantime. Check it again.")
        changed = {name: value for name, value in new.items() if old.get(name) != value}
        if not changed:
            return refused("Nothing is different. Resubmit the step as it is.")
        state_store.edit_request(one, changed, keep_original=True)
        before = {name: old.get(name) for name in changed}
        note(row, EventKind.EDITED, one, actor, reason, {"before": before, "after": changed})
        return _resubmit_edited(row, steps, one, actor, reason)

    return act_on("edit and resubmit", work, order_id=order_id, actor=actor, reason=reason, step=step)


def _why_not_edit(row: ProcessRow, steps: list[StepRow], one: StepRow | None) -> Result | None:
    if one is None:
        return refused("The order has no such step.")
    if row.goal == Goal.COMPENSATE:
        return refused("The order is being cancelled and refunded, so its steps can no longer be edited.")
    if one.state != StepStatus.FAILED:
        return already(f"Step {one.name} is {words(one.state)}. Only a step that failed can be edited.")
    if one.outcome == Outcome.UNKNOWN:
        return refused(
            f"Nobody knows whether {one.name} was done. Settle it first, or it could be done twice."
        )
    return None


def _resubmit_edited(
    row: ProcessRow, steps: list[StepRow], one: StepRow, actor: Actor, reason: str
) -> Result:
    """With everything else that failed, if the order is in Error; else, a step that waits for its customer alone."""
    if row.process_state == ProcessState.ERROR:
        result = services.resubmit(order_id=row.order_id, by=actor.name, reason=reason)
        return done(f"Edited {one.name}. {result.said}")
    afresh = again(one, row.goal)._replace(error=None, sent_at=None)
    forgiven = row.failure_count - one.failure_count - one.undo_failure_count
    state_store.write_steps([StepWrite(afresh, one.attempt)])
    release(row._replace(failure_count=forgiven), by=actor.name, resolution="edited")
    return done(f"Edited {one.name}. It will be tried again.")
