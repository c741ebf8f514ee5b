"""What is being undone, and what could not be (C10)."""

from dataclasses import dataclass
from datetime import datetime

from orders.models import OrderProcess, SetAside
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.health import KeptSubmission
from orders.selectors.desk.listing import listed
from orders.selectors.desk.search import FoundOrder, page, with_facts
from orders.selectors.desk.standing import Tries
from orders.selectors.desk.step_facts import steps_of
from orders.vocabulary import Goal, ProcessState

MOST = 100
"""Orders that the desk shows of each kind."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The newest of each; `has_more` when there are others."""

    failed: list[FoundOrder]
    more_failed: bool
    under_way: list[FoundOrder]
    more_under_way: bool


def compensation_desk(*, tries: Tries, now: datetime) -> Desk:
    """The orders that are being undone, newest first, those that need a person by themselves."""
    failed = page(OrderFilter(kind="compensation failed"), after=None, limit=MOST, tries=tries, now=now)
    processes = [
        process
        for state in (ProcessState.PENDING, ProcessState.PROCESSING)
        for process in OrderProcess.objects.filter(process_state=state, goal=Goal.COMPENSATE).order_by(
            "-order_id"
        )[: MOST + 1]
    ]
    processes.sort(key=lambda process: process.order_id, reverse=True)
    steps = steps_of([process.order_id for process in processes], now)
    found = [listed(process, steps[process.order_id], "", tries, now) for process in processes[:MOST]]
    return Desk(
        failed=failed.orders,
        more_failed=failed.after is not None,
        under_way=with_facts(found, now),
        more_under_way=len(processes) > MOST,
    )


def kept_submissions(*, most: int = MOST) -> tuple[list[KeptSubmission], bool]:
    """The submissions that were set aside, oldest first, and whether there are more."""
    kept = SetAside.objects.filter(replayed_at__isnull=True).order_by("id")[: most + 1]
    shown = [
        KeptSubmission(
            number=one.pk,
            order_id=one.order_id,
            client=one.client,
            reason=one.reason,
            posted_at=one.posted_at,
            set_aside_at=one.set_aside_at,
            body=one.body,
        )
        for one in kept
    ]
    return shown[:most], len(shown) > most
