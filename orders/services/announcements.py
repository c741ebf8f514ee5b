"""Tells businesses what has become of their orders: sends the signals of `orders.business.signals`, at least once."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from orders.business import OrderKind, registry
from orders.business.signals import SIGNALS, queue_of
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import is_database_trouble
from orders.engine.runtime.text import first_line
from orders.models import ArchivedOrder, Order, StatusMessage
from orders.vocabulary import StatusKind

log = structlog.get_logger()

LIMIT = 100
"""Messages that one pass looks at."""
FIRST_WAIT, LONGEST_WAIT = 2.0, 900.0
"""In seconds: the longest wait after the first failure, which doubles with each, and the longest after any."""


def announce_due(limit: int = LIMIT) -> int:
    """One pass: tells of what is due, oldest first, each in a transaction of its own. Returns how many were told.

    Several processes may run it at once; they share the work.
    """
    kinds = {queue_of(kind.name): kind for kind in registry.kinds()}
    due = StatusMessage.objects.filter(Q(not_before=None) | Q(not_before__lte=Now()), queue__in=kinds)
    ids = list(due.order_by("id").values_list("id", flat=True)[:limit])
    return sum(_announce(number, kinds) for number in ids)


def _announce(number: int, kinds: Mapping[str, type[OrderKind]]) -> bool:
    """Tells of one message, unless another process does or has done so."""
    try:
        with transaction.atomic():
            message = StatusMessage.objects.select_for_update(skip_locked=True).filter(pk=number).first()
            if message is None:
                return False
            _send(message, kinds[message.queue])
            message.delete()
            return True
    except Exception as error:
        if is_database_trouble(error):
            raise
        _put_off(number, error)
        return False


def _send(message: StatusMessage, kind: type[OrderKind]) -> None:
    signal = SIGNALS.get(StatusKind(message.kind))
    if signal is None:
        return
    subject, data = _order_of(message.order_id)
    signal.send(sender=kind, order_id=message.order_id, subject=subject, data=data, detail=message.body)


def _order_of(order_id: UUID) -> tuple[str, Mapping[str, Any]]:
    """The subject and the data of an order, wherever it is."""
    order = Order.objects.filter(pk=order_id).only("subject", "data").first()
    if order is not None:
        return order.subject, order.data or {}
    archived = ArchivedOrder.objects.filter(pk=order_id).first()
    placed = (archived.document.get("order") if archived else None) or {}
    return placed.get("subject", ""), placed.get("data") or {}


def _put_off(number: int, error: Exception) -> None:
    """Has a message told again later, and says so in the log."""
    for count in StatusMessage.objects.filter(pk=number).values_list("failures", flat=True):
        wait = full_jitter(count + 1, first=FIRST_WAIT, cap=LONGEST_WAIT)
        StatusMessage.objects.filter(pk=number).update(
            failures=F("failures") + 1, not_before=Now() + timedelta(seconds=wait)
        )
        log.error(
            "a receiver of a business failed",
            action="announce",
            message=number,
            failures=count + 1,
            error=f"{type(error).__name__}: {first_line(error)}",
            exc_info=error,
        )
