"""Edits the order's fields that a failed step asks for, and retries it. See `orders.services.operators.order_editing`.

An item of a list has fields of its own, and an order from before there were data has none: of those only what the step
asks for is edited.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from orders.business import editing
from orders.business.fields import Field, FieldType
from orders.business.order_edits import CannotEditError, Following, UnreadableDataError, plan_edit
from orders.engine import state_store
from orders.engine.branches import is_item
from orders.engine.rows import ProcessRow, StepRow
from orders.selectors.desk.order_cause import EDITED_AND_RESUBMITTED
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.edited_orders import read_stored, write
from orders.services.operators.acts import (
    Values,
    act_on,
    add_event,
    already,
    done,
    find_step,
    refused,
    state_in_words,
)
from orders.services.operators.order_editing import (
    GOES_ON,
    NotEditableError,
    check_editable,
    try_again,
)
from orders.services.order_changes import resubmit_order
from orders.vocabulary import EventKind, Goal, Outcome, ProcessState, StepStatus

__all__ = ["Field", "FieldType", "NotEditableError", "edit_and_resubmit", "editable_fields"]


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
    """Changes the order's fields that a failed step asks for, keeps the original, and resubmits the order.

    `changes` are the new values and `seen` the values that the operator saw in the step's request, both by fields that
    the step's declaration names as editable. Other steps that are still to be done, and take these fields, ask for the
    new values, too. Refused while the step's outcome is unknown, and when `order_editing.edit_order` is. Raises
    `NoSuchOrderError`, `NotEditableError`, and `BadOrderError` for a value that a field cannot take.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        fields = {field.name: field for field in editing.editable(row.workflow, row.version, step)}
        check_editable(row.workflow, fields, changes)
        new = editing.read_all(row.workflow, changes)
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
        try:
            others = _edit(row, steps, failed, changed)
        except CannotEditError as error:
            return refused(str(error))
        values.before, values.after = {name: old.get(name) for name in changed}, changed
        detail = {"before": values.before, "after": changed, **({"steps": others} if others else {})}
        add_event(row, EventKind.EDITED, failed, actor, reason, detail)
        return _resubmit_edited(row, failed, actor, reason)

    values = Values()
    return act_on(
        "edit and resubmit", work, order_id=order_id, actor=actor, reason=reason, step=step, values=values
    )


def _edit(row: ProcessRow, steps: list[StepRow], failed: StepRow, changed: Mapping[str, Any]) -> list[str]:
    """Writes new values of a step's fields, and of the order's. Returns the names of the other steps that follow.

    Raises `CannotEditError` if the order cannot be edited like this.
    """
    order = None if is_item(failed.name) else read_stored(row.order_id, row.workflow, row.version)
    try:
        edit = plan_edit(order, changed) if order is not None else None
    except UnreadableDataError:
        edit = None
    if edit is None:
        state_store.edit_request(failed, changed, keep_original=True)
        return []
    own = next((step for step in edit.following if step.step == failed.name), None)
    request = state_store.request_of(failed)
    own_edit = Following(failed.name, request, {**(own.after if own else request), **changed}, None)
    others = [step for step in edit.following if step is not own]
    write(row.order_id, steps, replace(edit, following=[*others, own_edit]))
    return [step.step for step in others]


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
        result = resubmit_order(
            order_id=row.order_id, by=actor.name, reason=reason, resolution=EDITED_AND_RESUBMITTED
        )
        return done(f"Edited {step.name}. {result.message} {GOES_ON}")
    try_again(row, [step], actor)
    return done(f"Edited {step.name}. It will be tried again.")
