"""The sentences that tell a customer how their order is going."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders.selectors.tracked_orders import TrackedOrder
from orders.shop.charges import ChargeState, charge_state
from orders.vocabulary import EventKind, Reason

Words = str | Promise


class Situation(StrEnum):
    """Where an order is, as far as its customer is concerned."""

    RECEIVED = "received"
    WORKING = "working"
    RETRYING = "retrying"
    DECLINED = "declined"
    STOPPED = "stopped"
    COMPLETE = "complete"
    CANCELLING = "cancelling"
    CANCEL_STUCK = "cancel_stuck"
    CANCELLED = "cancelled"


class Look(NamedTuple):
    """How a situation is shown: the tone, icon and word of its status, and the page's headline."""

    tone: str
    icon: str
    word: Words
    headline: Words


LOOKS: Mapping[Situation, Look] = {
    Situation.RECEIVED: Look("busy", "clock", lazy("Received"), lazy("Thank you. We have your order.")),
    Situation.WORKING: Look("busy", "running", lazy("In progress"), lazy("Thank you. We’re working on it.")),
    Situation.RETRYING: Look(
        "warn", "retry", lazy("Trying again"), lazy("This is taking longer than usual.")
    ),
    Situation.DECLINED: Look("bad", "card", lazy("Waiting for you"), lazy("Your card was declined.")),
    Situation.STOPPED: Look(
        "warn",
        "warning",
        lazy("We’re looking into it"),
        lazy("We’re looking into a problem with your order."),
    ),
    Situation.COMPLETE: Look("good", "done", lazy("Complete"), lazy("Your posters are on their way.")),
    Situation.CANCELLING: Look("busy", "undo", lazy("Being cancelled"), lazy("We’re cancelling your order.")),
    Situation.CANCEL_STUCK: Look(
        "warn", "warning", lazy("We’re looking into it"), lazy("We’re finishing your cancellation by hand.")
    ),
    Situation.CANCELLED: Look("idle", "undo", lazy("Cancelled"), lazy("Your order was cancelled.")),
}

SENTENCES: Mapping[Situation, Words] = {
    Situation.RECEIVED: lazy(
        "It’s safe with us, and we’ll start on it in a moment. You can close this page."
    ),
    Situation.WORKING: lazy(
        "There’s nothing you need to do. You can close this page and come back to it at any time."
    ),
    Situation.DECLINED: lazy(
        "Nothing has been charged, and we’re keeping your posters for you. Choose another way to pay."
    ),
    Situation.STOPPED: lazy(
        "We’ve alerted our team, and they’ll let you know. You won’t be charged twice, and there’s nothing"
        " you need to do."
    ),
    Situation.CANCELLING: lazy(
        "We’re waiting for the warehouse, the payment service and the carrier to confirm it."
        " There’s nothing you need to do."
    ),
    Situation.CANCEL_STUCK: lazy("Someone on our team is taking care of the rest and will let you know."),
}

DECLINED_AGAIN: Words = lazy(
    "This payment was declined too, and nothing has been charged. We’re keeping your posters for you."
    " Choose another way to pay."
)
ALL_DONE: Words = lazy("It’s paid for and with the carrier. We’ve emailed you a confirmation.")
DONE: Words = lazy("Everything is done.")
LATE: Words = lazy(
    "This is taking longer than we promised, and we’re sorry. Your order is safe and we’re still working on it."
)
USUAL: Words = lazy("This usually takes about {usual}.")

RETRY_OF_PAYMENT: Words = lazy(
    "We’re retrying the payment. You won’t be charged twice, and there’s nothing you need to do."
)
RETRIES: Mapping[str, Words] = {
    "reserve-stock": lazy(
        "Our warehouse is slow to answer, so we’re asking again. There’s nothing you need to do."
    ),
    "authorise-payment": RETRY_OF_PAYMENT,
    "create-shipment": lazy(
        "The carrier is slow to answer, so we’re asking again. There’s nothing you need to do."
    ),
    "capture-payment": RETRY_OF_PAYMENT,
    "send-confirmation": lazy(
        "Everything is done except the confirmation email, which we’re sending again. There’s nothing you need to do."
    ),
}
RETRY_OF_OTHERS: Words = lazy(
    "One step didn’t work the first time, so we’re trying it again. There’s nothing you need to do."
)

PLACED: Words = lazy("We have your order")
FORWARD_STAGES: tuple[tuple[Words, tuple[str, ...]], ...] = (
    (lazy("Stock reserved and payment approved"), ("reserve-stock", "authorise-payment")),
    (lazy("Handed to the carrier"), ("create-shipment",)),
    (lazy("Paid"), ("capture-payment",)),
    (lazy("Confirmed by email"), ("send-confirmation",)),
)
"""The stages of an order on its way forward, each with the steps that it stands for."""
NOT_NEEDED: Words = lazy("{stage} (not needed)")
CANCELLED_BY_CUSTOMER: Words = lazy("You cancelled it")
CANCELLED_BY_US: Words = lazy("Cancelled by us")
CHARGE_STAGES: Mapping[ChargeState, Words] = {
    ChargeState.CHARGED: lazy("{amount} refunded"),
    ChargeState.UNCERTAIN: lazy("{amount} refunded if it was taken"),
    ChargeState.RESERVED: lazy("{amount} released, nothing charged"),
    ChargeState.NOTHING: lazy("Nothing charged"),
}
CANCELLATION_CONFIRMED: Words = lazy("Everything cancelled and confirmed by email")
STAGE_STATES: Mapping[str, Words] = {
    "done": lazy("done"),
    "now": lazy("in progress"),
    "retry": lazy("trying again"),
    "stop": lazy("held up"),
    "later": lazy("to come"),
}


def cancellation(tracked: TrackedOrder, *, amount: str, is_over: bool) -> list[str]:
    """Says why the order is cancelled, and what happens to the money."""
    return [why_cancelled(tracked), refund(tracked, amount=amount, is_over=is_over)]


def why_cancelled(tracked: TrackedOrder) -> str:
    """Says who cancelled the order and why."""
    request = tracked.occurrences.get((EventKind.COMPENSATION_REQUESTED, ""))
    why = request.detail.get("why") if request else None
    if why == Reason.CUSTOMER_CANCELLED:
        return _("You cancelled it.")
    if why == Reason.CUSTOMER_DID_NOT_RESOLVE:
        return _("Your card was declined, and we didn’t get another payment in time.")
    return _("We couldn’t fulfil it, and we’re sorry.")


def refund(tracked: TrackedOrder, *, amount: str, is_over: bool) -> str:
    """Says what was or will be refunded."""
    match charge_state(tracked), is_over:
        case ChargeState.CHARGED, True:
            text = _("We’ve refunded {amount}. Your bank may take a few days to show it.")
        case ChargeState.CHARGED, False:
            text = _("We’ll refund {amount}.")
        case ChargeState.UNCERTAIN, True:
            text = _(
                "If {amount} was taken, we’ve refunded all of it. Your bank may take a few days to show it."
            )
        case ChargeState.UNCERTAIN, False:
            text = _("If {amount} was taken, we’ll refund all of it.")
        case ChargeState.RESERVED, True:
            text = _("Nothing was charged, and the {amount} reserved on your card has been released.")
        case ChargeState.RESERVED, False:
            text = _("Nothing was charged, and the {amount} reserved on your card will be released.")
        case _, _:
            text = _("Nothing was charged.")
    return text.format(amount=amount)
