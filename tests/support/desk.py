"""Orders in Error and what happens to them next, for tests of the operators' desk."""

from uuid import UUID

from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.runtime.loop import Counts
from orders.models import AlertGroup, BulkAction, BulkItem, Event, OrderProcess
from orders.services import audit
from orders.services.operators import bulk_control
from orders.services.operators.bulk_runner import run_once
from tests.support.factories import ago, make_order

OLGA = audit.Actor(name="operator:olga", ip_address="192.0.2.7")
OTTO = audit.Actor(name="operator:otto", ip_address="192.0.2.8")


def failed_orders(count: int, *, code: str = "http_503", message: str = "it said no") -> list[UUID]:
    """Orders in Error for one cause, each with its alert."""
    ids = [make_order({"mix": "failed"}, process_state="error").order_id for _ in range(count)]
    fail(*ids, code=code, message=message)
    return ids


def fail(*order_ids: UUID, code: str = "http_503", message: str = "it said no") -> None:
    """Puts orders into Error, with an alert each, as the engine does."""
    OrderProcess.objects.filter(pk__in=order_ids).update(
        process_state="error", locked_by=None, complete_by=None
    )
    open_alerts(
        [NewAlert(order_id, "step_failed", code, message, "mix", "kitchen") for order_id in order_ids]
    )


def succeed(*order_ids: UUID, state: str = "processed") -> None:
    """Ends orders successfully."""
    goal = "complete" if state == "processed" else "compensate"
    OrderProcess.objects.filter(pk__in=order_ids).update(process_state=state, goal=goal)


def group_of(code: str = "http_503") -> AlertGroup:
    return AlertGroup.objects.get(code=code)


def due(action: BulkAction) -> BulkAction:
    """Moves the start and the last act of an action into the past, so that its rate lets it go on."""
    BulkAction.objects.filter(pk=action.pk).update(starts_at=ago(60))
    BulkAction.objects.filter(pk=action.pk, acted_at__isnull=False).update(acted_at=ago(30))
    return now_of(action)


def carry_on(action: BulkAction) -> Counts:
    """Runs one pass of the runner, long after the previous one."""
    due(action)
    return run_once()


def now_of(action: BulkAction) -> BulkAction:
    return BulkAction.objects.get(pk=action.pk)


def stop(*actions: BulkAction) -> None:
    """Stops actions for good, so that others can take their orders."""
    for action in actions:
        bulk_control.stop(action_id=action.pk, actor=OTTO)


def items_in(action: BulkAction, state: str) -> list[UUID]:
    """The action's orders in this state, in their order."""
    rows = BulkItem.objects.filter(action=action, state=state).order_by("position")
    return list(rows.values_list("order_id", flat=True))


def times_resubmitted(order_id: UUID) -> int:
    return Event.objects.filter(order_id=order_id, kind="resubmitted").count()
