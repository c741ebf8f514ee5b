"""The few plain steps of an order that its customer sees, with their times. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders.selectors.order_page import TrackedOrder
from orders.selectors.order_view import StepView
from orders.storefront.money_moved import ChargeState, charge_state, is_returned
from orders.vocabulary import ProcessState, StepStatus
from orders.workflow.customer_steps import CANCELLED, PAYMENT, POINT_OF_NO_RETURN

FINISHED = frozenset({StepStatus.COMPLETED.value, StepStatus.SKIPPED.value})
AHEAD: tuple[tuple[str | Promise, tuple[str, ...]], ...] = (
    (lazy("Stock reserved and payment approved"), ("reserve-stock", "authorise-payment")),
    (lazy("Handed to the carrier"), ("create-shipment",)),
    (lazy("Paid"), ("capture-payment",)),
    (lazy("Confirmed by mail"), ("send-confirmation",)),
)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One of the steps that are shown. `state` is done, now, retry, stop or later; `at` is when it was done."""

    title: str
    state: str
    at: datetime | None = None

    @property
    def icon(self) -> str:
        """The icon of its state."""
        return {"done": "check", "now": "running", "retry": "retry", "stop": "warning"}.get(
            self.state, "clock"
        )

    @property
    def word(self) -> str:
        """The word for its state."""
        return {
            "done": _("done"),
            "now": _("under way"),
            "retry": _("trying again"),
            "stop": _("held up"),
        }.get(self.state, _("to come"))


def stages(tracked: TrackedOrder, retried: Sequence[str]) -> list[Stage]:
    """The way forward. A step that we have no words for is shown by its name."""
    order = tracked.order
    steps = {step.name: step for step in order.steps}
    found = [Stage(title=_("We have your order"), state="done", at=order.placed_at)]
    is_open = order.state != ProcessState.ERROR
    for title, names in AHEAD:
        members = [steps.pop(name) for name in names if name in steps]
        if members or not order.steps:
            found.append(_stage(str(title), members, retried, is_open=is_open))
    for name, step in steps.items():
        found.append(_stage(name.replace("-", " ").capitalize(), [step], retried, is_open=is_open))
    return found


def _stage(title: str, members: Sequence[StepView], retried: Sequence[str], *, is_open: bool) -> Stage:
    if members and all(step.state in FINISHED for step in members):
        at = max((step.completed_at for step in members if step.completed_at), default=None)
        skipped = all(step.state == StepStatus.SKIPPED for step in members)
        return Stage(
            title=_("{what} (not needed)").format(what=title) if skipped else title, state="done", at=at
        )
    if any(step.state == StepStatus.FAILED for step in members):
        return Stage(title=title, state="stop")
    if any(step.name in retried for step in members):
        return Stage(title=title, state="retry" if is_open else "stop")
    begun = any(step.attempts for step in members)
    return Stage(title=title, state="now" if begun and is_open else "later")


def undo_stages(tracked: TrackedOrder, amount: str) -> list[Stage]:
    """The way back."""
    order = tracked.order
    asked = tracked.noted.get(("undo_requested", ""))
    ended = tracked.noted.get(("compensated", ""))
    is_over = order.state == ProcessState.COMPENSATED
    open_state = "stop" if order.state == ProcessState.ERROR else "now"
    by_customer = asked is not None and asked.detail.get("why") == CANCELLED
    returned = is_over or is_returned(tracked)
    return [
        Stage(title=_("We have your order"), state="done", at=order.placed_at),
        Stage(
            title=_("You asked to cancel it") if by_customer else _("Cancelled by us"),
            state="done",
            at=asked.at if asked else None,
        ),
        Stage(
            title=str(_MONEY[charge_state(tracked)]).format(amount=amount),
            state="done" if returned else open_state,
            at=_returned_at(tracked) if returned else None,
        ),
        Stage(
            title=_("Everything undone, and you are told by mail"),
            state="done" if is_over else (open_state if returned else "later"),
            at=ended.at if ended and is_over else None,
        ),
    ]


_MONEY: Mapping[ChargeState, str | Promise] = {
    ChargeState.CHARGED: lazy("{amount} refunded"),
    ChargeState.UNCERTAIN: lazy("Whatever was taken of {amount} refunded"),
    ChargeState.RESERVED: lazy("{amount} freed, nothing charged"),
    ChargeState.NOTHING: lazy("Nothing was charged"),
}


def _returned_at(tracked: TrackedOrder) -> datetime | None:
    times = [
        noted.at
        for name in (PAYMENT, POINT_OF_NO_RETURN)
        if (noted := tracked.noted.get(("step_compensated", name)))
    ]
    return max(times, default=None)
