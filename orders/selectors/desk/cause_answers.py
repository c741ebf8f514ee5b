"""What a remote service answered to the call whose failure opened the newest alert of a cause."""

from orders.models import Alert, Event
from orders.vocabulary import EventKind


def status_of(alert_id: int) -> int | None:
    """The HTTP status of the answer that has an alert's code; None if there was no such answer, as for a timeout, or
    if the history no longer has it. Two queries."""
    alert = Alert.objects.filter(pk=alert_id).first()
    if alert is None or alert.order_id is None:
        return None
    failed = Event.objects.filter(order_id=alert.order_id, step=alert.step, kind=EventKind.CALL_FAILED)
    event = failed.order_by("-id").first()
    if event is None or event.detail.get("code") != alert.code:
        return None
    exchange = event.detail.get("exchange")
    status = exchange.get("status") if isinstance(exchange, dict) else None
    return status if isinstance(status, int) else None
