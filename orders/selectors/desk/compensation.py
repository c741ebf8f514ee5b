"""Orders that are being compensated, and those whose compensation failed (C10)."""

from dataclasses import dataclass
from datetime import datetime

from orders.models import OrderProcess
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import OrderRow, order_progress, order_rows
from orders.selectors.desk.search import page
from orders.selectors.desk.standing import RetryLimits, StandingKind
from orders.vocabulary import Goal, ProcessState

MOST = 100
"""Orders of each kind that the page shows."""


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
