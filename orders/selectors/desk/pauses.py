"""What operators have paused, beside agents: the intake of new orders, and single orders."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from orders.business.intake_pause import read_pause
from orders.models import IntakePause, OrderProcess
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.desk.last_acts import LastAct, last_acts

SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class PausedOrder:
    """An order that somebody has paused, `until` a time or until somebody resumes it."""

    order_id: UUID
    at: datetime
    until: datetime | None
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """The pause of the intake; how many orders are paused by themselves, counted up to `MOST_COUNTED` + 1; and the
    `SHOWN` of these that were paused first."""

    intake: IntakePause | None
    orders: int
    first_orders: Sequence[PausedOrder] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is paused."""
        return self.intake is None and not self.orders


def read_pauses(*, now: datetime) -> Pauses:
    """What is paused now. Four statements."""
    return Pauses(intake=read_pause(), orders=count_paused_orders(now=now), first_orders=_first_orders(now))


def count_paused_orders(*, now: datetime) -> int:
    """How many orders are paused, counted up to `MOST_COUNTED` + 1. One statement."""
    paused = OrderProcess.objects.filter(paused_at__isnull=False)
    return bounded_count(paused.exclude(paused_until__lte=now))


def _first_orders(now: datetime) -> list[PausedOrder]:
    """Those that were paused first. The audit log knows who did it, and why."""
    paused = OrderProcess.objects.filter(paused_at__isnull=False).exclude(paused_until__lte=now)
    rows = list(paused.order_by("paused_at").values_list("pk", "paused_at", "paused_until")[:SHOWN])
    last = last_acts((f"order {order_id}", "pause") for order_id, _, _ in rows)
    orders = []
    for order_id, at, until in rows:
        by, reason = last.get((f"order {order_id}", "pause"), LastAct())
        assert at is not None
        orders.append(PausedOrder(order_id=order_id, at=at, until=until, by=by, reason=reason))
    return orders
