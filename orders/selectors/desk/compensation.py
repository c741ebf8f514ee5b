"""Orders that are being compensated, and those whose compensation failed (C10)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from orders.models import OrderProcess
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import OrderRow, order_progress, order_rows
from orders.selectors.desk.search import OrderPage, page
from orders.selectors.desk.standing import RetryLimits, StandingKind
from orders.selectors.paging import Position, older_than
from orders.vocabulary import Goal, ProcessState

MOST = 100
"""Orders of each kind that the page shows."""
LOOKED_AT = 10_000
"""Orders of each state that a page of the list looks at, at most."""
UNFINISHED = (ProcessState.PENDING, ProcessState.PROCESSING, ProcessState.ERROR)
"""The states in which an order is being compensated, or needs an operator because that failed."""


@dataclass(frozen=True, kw_only=True)
class Compensations:
    """The newest orders of each kind; `more_*` says whether there are others."""

    failed: list[OrderRow]
    more_failed: bool
    under_way: list[OrderRow]
    more_under_way: bool


def compensations(*, retry_limits: RetryLimits, now: datetime) -> Compensations:
    """The orders being compensated, newest first, and apart from them those that need an operator."""
    failed = page(
        OrderFilter(kind=StandingKind.COMPENSATION_FAILED.value),
        after=None,
        limit=MOST,
        retry_limits=retry_limits,
        now=now,
    )
    processes = [
        process
        for state in (ProcessState.PENDING, ProcessState.PROCESSING)
        for process in OrderProcess.objects.filter(process_state=state, goal=Goal.COMPENSATE).order_by(
            "-created_at", "-order_id"
        )[: MOST + 1]
    ]
    processes.sort(key=lambda process: (process.created_at, process.order_id), reverse=True)
    progress = order_progress(processes[:MOST], retry_limits=retry_limits, now=now)
    return Compensations(
        failed=failed.orders,
        more_failed=failed.after is not None,
        under_way=order_rows(progress, now=now),
        more_under_way=len(processes) > MOST,
    )


def compensating_orders(
    *, states: Collection[str], after: Position | None, limit: int, retry_limits: RetryLimits, now: datetime
) -> OrderPage:
    """A page of the unfinished orders with the goal to compensate that are in one of these states, newest first.

    It ends early, perhaps without any order, when it has looked at `LOOKED_AT` orders of a state. Five queries, and two
    for each state.
    """
    newest = [_newest(state, after) for state in states]
    floor = max((floor for rows in newest if (floor := _floor(rows))), default=None)
    processes = [process for rows in newest for process in _compensating(rows, limit + 1)]
    processes.sort(key=_position, reverse=True)
    matches = [process for process in processes if floor is None or _position(process) >= floor]
    progress = order_progress(matches[:limit], retry_limits=retry_limits, now=now)
    following = _position(matches[limit - 1]) if len(matches) > limit else floor
    return OrderPage(orders=order_rows(progress, now=now), after=following)


def _newest(state: str, after: Position | None) -> QuerySet[OrderProcess]:
    rows = OrderProcess.objects.filter(process_state=state).order_by("-created_at", "-order_id")
    return rows if after is None else rows.filter(older_than(after, time="created_at", order_id="order_id"))


def _floor(rows: QuerySet[OrderProcess]) -> Position | None:
    """The last order that is looked at; None if those are all that there are."""
    row = rows[LOOKED_AT - 1 : LOOKED_AT].first()
    return _position(row) if row else None


def _compensating(rows: QuerySet[OrderProcess], limit: int) -> QuerySet[OrderProcess]:
    looked_at = OrderProcess.objects.filter(pk__in=rows[:LOOKED_AT].values("pk"))
    return looked_at.filter(goal=Goal.COMPENSATE).order_by("-created_at", "-order_id")[:limit]


def _position(process: OrderProcess) -> Position:
    return Position(process.created_at, process.order_id)
