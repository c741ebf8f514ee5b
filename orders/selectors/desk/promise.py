"""Whether an order keeps the time that its customer was promised."""

from dataclasses import dataclass
from datetime import datetime

from orders.selectors.desk.agents import agent_statuses
from orders.selectors.desk.order_detail import Detail
from orders.selectors.desk.outlook import ComingMiss, coming_misses
from orders.vocabulary import FINISHED_STATES, Goal, ProcessState


@dataclass(frozen=True, kw_only=True)
class Promise:
    """The time promised for an order under way. `miss` says why it will be late, `stands_still` that nothing happens
    until somebody acts."""

    by: datetime
    is_late: bool
    miss: ComingMiss | None
    stands_still: bool

    @property
    def is_kept(self) -> bool:
        """Whether nothing is known that would make it late."""
        return not (self.is_late or self.miss or self.stands_still)


def promise_of(detail: Detail, *, now: datetime) -> Promise | None:
    """What becomes of the time promised; None if nothing was, or the order has ended or is being cancelled. No query,
    unless it waits for an agent: then those of `agent_statuses`, and one."""
    order = detail.order
    if order is None or order.goal == Goal.COMPENSATE or order.state in FINISHED_STATES:
        return None
    by = order.profile.promised_by
    if by is None:
        return None
    is_late = by <= now
    waits = any(step.waiting_since is not None for step in detail.steps)
    misses = (
        coming_misses(agent_statuses(now=now), now=now, order_id=detail.order_id)
        if waits and not is_late
        else []
    )
    return Promise(
        by=by,
        is_late=is_late,
        miss=next((miss for miss in misses if miss.promised_by is not None), None),
        stands_still=order.state == ProcessState.ERROR or order.pause is not None,
    )
