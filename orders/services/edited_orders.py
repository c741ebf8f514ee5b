"""Writes what an edit changes of an order: its data and its profile. The caller has locked its process."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from orders.business.intake import columns_of, lines_of
from orders.business.order_edits import OrderEdit
from orders.engine.runtime.sql import run
from orders.models import Order, OrderLine
from orders.services.customer_terms import learn_edited


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
