"""What edits of an order share, whoever makes them: reading what is stored, and writing what changes of the order and
of its steps. The caller has locked its process."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from orders.business.intake import columns_of, lines_of
from orders.business.order_edits import OrderEdit, StoredOrder, StoredStep
from orders.engine import state_store
from orders.engine.rows import StepRow
from orders.engine.runtime.sql import database_now, run
from orders.models import Order, OrderLine, StepState
from orders.services.customer_terms import learn_edited


def read_stored(order_id: UUID, workflow: str, version: int) -> StoredOrder | None:
    """Reads what an edit starts from; None if the order has no data."""
    order = Order.objects.filter(pk=order_id).values("data", "placed_at").first()
    if order is None or not order["data"]:
        return None
    rows = StepState.objects.filter(process_id=order_id).order_by("position", "id")
    return StoredOrder(
        workflow=workflow,
        version=version,
        data=order["data"],
        placed_at=order["placed_at"],
        steps=[StoredStep(*columns) for columns in rows.values_list(*StoredStep._fields)],
        results=state_store.facts_of([order_id])[order_id].results,
        read_at=database_now(),
    )


def write(order_id: UUID, steps: Sequence[StepRow], edit: OrderEdit) -> None:
    """Stores what an edit changes of an order and of its steps."""
    rows = {step.name: step for step in steps}
    new: dict[bool, list[state_store.NewRequest]] = {True: [], False: []}
    for step in edit.following:
        request = state_store.NewRequest(rows[step.step], step.after, step.awaits_until)
        new[step.is_reversed_first].append(request)
    state_store.rewrite_requests(new[False])
    state_store.reverse_first(new[True])
    write_edit(order_id, edit)


def begin_anew(step: StepRow) -> StepRow:
    """A step that is ready to be tried again. One that is reversed first keeps when it was sent, and why it failed."""
    return step if step.is_reversed_first else step._replace(error=None, sent_at=None)


def write_edit(order_id: UUID, edit: OrderEdit) -> None:
    """Stores the new data, what they change of what people see, and by what they find it. The rest stays as it was."""
    before, after = (columns_of(profile) for profile in edit.profiles)
    changed = {name: value for name, value in after.items() if value != before[name]}
    Order.objects.filter(pk=order_id).update(data=dict(edit.data), **changed)
    old_lines, new_lines = (profile.lines for profile in edit.profiles)
    if list(old_lines) != list(new_lines):
        OrderLine.objects.filter(order_id=order_id).delete()
        OrderLine.objects.bulk_create(lines_of(order_id, edit.profiles[1]))
    learn_edited(order_id)


def write_values(order_id: UUID, values: Mapping[str, Any]) -> None:
    """Stores new values of fields in an order's data, if they are there, so that what is asked for later agrees."""
    run(
        "UPDATE orders_order SET data = data || %s::jsonb WHERE id = %s AND jsonb_exists_all(data, %s::text[])",
        [json.dumps(dict(values)), order_id, list(values)],
    )
