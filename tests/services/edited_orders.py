"""What tests of editing orders share: orders whose data and steps agree, as the intake makes them, and the act."""

from typing import Any

from orders.business import registry
from orders.business.intake import columns_of, lines_of
from orders.models import Order, OrderLine, OrderProcess, StepState
from orders.services.act_results import Result
from orders.services.operators.order_editing import edit_order
from tests.services.operated_orders import OLGA
from tests.support.factories import ago, make_alert, make_order
from tests.support.order_bodies import DELFT, submitted_body

GOUDA = {**DELFT, "street": "Markt 1", "city": "Gouda", "postal_code": "2801 AB"}
NEW_EMAIL = "ada@lovelace.example"
DECLINED = {"state": "failed", "attempt": 1, "answered": 1, "outcome": "refused", "failure_count": 1}
"""A step that was definitely refused."""
DATA = {name: value for name, value in submitted_body(ship_to=DELFT).items() if name != "placed_at"}


def a_placed_order(
    steps: dict[str, Any] | None = None,
    *,
    workflow: str = "fulfil-order",
    data: dict[str, Any] = DATA,
    **process: Any,
) -> OrderProcess:
    """An order with its data, its profile and its lines. Each step has the request that it was placed with, unless its
    fields say otherwise; one in Error has its alert."""
    kind, declared = registry.find_kind(workflow), registry.newest_workflows()[workflow]
    assert kind is not None
    fields = {
        name: {"state": step} if isinstance(step, str) else step for name, step in (steps or {}).items()
    }
    rows = {step.name: {"request": step.data(data), **fields.get(step.name, {})} for step in declared.steps}
    failures = sum(row.get("failure_count", 0) for row in rows.values())
    order = make_order(rows, workflow=declared, **({"failure_count": failures} | process))
    placed_at = ago(60)
    profile = kind.profile(data, placed_at=placed_at)
    Order.objects.create(id=order.pk, data=data, placed_at=placed_at, **columns_of(profile))
    OrderLine.objects.bulk_create(lines_of(order.pk, profile))
    if order.process_state == "error":
        make_alert(order.pk)
    return order


def edited(order: OrderProcess, seen: dict[str, Any] | None = None, **changes: Any) -> Result:
    """Edits fields of an order in Olga's name, who saw what it was placed with unless `seen` says otherwise."""
    data = DATA if seen is None else seen
    return edit_order(
        order_id=order.pk,
        changes=changes,
        seen={name: data.get(name) for name in changes},
        actor=OLGA,
        reason="she moved",
    )


def requests_of(order: OrderProcess) -> dict[str, Any]:
    """What each step of an order asks for."""
    return dict(StepState.objects.filter(process_id=order.pk).values_list("name", "request"))
