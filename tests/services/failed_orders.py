"""What tests of orders in Error share: an order in Error, and how its alert was closed."""

from typing import Any

from orders.models import Alert, OrderProcess
from tests.support.factories import ago, make_alert, make_order


def in_error(steps: dict[str, Any], *, kind: str = "step_failed", **process: Any) -> OrderProcess:
    """An order in Error, with its alert."""
    order = make_order(steps, **({"process_state": "error", "started_at": ago(60)} | process))
    make_alert(order.pk, kind=kind, step="", code="no", message="no")
    return order


def alert_closed(order: OrderProcess) -> tuple[str, str]:
    alert = Alert.objects.get(order_id=order.pk)
    assert alert.closed_at is not None
    return alert.closed_by, alert.resolution
