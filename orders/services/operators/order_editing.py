"""Edits an order's fields: its data, what people see of it, and what its steps that are still to be done ask for.

What was already done, or is under way, stays as it is; a comparison says so beforehand, and the order's history
afterwards. See `orders.business.order_edits` for the rules.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.business import editing
from orders.business.fields import Field
from orders.business.order_edits import (
    CannotEditError,
    OrderEdit,
    ReversalNeededError,
    StoredOrder,
    UnreadableDataError,
    plan_edit,
)
from orders.business.reading import BadOrderError
from orders.engine import state_store
from orders.engine.branches import is_item
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.models import OrderProcess
from orders.selectors.desk.order_cause import EDITED_AND_RESUBMITTED
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.edited_orders import begin_anew, read_stored, write
from orders.services.operators.acts import Values, act_on, add_event, already, done, refused
from orders.services.order_changes import resubmit_order
from orders.services.order_lock import NoSuchOrderError, release_order, reset_step, reversal_detail
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus
from orders.wording.order_edits import in_words, reversal_sentences, staying_sentences

__all__ = [
    "CannotEditError",
    "EditableOrder",
    "NotEditableError",
    "ReversalNeededError",
    "edit_order",
    "editable_order",
    "preview",
    "why_not_edit",
]

GOES_ON = "The order is tried again now, and goes on if that succeeds."
"""What happens next with an order that was in Error, once it is edited."""


class NotEditableError(ValueError):
    """Raised when fields that cannot be edited, `names`, are to be changed. Its text is one sentence. `mistakes` are
    those in the new values of the other fields."""

    def __init__(self, names: Sequence[str], mistakes: Sequence[BadOrderError] = ()) -> None:
        super().__init__(f"{', '.join(names)} cannot be edited.")
        self.names = names
        self.mistakes = mistakes


def check_editable(workflow: str, names: Collection[str], changes: Mapping[str, Any]) -> None:
    """Raises `NotEditableError` if something else is to be changed than the fields with these names."""
    unknown = sorted(set(changes) - set(names))
    if not unknown:
        return
    mistakes: Sequence[BadOrderError] = ()
    try:
        editing.read_all(workflow, {name: value for name, value in changes.items() if name in names})
    except BadOrderError as error:
        mistakes = error.mistakes
    raise NotEditableError(unknown, mistakes)


class EditableOrder(NamedTuple):
    """The fields of an order that may be edited, and their present values; or no fields, and in `why_not` why."""

    fields: tuple[Field, ...]
    values: Mapping[str, Any]
    why_not: str = ""


def editable_order(order_id: UUID) -> EditableOrder:
    """Returns what `edit_order` can change of an order now. Raises `NoSuchOrderError`."""
    process = _process_of(order_id)
    try:
        if why_not := why_not_edit(process.goal, process.process_state):
            raise CannotEditError(why_not)
        order = _read(order_id, process.workflow, process.version, {})
        plan_edit(order, {})
    except CannotEditError as error:
        return EditableOrder((), {}, str(error))
    fields = editing.order_fields(process.workflow)
    why_not = "" if fields else "Nothing of such an order can be edited."
    return EditableOrder(fields, {field.name: order.data.get(field.name) for field in fields}, why_not)


def has_fields_of(order_id: UUID, step: str, fields: Sequence[Field]) -> bool:
    """Whether these fields of a step are fields of its order, which can be edited now. An item's are its own."""
    return not is_item(step) and {field.name for field in fields} <= editable_order(order_id).values.keys()


def preview(*, order_id: UUID, changes: Mapping[str, Any], reverse: Collection[str] = ()) -> OrderEdit:
    """Says what `edit_order` would do now, and changes nothing.

    Raises `NoSuchOrderError`, `NotEditableError`, `BadOrderError` for a value that a field cannot take, and
    `CannotEditError` if the order cannot be edited like this: `ReversalNeededError` if it can with more in `reverse`.
    """
    process = _process_of(order_id)
    if reason := why_not_edit(process.goal, process.process_state):
        raise CannotEditError(reason)
    return plan_edit(_read(order_id, process.workflow, process.version, changes), changes, reverse=reverse)


