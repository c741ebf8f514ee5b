"""The sentences in which a customer is told how far an order is."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders.selectors.order_page import TrackedOrder
from orders.storefront.money_moved import ChargeState, charge_state
from orders.workflow.customer_steps import CANCELLED, NOT_MENDED

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
    """How a situation is shown: the tone and icon of its status, a word for it, and the page's headline."""

    tone: str
    icon: str
    word: Words
    headline: Words


LOOKS: Mapping[Situation, Look] = {
    Situation.RECEIVED: Look("busy", "clock", lazy("Received"), lazy("Thank you. We have your order.")),
    Situation.WORKING: Look("busy", "running", lazy("In progress"), lazy("Thank you. We are working on it.")),
    Situation.RETRYING: Look("warn", "retry", lazy("Trying again"), lazy("A moment longer.")),
    Situation.DECLINED: Look("bad", "card", lazy("Waiting for you"), lazy("Your payment was declined.")),
    Situation.STOPPED: Look("warn", "warning", lazy("Being looked into"), lazy("We are looking into it.")),
    Situation.COMPLETE: Look("good", "done", lazy("Complete"), lazy("Your posters are on their way.")),
    Situation.CANCELLING: Look(
        "busy", "undo", lazy("Being cancelled"), lazy("We are cancelling your order.")
    ),
    Situation.CANCEL_STUCK: Look(
        "warn", "warning", lazy("Being looked into"), lazy("We are finishing your cancellation by hand.")
    ),
    Situation.CANCELLED: Look("idle", "undo", lazy("Cancelled"), lazy("Your order was cancelled.")),
}

SENTENCES: Mapping[Situation, Words] = {
    Situation.RECEIVED: lazy(
        "It is safe with us, and work on it begins in a moment. You may close this page."
    ),
    Situation.WORKING: lazy(
        "There is nothing for you to do. You may close this page; the address stays good."
    ),
    Situation.DECLINED: lazy(
        "Your bank said no, and nothing was charged. We keep your posters for you: choose another way to pay."
    ),
    Situation.STOPPED: lazy(
        "Something did not go as it should, and one of us takes care of it. You will be told. Nothing is charged"
        " twice, and there is nothing for you to do."
    ),
    Situation.CANCELLING: lazy(
        "It is finished when everybody who worked on it has confirmed that. There is nothing for you to do."
    ),
    Situation.CANCEL_STUCK: lazy("One of us takes care of the rest, and you will be told."),
}

DECLINED_AGAIN: Words = lazy(
    "This payment was declined as well, and nothing was charged. We keep your posters for you: choose another one."
)
ALL_DONE: Words = lazy("It is paid and handed to the carrier, and the confirmation is in your mailbox.")
DONE: Words = lazy("Everything about it is done.")

RETRY_OF_PAYMENT: Words = lazy(
    "We are retrying the payment. You will not be charged twice, and there is nothing for you to do."
)
RETRIES: Mapping[str, Words] = {
    "reserve-stock": lazy(
        "Our warehouse is slow to answer, so we are asking it again. Nothing for you to do."
    ),
    "authorise-payment": RETRY_OF_PAYMENT,
    "create-shipment": lazy("The carrier is slow to answer, so we are asking again. Nothing for you to do."),
    "capture-payment": RETRY_OF_PAYMENT,
    "send-confirmation": lazy(
        "Everything is done but the confirmation mail, which we are sending again. Nothing for you to do."
    ),
}
RETRY_OF_OTHERS: Words = lazy(
    "One step did not work at once, so we are trying it again. Nothing for you to do."
)


def cancellation(tracked: TrackedOrder, *, amount: str, is_over: bool) -> list[str]:
    """Why the order is undone, and what becomes of the money."""
    return [why_cancelled(tracked), refund(tracked, amount=amount, is_over=is_over)]


def why_cancelled(tracked: TrackedOrder) -> str:
    """Who wanted the order undone, in a sentence."""
    asked = tracked.noted.get(("undo_requested", ""))
    why = asked.detail.get("why") if asked else None
    if why == CANCELLED:
        return _("You cancelled it.")
    if why == NOT_MENDED:
        return _("The payment was declined, and no other was made in time.")
    return _("We could not fulfil it, and we are sorry.")


def refund(tracked: TrackedOrder, *, amount: str, is_over: bool) -> str:
    """What was or will be returned, in a sentence."""
    match charge_state(tracked), is_over:
        case ChargeState.CHARGED, True:
            text = _("{amount} was refunded. Your bank may take a few days to show it.")
        case ChargeState.CHARGED, False:
            text = _("{amount} will be refunded.")
        case ChargeState.UNCERTAIN, True:
            text = _(
                "If {amount} was taken, all of it was refunded. Your bank may take a few days to show it."
            )
        case ChargeState.UNCERTAIN, False:
            text = _("If {amount} was taken, all of it will be refunded.")
        case ChargeState.RESERVED, True:
            text = _("Nothing was charged, and {amount} that was reserved for it is free again.")
        case ChargeState.RESERVED, False:
            text = _("Nothing was charged, and {amount} that is reserved for it will be freed.")
        case _, _:
            text = _("Nothing was charged.")
    return text.format(amount=amount)
