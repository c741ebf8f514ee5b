"""Edits of fields of many orders: what one would change, and one order's turn in a bulk action.

The rules are those of an edit of one order (`orders.business.order_edits`). An order that cannot be edited like this is
left as it is, and the action's result of it says why.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from orders.business import BadOrderError, editing
from orders.business.fields import Field
from orders.business.order_edits import CannotEditError, OrderEdit, StoredOrder, StoredStep, plan_edit
from orders.engine import state_store
from orders.engine.runtime.sql import database_now
from orders.models import Order, OrderProcess, StepState
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators.acts import refused
from orders.services.operators.order_editing import NotEditableError, edit_order, why_not_edit
from orders.wording.order_edits import Row, compare_edit, staying_sentences

MOST_EXAMINED = 2_000
"""The most orders that a preview looks at."""
AT_ONCE = 250
"""Orders that are read together."""
SHOWN = 20
"""Orders whose old and new values are shown."""


@dataclass(frozen=True, kw_only=True)
class EditedOrder:
    """What an edit would change of one order: fields, the steps that would ask for something else, and what it comes
    too late for, in sentences."""

    order_id: UUID
    rows: Sequence[Row]
    steps: Sequence[str]
    staying: Sequence[str]


@dataclass(kw_only=True)
class BulkEditPreview:
    """What an edit would do to the first `examined` orders: `applies` to so many, and why not to the others.

    `steps` says how many orders would have each step ask for something else, `staying` for how many each step has
    already asked for the former value.
    """

    examined: int = 0
    applies: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    staying: Counter[str] = field(default_factory=Counter)
    first: list[EditedOrder] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """How many orders it does not apply to."""
        return self.examined - self.applies


def fields_of(order_ids: Sequence[UUID]) -> tuple[Field, ...]:
    """The fields that may be edited of orders of the most frequent workflow among the first of these."""
    first = OrderProcess.objects.filter(pk__in=order_ids[:MOST_EXAMINED])
    frequent = Counter(first.values_list("workflow", flat=True)).most_common(1)
    return editing.order_fields(frequent[0][0]) if frequent else ()


def preview_edit(order_ids: Sequence[UUID], changes: Mapping[str, Any]) -> BulkEditPreview:
    """Says what `edit_order` would do to each of the first orders now, and changes nothing.

    Raises `BadOrderError` if no order could take one of these values.
    """
    seen, wrong = BulkEditPreview(), None
    first = order_ids[:MOST_EXAMINED]
    for start in range(0, len(first), AT_ONCE):
        batch = first[start : start + AT_ONCE]
        processes = OrderProcess.objects.in_bulk(batch)
        stored = _read(processes)
        for order_id in batch:
            if order_id not in processes:
                continue
            seen.examined += 1
            try:
                edit = _planned(processes[order_id], stored.get(order_id), changes)
            except (CannotEditError, NotEditableError) as error:
                seen.reasons[str(error)] += 1
            except BadOrderError as error:
                wrong = error
                seen.reasons[str(error)] += 1
            else:
                _count(seen, order_id, edit)
    if wrong is not None and seen.reasons == {str(wrong): seen.examined}:
        raise wrong
    return seen


def edit_in_bulk(*, order_id: UUID, changes: Mapping[str, Any], by: str, reason: str) -> Result:
    """Edits one order in its turn, as `order_editing.edit_order` does. A value that it cannot take is a refusal."""
    try:
        return edit_order(order_id=order_id, changes=changes, seen={}, actor=Actor(name=by), reason=reason)
    except (BadOrderError, NotEditableError) as error:
        return refused(str(error))


def _planned(process: OrderProcess, stored: StoredOrder | None, changes: Mapping[str, Any]) -> OrderEdit:
    """Raises `CannotEditError`, `NotEditableError` or `BadOrderError` if the order is not edited."""
    if why_not := why_not_edit(process.goal, process.process_state):
        raise CannotEditError(why_not)
    names = {own.name for own in editing.order_fields(process.workflow)}
    if unknown := sorted(set(changes) - names):
        raise NotEditableError(unknown)
    if stored is None:
        raise CannotEditError("The order has no data of its own.")
    edit = plan_edit(stored, changes)
    if not edit.fields:
        raise CannotEditError("The order has these values already.")
    return edit


def _count(seen: BulkEditPreview, order_id: UUID, edit: OrderEdit) -> None:
    seen.applies += 1
    seen.steps.update(step.step for step in edit.following)
    seen.staying.update(step.step for step in edit.staying)
    if len(seen.first) < SHOWN:
        seen.first.append(
            EditedOrder(
                order_id=order_id,
                rows=compare_edit(edit).fields,
                steps=[step.step for step in edit.following],
                staying=staying_sentences(edit),
            )
        )


def _read(processes: Mapping[UUID, OrderProcess]) -> dict[UUID, StoredOrder]:
    """What edits of these orders start from. Four queries."""
    at = database_now()
    steps: dict[UUID, list[StoredStep]] = {order_id: [] for order_id in processes}
    rows = StepState.objects.filter(process_id__in=list(processes)).order_by("position", "id")
    for order_id, *columns in rows.values_list("process_id", *StoredStep._fields):
        steps[order_id].append(StoredStep(*columns))
    facts = state_store.facts_of(list(processes))
    orders = Order.objects.filter(pk__in=list(processes)).values_list("pk", "data", "placed_at")
    return {
        order_id: StoredOrder(
            workflow=processes[order_id].workflow,
            version=processes[order_id].version,
            data=data,
            placed_at=placed_at,
            steps=steps[order_id],
            results=facts[order_id].results,
            read_at=at,
        )
        for order_id, data, placed_at in orders
        if data
    }
