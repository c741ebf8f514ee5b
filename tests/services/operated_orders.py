"""What tests of the operators' acts on one order share: orders of the shop's workflow, and what became of them."""

from typing import Any

from orders.business import registry
from orders.models import Alert, AuditEntry, OrderProcess
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators.editing import edit_and_resubmit
from tests.support.factories import ago, make_alert, make_order
from tests.support.order_bodies import DELFT
from tests.support.roles import a_scheduler, drain

FULFIL = registry.newest_workflows()["fulfil-order"]
FULFILS = {(FULFIL.name, FULFIL.version): FULFIL}
MOVED = {**DELFT, "city": "Gouda"}
BEFORE_SHIPMENT = {"reserve-stock": "completed", "authorise-payment": "completed"}
BEFORE_MAIL = {**BEFORE_SHIPMENT, "create-shipment": "completed", "capture-payment": "completed"}
UNKNOWN = {"state": "failed", "attempt": 3, "outcome": "unknown", "failure_count": 3}
REFUSED = {"state": "failed", "outcome": "refused", "request": {"lines": [], "ship_to": DELFT}}
OLGA = Actor(name="olga", ip_address="10.0.0.7")


def an_order(steps: dict[str, Any], **process: Any) -> OrderProcess:
    """An order of the shop's workflow; one in Error has its alert, and its failures add up."""
    failures = sum(step.get("failure_count", 0) for step in steps.values() if isinstance(step, dict))
    order = make_order(steps, workflow=FULFIL, **({"failure_count": failures} | process))
    if order.process_state == "error":
        make_alert(order.pk)
    return order


def in_error(steps: dict[str, Any], **process: Any) -> OrderProcess:
    return an_order(steps, **({"process_state": "error", "started_at": ago(60)} | process))


def pass_over() -> None:
    drain(a_scheduler(workflows=FULFILS))


def audited(order: OrderProcess) -> list[tuple[str, str, str, str]]:
    entries = AuditEntry.objects.filter(target=f"order {order.pk}").order_by("id")
    return [(entry.act, entry.actor, entry.ip_address, entry.result) for entry in entries]


def has_open_alert(order: OrderProcess) -> bool:
    return Alert.objects.filter(order_id=order.pk, closed_at__isnull=True).exists()


def edit(order: OrderProcess, to: Any = MOVED, *, seen: Any = DELFT, field: str = "ship_to") -> Result:
    return edit_and_resubmit(
        order_id=order.pk,
        step="create-shipment",
        changes={field: to},
        seen={field: seen},
        actor=OLGA,
        reason="she moved",
    )
