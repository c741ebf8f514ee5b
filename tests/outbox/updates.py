"""Orders of which customers are told by email, and the emails that they get."""

from datetime import timedelta
from email.message import EmailMessage
from typing import Any

from django.db.models import F
from django.test import Client

from orders.models import (
    Event,
    Order,
    OrderProcess,
    OrderUpdateReader,
    OutgoingMessage,
    StepState,
)
from orders.services.order_updates import HOLD, post_updates
from orders.shop.fulfilment import PAYMENT
from orders.vocabulary import EventKind
from tests.support.factories import ago
from tests.support.mailbox import Mailbox
from tests.web.shopping import declined, guest_page, note, shop_order


def an_order(steps: Any = None, **fields: Any) -> OrderProcess:
    """An order of a customer who is told what becomes of it."""
    order = shop_order(steps, **fields)
    Order.objects.filter(pk=order.order_id).update(tells_customer=True)
    return order


def happens(order: OrderProcess, kind: EventKind, step: str = "", attempt: int = 0, **detail: Any) -> None:
    """Records an event of an order, as one that was written and settled a while ago."""
    position = Event.objects.count() + 1
    note(order, kind, step, attempt, **detail)
    Event.objects.filter(position=None).update(position=position)


def a_declined_order(**fields: Any) -> OrderProcess:
    order = an_order({PAYMENT: declined()}, **fields)
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 1)
    return order


def a_stopped_order() -> OrderProcess:
    order = an_order({"reserve-stock": "failed"}, process_state="error")
    happens(order, EventKind.ERROR, "reserve-stock", 1)
    return order


def a_late_order() -> OrderProcess:
    order = an_order({"reserve-stock": "running"}, process_state="processing", age=100_000)
    OrderUpdateReader.objects.update(looked_for_late_at=ago(60))
    return order


def waited(box: Mailbox) -> list[EmailMessage]:
    """The emails that arrive once the messages have been posted and have waited."""
    post_updates()
    OutgoingMessage.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - HOLD)
    return box.deliver()


def sees(order: OrderProcess) -> None:
    """The customer sees the order's page in a browser without scripts."""
    assert Client().get(f"{guest_page(order)}seen/").status_code == 204


def time_passes(order: OrderProcess, *, minutes: int) -> None:
    """Moves what is to happen this much nearer."""
    time = timedelta(minutes=minutes)
    StepState.objects.filter(process=order, not_before__isnull=False).update(
        not_before=F("not_before") - time
    )
    OutgoingMessage.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - time)


def skipped() -> list[tuple[str, str]]:
    return list(OutgoingMessage.objects.values_list("state", "error"))