def edit_order(
    *,
    order_id: UUID,
    changes: Mapping[str, Any],
    seen: Mapping[str, Any],
    actor: Actor,
    reason: str = "",
    reverse: Collection[str] = (),
) -> Result:
    """Changes fields of an order, and what its steps that are still to be done ask for; keeps the originals.

    `changes` are the new values and `seen` those that the operator saw. An order in Error is resubmitted, and any other
    continues. Refused if a failed step that takes one of these values may have been done, unless it is in `reverse`:
    then that is reversed first. Also refused if money was reserved or taken for another value. Raises
    `NoSuchOrderError`, `NotEditableError`, and `BadOrderError`.
    """
    values = Values()

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if why_not := why_not_edit(row.goal, row.process_state):
            return refused(why_not)
        try:
            order = _read(order_id, row.workflow, row.version, changes)
            edit = plan_edit(order, changes, reverse=reverse)
        except CannotEditError as error:
            return refused(str(error))
        if edit.fields and any(order.data.get(name) != value for name, value in seen.items()):
            return refused("Somebody else has edited this order in the meantime. Check its fields again.")
        if not edit.fields:
            return already("The order has these values already, so nothing was changed.")
        values.before, values.after = edit.before, edit.after
        return apply(row, steps, edit, actor=actor, reason=reason)

    return act_on("edit order", work, order_id=order_id, actor=actor, reason=reason, values=values)


def apply(row: ProcessRow, steps: Sequence[StepRow], edit: OrderEdit, *, actor: Actor, reason: str) -> Result:
    """Writes an edit of an order that is locked, and has it continue."""
    write(row.order_id, steps, edit)
    detail = {
        "before": edit.before,
        "after": edit.after,
        "steps": [step.step for step in edit.following],
        "kept": [step.step for step in edit.staying],
        **({"reversed_first": edit.reversed_first} if edit.reversed_first else {}),
    }
    add_event(row, EventKind.EDITED, None, actor, reason, detail)
    sentences = ["Edited the order.", _continue(row, edit, actor, reason)]
    return done(" ".join(filter(None, [*sentences, *reversal_sentences(edit), *staying_sentences(edit)])))


def _process_of(order_id: UUID) -> OrderProcess:
    process = OrderProcess.objects.filter(pk=order_id).first()
    if process is None:
        raise NoSuchOrderError(f"Order {order_id} is not in the state store.")
    return process


def _read(order_id: UUID, workflow: str, version: int, changes: Mapping[str, Any]) -> StoredOrder:
    check_editable(workflow, {field.name for field in editing.order_fields(workflow)}, changes)
    order = read_stored(order_id, workflow, version)
    if order is None:
        raise UnreadableDataError("The order has no data of its own. Edit what its failed step asks for.")
    return order


def why_not_edit(goal: str, state: str) -> str:
    """Why no field of an order can be edited any more; empty if some can."""
    if goal == Goal.COMPENSATE:
        return "The order is being cancelled, so it can no longer be edited."
    if state == ProcessState.PROCESSED:
        return "All of the order’s steps are done, so it can no longer be edited."
    return ""


def _continue(row: ProcessRow, edit: OrderEdit, actor: Actor, reason: str) -> str:
    """Resubmits an order in Error; of any other, has the steps tried again that waited for their customer to change
    this. Returns a sentence about it."""
    if row.process_state == ProcessState.ERROR:
        message = resubmit_order(
            order_id=row.order_id, by=actor.name, reason=reason, resolution=EDITED_AND_RESUBMITTED
        ).message
        return message if edit.reversed_first else f"{message} {GOES_ON}"
    following = {step.step for step in edit.following}
    steps = state_store.steps_of([row.order_id])[row.order_id]  # as the edit has left them
    failed = [step for step in steps if step.state == StepStatus.FAILED and step.name in following]
    if not failed:
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        return f"It changes {in_words(step.step for step in edit.following)}." if following else ""
    try_again(row, failed, actor)
    for step in failed:
        add_event(row, EventKind.RESUBMITTED, step, actor, reason, reversal_detail(step))
    return f"{in_words(step.name for step in failed)} will be tried again."


def try_again(row: ProcessRow, failed: Sequence[StepRow], actor: Actor) -> None:
    """Has failed steps of an order that is not in Error tried again, each with a new key if it was refused."""
    resets = [begin_anew(reset_step(step, row.goal)) for step in failed]
    forgiven = sum(step.failure_count + step.compensation_failure_count for step in failed)
    state_store.write_steps(
        [StepWrite(reset, step.attempt) for reset, step in zip(resets, failed, strict=True)]
    )
    release_order(
        row._replace(failure_count=row.failure_count - forgiven),
        by=actor.name,
        resolution=EDITED_AND_RESUBMITTED,
    )
