"""Tells businesses what has become of their orders: sends the signals of `orders.business.signals`, at least once."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from structlog.contextvars import bound_contextvars

from orders.business import OrderKind, registry
from orders.business.signals import SIGNALS, queue_of
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import fetch, is_database_trouble
from orders.engine.runtime.text import first_line
from orders.models import Order, StatusMessage
from orders.selectors import archived_orders
from orders.selectors.customer_order import order_data

log = structlog.get_logger()

LIMIT = 100
"""Messages that one pass looks at."""
FIRST_WAIT, LONGEST_WAIT = 2.0, 900.0
"""In seconds: the longest wait after the first failure, which doubles with each, and the longest after any."""


def announce_due() -> int:
    """One pass: tells of what is due, oldest first, each in a transaction of its own. Returns how many were told.

    Several processes may run it at once; they share the work. What is younger than another message of its order waits
    for that one, unless that one has been put off.
    """
    return sum(
        _announce(number, kind) for kind in registry.kinds() for number in _due(queue_of(kind.name), LIMIT)
    )


def _due(queue: str, limit: int) -> list[int]:
    """What is to be told now of a queue."""
    rows = fetch(
        """
        SELECT id
          FROM orders_statusmessage
         WHERE queue = %s
           AND (not_before IS NULL OR not_before <= clock_timestamp())
         ORDER BY id
         LIMIT %s
        """,
        [queue, limit],
    )
    return [number for (number,) in rows]


def _announce(number: int, kind: type[OrderKind]) -> bool:
    """Tells of one message, unless another process does or has done so."""
    try:
        with transaction.atomic():
            message = StatusMessage.objects.select_for_update(skip_locked=True).filter(pk=number).first()
            if message is None or _waits_for_another(message):
                return False
            with bound_contextvars(order_id=str(message.order_id)):  # in what its receivers log
                _send(message, kind)
            message.delete()
            return True
    except Exception as error:  # noqa: BLE001 - a receiver may raise anything
        # A receiver that takes longer than a transaction may last loses its connection, too. If it is the database that
        # is gone, nothing can be put off either, and the job goes on when it is back.
        if is_database_trouble(error):
            connection.close()
        _put_off(number, error)
        return False


def _waits_for_another(message: StatusMessage) -> bool:
    """Whether something that happened before to the same order has yet to be told, and has not been put off."""
    older = StatusMessage.objects.filter(queue=message.queue, order_id=message.order_id, id__lt=message.pk)
    return older.filter(not_before=None).exists()


def _send(message: StatusMessage, kind: type[OrderKind]) -> None:
    signal = SIGNALS.get(message.kind)
    if signal is None:
        return
    subject, data = _order_of(message.order_id)
    signal.send(sender=kind, order_id=message.order_id, subject=subject, data=data, detail=message.body)


def _order_of(order_id: UUID) -> tuple[str, Mapping[str, Any]]:
    """The subject and the data of an order, wherever it is."""
    order = Order.objects.filter(pk=order_id).first()
    if order is None and (archived := archived_orders.find(order_id)):
        order = archived.order
    return (order.subject, order_data(order)) if order else ("", {})


def _put_off(number: int, error: Exception) -> None:
    """Has a message told again later, and says so in the log."""
    for count, order_id in StatusMessage.objects.filter(pk=number).values_list("failures", "order_id"):
        wait = full_jitter(count + 1, first=FIRST_WAIT, cap=LONGEST_WAIT)
        StatusMessage.objects.filter(pk=number).update(
            failures=F("failures") + 1, not_before=Now() + timedelta(seconds=wait)
        )
        log.error(
            "a receiver of a business failed",
            action="announce",
            order_id=str(order_id),
            message=number,
            failures=count + 1,
            error=f"{type(error).__name__}: {first_line(error)}",
            exc_info=error,
        )
