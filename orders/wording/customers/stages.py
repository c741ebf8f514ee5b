"""The few plain stages of an order that its customer sees, with their times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from orders.business.editing import customer_words, newest_steps
from orders.business.words import Words
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, ProcessState, Reason, StepStatus
from orders.wording.customers.charges import charge_words, is_returned, returned_at
from orders.wording.customers.situations import FINISHED, retried_steps

ICONS = {
    "done": "check",
    "now": "running",
    "wait": "pause",
    "retry": "retry",
    "stop": "warning",
    "later": "clock",
}
STATES: Mapping[str, Words] = {
    "done": _("done"),
    "now": _("in progress"),
    "wait": _("waiting"),
    "retry": _("trying again"),
    "stop": _("held up"),
    "later": _("to come"),
}
NOT_NEEDED: Words = _("{stage} (not needed)")
CANCELLED_BY_CUSTOMER: Words = _("You cancelled it")
CANCELLED_BY_US: Words = _("Cancelled by us")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A stage as a page shows it. `state` is done, now, wait, retry, stop or later; `at` is when it was done."""

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
        return str(STATES[self.state])


def forward_stages(order: CustomerOrder, occurrences: Occurrences) -> list[Stage]:
    """The stages of an order on its way forward, in the order of their first steps. Before an order is inserted, those
    of the steps that it will have."""
    retried = retried_steps(order, occurrences)
    is_open = order.state != ProcessState.ERROR
    placed = Stage(title=str(customer_words(order.workflow).placed), state="done", at=order.placed_at)
    stages = _members(order).items()
    return [placed, *(_stage(title, members, retried, is_open=is_open) for title, members in stages)]


def _members(order: CustomerOrder) -> Mapping[str, Sequence[CustomerStep]]:
    """The steps that each stage stands for, by its title."""
    words = customer_words(order.workflow)
    titles = {name: str(stage.title) for stage in words.stages for name in stage.steps}
    steps = [(declared_name(step.name), [step]) for step in order.steps]
    members: dict[str, list[CustomerStep]] = {}
    for name, rows in steps or [(name, []) for name in newest_steps(order.workflow)]:
        if name in titles or words.shows_other_steps:
            title = titles.get(name) or name.replace("-", " ").capitalize()
            members.setdefault(title, []).extend(rows)
    return members


def _stage(title: str, members: Sequence[CustomerStep], retried: Sequence[str], *, is_open: bool) -> Stage:
    if members and all(step.state in FINISHED for step in members):
        at = max((step.completed_at for step in members if step.completed_at), default=None)
        if all(step.state == StepStatus.SKIPPED for step in members):
            title = str(NOT_NEEDED).format(stage=title)
        return Stage(title=title, state="done", at=at)
    if any(step.state == StepStatus.FAILED for step in members):
        return Stage(title=title, state="stop")
    if any(step.name in retried for step in members):
        return Stage(title=title, state="retry" if is_open else "stop")
    if not is_open or not any(step.attempts for step in members):
        return Stage(title=title, state="later")
    is_waiting = any(step.awaits for step in members) and not any(
        step.state == StepStatus.RUNNING and not step.awaits for step in members
    )
    return Stage(title=title, state="wait" if is_waiting else "now")


def cancellation_stages(order: CustomerOrder, occurrences: Occurrences, *, amount: str) -> list[Stage]:
    """The stages of an order on its way back. `amount` is the order's value in words."""
    request = occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    end = occurrences.get((EventKind.COMPENSATED, ""))
    is_over = order.state == ProcessState.COMPENSATED
    open_state = "stop" if order.state == ProcessState.ERROR else "now"
    by_customer = request is not None and request.detail.get("why") == Reason.CUSTOMER_CANCELLED
    words = charge_words(order)
    returned = is_over or words is None or is_returned(order)
    stages = [
        Stage(title=str(customer_words(order.workflow).placed), state="done", at=order.placed_at),
        Stage(
            title=str(CANCELLED_BY_CUSTOMER if by_customer else CANCELLED_BY_US),
            state="done",
            at=request.at if request else None,
        ),
    ]
    if words:
        stages.append(
            Stage(
                title=str(words.stage).format(amount=amount),
                state="done" if returned else open_state,
                at=returned_at(order, occurrences) if returned else None,
            )
        )
    last = Stage(
        title=str(customer_words(order.workflow).cancelled),
        state="done" if is_over else (open_state if returned else "later"),
        at=end.at if end and is_over else None,
    )
    return [*stages, last]
