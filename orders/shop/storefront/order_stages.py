"""The few plain stages of an order that its customer sees, with their times. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.selectors.customer_order import CustomerStep
from orders.selectors.tracked_orders import TrackedOrder
from orders.shop import order_tracker
from orders.shop.charges import charge_state, is_returned
from orders.shop.fulfilment import PAYMENT, POINT_OF_NO_RETURN
from orders.vocabulary import EventKind, ProcessState, Reason, StepStatus

FINISHED = frozenset({StepStatus.COMPLETED.value, StepStatus.SKIPPED.value})
ICONS = {"done": "check", "now": "running", "retry": "retry", "stop": "warning", "later": "clock"}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage as the page shows it. `state` is done, now, retry, stop or later; `at` is when it was done."""

    title: str
    state: str
    at: datetime | None = None

    @property
    def icon(self) -> str:
        """The icon of its state."""
        return ICONS[self.state]

    @property
    def word(self) -> str:
        """The word for its state."""
        return str(order_tracker.STAGE_STATES[self.state])


def forward_stages(tracked: TrackedOrder, retried: Sequence[str]) -> list[Stage]:
    """The stages of an order on its way forward. A step that we have no words for is shown by its name. `retried`
    names steps."""
    order = tracked.order
    steps = {step.name: step for step in order.steps}
    stages = [Stage(title=str(order_tracker.PLACED), state="done", at=order.placed_at)]
    is_open = order.state != ProcessState.ERROR
    for title, names in order_tracker.FORWARD_STAGES:
        members = [steps.pop(name) for name in names if name in steps]
        if members or not order.steps:
            stages.append(_stage(str(title), members, retried, is_open=is_open))
    for name, step in steps.items():
        stages.append(_stage(name.replace("-", " ").capitalize(), [step], retried, is_open=is_open))
    return stages


def _stage(title: str, members: Sequence[CustomerStep], retried: Sequence[str], *, is_open: bool) -> Stage:
    if members and all(step.state in FINISHED for step in members):
        at = max((step.completed_at for step in members if step.completed_at), default=None)
        if all(step.state == StepStatus.SKIPPED for step in members):
            title = str(order_tracker.NOT_NEEDED).format(stage=title)
        return Stage(title=title, state="done", at=at)
    if any(step.state == StepStatus.FAILED for step in members):
        return Stage(title=title, state="stop")
    if any(step.name in retried for step in members):
        return Stage(title=title, state="retry" if is_open else "stop")
    has_begun = any(step.attempts for step in members)
    return Stage(title=title, state="now" if has_begun and is_open else "later")


def cancellation_stages(tracked: TrackedOrder, amount: str) -> list[Stage]:
    """The stages of an order on its way back. `amount` is the order's total in words."""
    order = tracked.order
    request = tracked.occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    end = tracked.occurrences.get((EventKind.COMPENSATED, ""))
    is_over = order.state == ProcessState.COMPENSATED
    open_state = "stop" if order.state == ProcessState.ERROR else "now"
    by_customer = request is not None and request.detail.get("why") == Reason.CUSTOMER_CANCELLED
    returned = is_over or is_returned(tracked)
    return [
        Stage(title=str(order_tracker.PLACED), state="done", at=order.placed_at),
        Stage(
            title=str(order_tracker.CANCELLED_BY_CUSTOMER if by_customer else order_tracker.CANCELLED_BY_US),
            state="done",
            at=request.at if request else None,
        ),
        Stage(
            title=str(order_tracker.CHARGE_STAGES[charge_state(tracked)]).format(amount=amount),
            state="done" if returned else open_state,
            at=_returned_at(tracked) if returned else None,
        ),
        Stage(
            title=str(order_tracker.CANCELLATION_CONFIRMED),
            state="done" if is_over else (open_state if returned else "later"),
            at=end.at if end and is_over else None,
        ),
    ]


def _returned_at(tracked: TrackedOrder) -> datetime | None:
    times = [
        occurrence.at
        for name in (PAYMENT, POINT_OF_NO_RETURN)
        if (occurrence := tracked.occurrences.get((EventKind.STEP_COMPENSATED, name)))
    ]
    return max(times, default=None)
