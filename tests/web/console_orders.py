"""What tests of the console's order pages share: orders of the shop's own workflow, and their alerts."""

from typing import Any
from uuid import UUID

from orders.business import registry
from orders.models import Alert, AlertGroup, OrderProcess
from tests.support.factories import ago, make_order, make_purchase
from tests.support.order_bodies import DELFT, EMAIL

FULFIL = registry.newest_workflows()["fulfil-order"]
REFUSED = {
    "state": "failed",
    "attempt": 1,
    "outcome": "refused",
    "error": {"code": "no_route", "message": "we do not go there"},
    "request": {"lines": [], "ship_to": DELFT},
}
BEFORE_SHIPMENT = {"reserve-stock": "completed", "authorise-payment": "completed"}
HOSTILE = "<script>alert(1)</script>"


def an_order(steps: dict[str, Any], *, email: str = EMAIL, **process: Any) -> OrderProcess:
    """An order of the shop's own workflow, with its row in the orders database."""
    order = make_order(steps, workflow=FULFIL, **process)
    make_purchase(order.pk, email=email, placed_at=order.created_at or ago(0))
    return order


def in_error(**step: Any) -> OrderProcess:
    """An order whose shipment failed, with its alert."""
    order = an_order({**BEFORE_SHIPMENT, "create-shipment": {**REFUSED, **step}}, process_state="error")
    open_alert(order.pk)
    return order


def open_alert(order_id: UUID, code: str = "no_route", kind: str = "step_failed") -> Alert:
    group, _ = AlertGroup.objects.get_or_create(kind=kind, agent="carrier", code=code, pattern="p")
    return Alert.objects.create(
        group=group,
        order_id=order_id,
        kind=kind,
        agent="carrier",
        code=code,
        message=HOSTILE,
        step="create-shipment",
    )
