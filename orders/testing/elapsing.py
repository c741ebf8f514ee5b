"""Time that passes in an order's rows instead of in a test.

Everything that waits has the moment in its row at which it is due, by the database's clock, and everything that counts
time has the moment in its row from which it counts. Moving them all back by the same seconds is as if these had passed.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet

from orders.engine.runtime.sql import database_now
from orders.models import Circuit, OrderProcess, StepState

DUE = {
    OrderProcess: ("not_before", "complete_by"),
    StepState: ("not_before", "complete_by", "settles_at", "awaits_until"),
    Circuit: ("probe_at",),
}
"""The moments at which something is due."""
SINCE = {
    OrderProcess: ("created_at", "started_at"),
    StepState: ("sent_at", "compensation_sent_at", "waiting_since", "wanted_since", "started_at"),
    Circuit: ("since", "opened_at", "closed_at", "window_at", "succeeded_at", "tokens_at"),
}
"""The moments from which something counts."""
AFTERWARDS = timedelta(milliseconds=1)


def skip_to_next_moment(order_id: UUID) -> float:
    """Lets time pass until something about an order is due. Returns the seconds; 0 if it waits for nothing, or if
    something is overdue, which a supervisor that found the order locked has yet to deal with."""
    with transaction.atomic():
        # Whoever writes a step has locked its process row first.
        OrderProcess.objects.select_for_update(no_key=True).get(pk=order_id)
        now = database_now()
        moments = [moment for moment in _moments(order_id) if moment > now]
        if not moments or StepState.objects.filter(process_id=order_id, complete_by__lte=now).exists():
            return 0.0
        span = min(moments) - now + AFTERWARDS
        for rows in _rows(order_id):
            names = (*DUE[rows.model], *SINCE[rows.model])
            rows.update(**{name: F(name) - span for name in names})
    return span.total_seconds()


def _rows(order_id: UUID) -> list[QuerySet[Any]]:
    agents = StepState.objects.filter(process_id=order_id).values("agent")
    return [
        OrderProcess.objects.filter(pk=order_id),
        StepState.objects.filter(process_id=order_id),
        Circuit.objects.filter(agent__in=agents),
    ]


def _moments(order_id: UUID) -> Iterator[datetime]:
    for rows in _rows(order_id):
        for moments in rows.values_list(*DUE[rows.model]):
            yield from filter(None, moments)
