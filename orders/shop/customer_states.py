"""An order's state in a customer's words, for lists: always words and an icon, and only what is certain."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from orders.selectors.customer_order import CustomerOrder, CustomerStep


@dataclass(frozen=True, kw_only=True)
class StateWords:
    """How a list shows a state: its words, an icon of the sprite, and one of the design system's tones."""

    words: str | Promise
    icon: str
    tone: str


RECEIVED = StateWords(words=_("Received"), icon="clock", tone="idle")
UNDER_WAY = StateWords(words=_("In progress"), icon="running", tone="busy")
SLOWER = StateWords(words=_("Taking longer than usual"), icon="retry", tone="warn")
NEEDS_YOU = StateWords(words=_("Waiting for your payment"), icon="card", tone="warn")
DONE = StateWords(words=_("Printed and sent"), icon="done", tone="good")
LOOKED_INTO = StateWords(words=_("We’re looking into it"), icon="warning", tone="warn")
BEING_CANCELLED = StateWords(words=_("Being cancelled"), icon="undo", tone="busy")
CANCELLED = StateWords(words=_("Cancelled"), icon="undo", tone="idle")


def state(order: CustomerOrder) -> StateWords:
    """Returns the words for an order's present state."""
    match order.state, order.goal:
        case "processed", _:
            return DONE
        case "compensated", _:
            return CANCELLED
        case "error", _:
            return LOOKED_INTO
        case _, "compensate":
            return BEING_CANCELLED
    if any((step.error or {}).get("waits_for") == "customer" for step in _open(order)):
        return NEEDS_YOU
    if any(step.attempts > 1 or step.not_before or step.error for step in _open(order)):
        return SLOWER
    has_begun = order.state != "pending" or any(step.attempts for step in order.steps)
    return UNDER_WAY if has_begun else RECEIVED


def _open(order: CustomerOrder) -> Sequence[CustomerStep]:
    """Returns the steps that are not done yet."""
    return [step for step in order.steps if step.state not in ("completed", "skipped", "compensated")]
