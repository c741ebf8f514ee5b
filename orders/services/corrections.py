"""Corrections of an order by its customer: she changes what was declined, and it is tried again.

A correction is one transaction. It locks the order first and returns what actually happened; repeating it changes
nothing more, since the step that waited for her does not wait any longer.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction

from orders.business import BadOrderError, Json, editing, registry
from orders.business.corrections import is_declined, is_resubmitted, masked, open_steps, without
from orders.business.kinds import OrderKind
from orders.business.lines import Line
from orders.business.order_edits import (
    CannotEditError,
    OrderEdit,
    StoredOrder,
    UnreadableDataError,
    plan_edit,
)
from orders.business.reading import refuse_all
from orders.business.sum_rows import SumRow
from orders.engine import state_store
from orders.engine.errors import SaswebError
from orders.engine.rows import Actor, EventRow, ProcessRow, StepRow
from orders.engine.state_store.writes import StepWrite
from orders.fields.money import Money
from orders.selectors.desk.order_cause import CORRECTED
from orders.services.act_results import Result, ResultStatus
from orders.services.edited_orders import read_stored, write, write_values
from orders.services.order_lock import (
    lock_order,
    release_order,
    reset_step,
    reversal_detail,
)
from orders.vocabulary import ActorKind, EventKind, Goal, ProcessState, StepStatus
from orders.wording.units import plain_money

LINES = "lines"
PAID_AGAIN = "paid again"
"""How the alert of an order is resolved whose customer chose another way to pay."""


class NotNowError(SaswebError):
    """Raised when an order cannot be corrected like this at the moment, such as while its payment is under way."""


class TotalError(SaswebError):
    """Raised when a correction would give an order a value, `total`, to which its customer has not agreed."""

    def __init__(self, text: str, total: Money | None) -> None:
        super().__init__(text)
        self.total = total


class TotalChangedError(TotalError):
    """Raised when she has agreed to another value."""


class NotAgreedError(TotalError):
    """Raised when she has agreed to none, and it is a greater one than before."""


class Correction(NamedTuple):
    """What a correction would make of an order: its value before and after, and its lines and data afterwards. `rows`
    are what then stands between its lines and its total."""

    before: Money | None
    after: Money | None
    lines: Sequence[Line]
    rows: Sequence[SumRow]
    data: Json


def preview(*, order_id: UUID, changes: Mapping[str, Any]) -> Correction | None:
    """Says what `resolve` would make of the order's value now, and changes nothing; None if nothing is to be corrected.

    Raises `NoSuchOrderError`, `BadOrderError` for an invalid value, and `NotNowError`.
    """
    with transaction.atomic():
        row, steps = lock_order(order_id)
        concerned = _concerned(row, steps, frozenset(changes))
        if not concerned:
            return None
        edit = _plan(row, concerned, changes)
        if edit is None:
            return None
        before, after = edit.profiles
        rows = edit.kind.sum_rows(edit.data)
        return Correction(before.value, after.value, after.lines, rows, edit.data)


def resolve(
    *,
    order_id: UUID,
    changes: Mapping[str, Any],
    by: str,
    fields: Collection[str] | None = None,
    agreed: Money | None = None,
) -> Result:
    """Retries what waits for its customer with what she has changed, such as how she pays or where it is sent.

    `changes` are new values of the fields that she may change; `fields` are all that may be changed where she was
    asked, so that with no changes that step is tried again as it is. `agreed` is the value that she has seen and agreed
    to, if she was asked; no order becomes dearer without that.

    A refusal was definite, so the retry belongs to a new generation and has a new idempotency key. What may have been
    done otherwise, and what was reserved for another value, is reversed first. An order that is in Error for another
    reason stays there, and uses the change once that is fixed. Raises `NoSuchOrderError`, and
    `BadOrderError` for an invalid value.
    """
    names = frozenset(changes if fields is None else fields)
    with transaction.atomic():
        row, steps = lock_order(order_id)
        if row.goal == Goal.COMPENSATE:
            return _refused("The order can no longer be changed, because it is being cancelled.")
        concerned = _concerned(row, steps, names)
        if not concerned:
            return Result(
                status=ResultStatus.ALREADY, message="Nothing of this order is waiting for its customer."
            )
        try:
            edit = _plan(row, concerned, changes)
        except NotNowError as error:
            return _refused(str(error), error)
        if edit and (disagreement := _disagreement(edit, agreed)):
            return _refused(str(disagreement), disagreement)
        _write(row, steps, concerned, changes, edit)
        _try_again(row, concerned, edit, Actor(ActorKind.CUSTOMER, by))
    return Result(status=ResultStatus.DONE, message="It will be tried again.")


def _disagreement(edit: OrderEdit, agreed: Money | None) -> SaswebError | None:
    """Why a correction does not do what its customer has agreed to; None if it does."""
    before, after = (profile.value for profile in edit.profiles)
    if agreed is not None:
        cost = plain_money(after) if after else "nothing"
        text = f"The order would cost {cost}, not {plain_money(agreed)}."
        return None if after == agreed else TotalChangedError(text, after)
    if before is None or after is None or after.amount <= before.amount:
        return None
    sums = f"{plain_money(after)} instead of {plain_money(before)}"
    return NotAgreedError(f"The order would cost {sums}. Agree to that total first.", after)


def _refused(message: str, cause: SaswebError | None = None) -> Result:
    return Result(status=ResultStatus.REFUSED, message=message, cause=cause)


def _concerned(row: ProcessRow, steps: Sequence[StepRow], names: frozenset[str]) -> list[StepRow]:
    """The steps that wait for their customer to change these fields; none if some may not be changed now."""
    fields = open_steps(row.workflow, row.version, goal=row.goal, state=row.process_state, steps=steps)
    if not names <= frozenset().union(*fields.values()):
        return []
    hers = [step for step in steps if step.name in fields]
    return [step for step in hers if names & fields[step.name]] if names else hers[:1]


def _plan(row: ProcessRow, concerned: Sequence[StepRow], changes: Mapping[str, Any]) -> OrderEdit | None:
    """What the changes make of the order; None if there are none, or this release cannot read the order's data.

    Raises `BadOrderError` and `NotNowError`.
    """
    editing.read_all(row.workflow, changes)
    stored = read_stored(row.order_id, row.workflow, row.version) if changes else None
    if stored is None:
        return None
    try:
        edit = plan_edit(stored, changes, by_customer=True)
    except UnreadableDataError as error:
        if LINES in changes:  # the order's total follows from its data
            raise NotNowError("What was ordered cannot be changed in this order.") from error
        return None  # of an order from another release, only what the step asks for is changed
    except CannotEditError as error:
        raise NotNowError("This cannot be changed at the moment. Try again in a moment.") from error
    except BadOrderError as error:
        places = [mistake.where for mistake in error.mistakes]
        others = _others(stored, concerned, changes, error)
        # What is wrong with the whole may follow from what is wrong with a part, and of each place one is enough.
        new = [other for other in others if not any(place.startswith(other.where) for place in places)]
        refuse_all([error, *new])
        raise
    refuse_all(_refused_again(stored, concerned, changes, edit))
    return edit


def _refused_again(
    stored: StoredOrder, concerned: Sequence[StepRow], changes: Mapping[str, Any], edit: OrderEdit
) -> Sequence[BadOrderError]:
    """What of the changes a service would refuse as it just has."""
    mistakes = []
    for step in concerned:
        try:
            if step.error and is_declined(step.error):
                edit.kind.check_correction(step.error, changes, before=stored.data, after=edit.data)
        except BadOrderError as error:
            mistakes.append(error)
    return mistakes


def _others(
    stored: StoredOrder, concerned: Sequence[StepRow], changes: Mapping[str, Any], error: BadOrderError
) -> Sequence[BadOrderError]:
    """What else is wrong with changes, so that she reads of everything at once: what would be without what has these
    mistakes."""
    rest = without(changes, error.mistakes)
    if not rest or rest == changes:
        return ()
    try:
        edit = plan_edit(stored, rest, by_customer=True)
    except BadOrderError as other:
        return other.mistakes
    except CannotEditError:
        return ()
    return _refused_again(stored, concerned, {name: changes[name] for name in rest}, edit)


def _write(
    row: ProcessRow,
    steps: Sequence[StepRow],
    concerned: Sequence[StepRow],
    changes: Mapping[str, Any],
    edit: OrderEdit | None,
) -> None:
    if edit is not None:
        write(row.order_id, steps, edit)
    elif changes:
        values = {name: editing.read(row.workflow, name, value) for name, value in changes.items()}
        for step in concerned:
            state_store.edit_request(step, values, keep_original=False)
        write_values(row.order_id, values)


def _try_again(row: ProcessRow, concerned: Sequence[StepRow], edit: OrderEdit | None, actor: Actor) -> None:
    """Has the steps tried again that she has resolved, and with them all that stopped the order if she may have that
    resubmitted; records what she did."""
    hers = {step.name for step in concerned}
    steps = state_store.steps_of([row.order_id])[row.order_id]  # as the correction has left them
    failed = [step for step in steps if step.state == StepStatus.FAILED]
    stopped = [step for step in failed if not is_declined(step.error) and not _is_reversed(step, edit)]
    resubmits = row.process_state == ProcessState.ERROR and _may_resubmit(row, failed, edit)
    tried = [
        step
        for step in failed
        if step.name in hers or _is_reversed(step, edit) or (resubmits and step in stopped)
    ]
    resets = [_reset(step, row.goal) for step in tried]
    state_store.write_steps(
        [StepWrite(reset, step.attempt) for reset, step in zip(resets, tried, strict=True)]
    )
    if row.process_state != ProcessState.ERROR or resubmits:
        forgiven = sum(step.failure_count + step.compensation_failure_count for step in tried)
        forgiven += row.overruns if resubmits else 0
        overruns = 0 if resubmits else row.overruns
        changed = row._replace(failure_count=row.failure_count - forgiven, overruns=overruns)
        is_payment = all(_moves_money(row, step) for step in concerned)
        release_order(changed, by=actor.name, resolution=PAID_AGAIN if is_payment else CORRECTED)
    state_store.record_events(_events(row, tried, hers, edit, actor, resubmits=resubmits))


def _may_resubmit(row: ProcessRow, failed: Sequence[StepRow], edit: OrderEdit | None) -> bool:
    """Whether only what waits for the customer, or what she may have resubmitted, has stopped the order."""
    others = [step for step in failed if not is_declined(step.error) and not _is_reserved(step, edit)]
    return bool(others) and all(is_resubmitted(row.workflow, row.version, step) for step in others)


def _is_reversed(step: StepRow, edit: OrderEdit | None) -> bool:
    return edit is not None and step.name in edit.reversed_first


def _is_reserved(step: StepRow, edit: OrderEdit | None) -> bool:
    """Whether a step was completed, and is failed only because it is reversed now."""
    return _is_reversed(step, edit) and step.error is None


def _reset(step: StepRow, goal: str) -> StepRow:
    reset = reset_step(step, goal)
    return reset if step.is_reversed_first else reset._replace(error=None)


def _moves_money(row: ProcessRow, step: StepRow) -> bool:
    declared = registry.find_step(row.workflow, row.version, step.name)
    return declared is not None and (declared.reserves_value or declared.takes_value)


def _events(
    row: ProcessRow,
    tried: Sequence[StepRow],
    hers: Collection[str],
    edit: OrderEdit | None,
    actor: Actor,
    *,
    resubmits: bool,
) -> Iterator[EventRow]:
    for step in tried:
        is_payment = step.name in hers and _moves_money(row, step)
        kind = EventKind.PAID_AGAIN if is_payment else EventKind.CORRECTED
        detail = {
            **(_said(edit) if step.name in hers and edit is not None else {}),
            **reversal_detail(step),
            **({"resubmits": True} if resubmits else {}),
        }
        yield EventRow(row.order_id, kind, actor, step.name, step.attempt, detail)


def _said(edit: OrderEdit) -> dict[str, Any]:
    """What the history says of a correction: what was changed, from what to what, and which steps follow."""
    kind: type[OrderKind] = edit.kind
    return {
        "before": masked(kind, edit.before),
        "after": masked(kind, edit.after),
        "steps": [step.step for step in edit.following],
    }
