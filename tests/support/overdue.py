"""Orders and steps as a supervisor finds them."""

from typing import Any

from orders.models import Event, OrderProcess
from tests.support.factories import ago, ahead, make_order


def overdue(state: str = "running", **fields: Any) -> dict[str, Any]:
    """A step that passed its complete-by a second ago."""
    return {"state": state, "complete_by": ago(1), "settles_at": ahead(4), **fields}


def processing(steps: dict[str, Any], **process: Any) -> OrderProcess:
    return make_order(steps, **({"process_state": "processing", "reply_to": "app-1"} | process))


def call_failed(order: OrderProcess, step: str, attempt: int, **detail: Any) -> None:
    Event.objects.create(
        order_id=order.pk,
        kind="call_failed",
        step=step,
        attempt=attempt,
        actor_kind="agents",
        actor_name="agents:7",
        detail={"code": "http_503", "message": "the kitchen is closed", **detail},
    )
