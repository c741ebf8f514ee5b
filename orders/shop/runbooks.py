"""What operators read about the codes of the shop's own agents, and of the services that they call."""

from collections.abc import Mapping

from orders.business import Advice, Runbook
from orders.shop.agents.codes import NOT_SERVED, SOLD_OUT

IN_ERROR = "Nothing more is sent. The order is in Error and waits for a person."

RUNBOOKS: Mapping[str, Runbook] = {
    "bad_mail": Runbook(
        means="The email could not be written, because its data are not valid. Nothing was sent.",
        does=IN_ERROR,
        todo="Correct the email address by editing the step, or skip the step: the parcel is on its way by then.",
        advises=Advice.EDIT,
    ),
    "no_authorisation": Runbook(
        means="There is no authorisation of the payment to capture, so no money was taken.",
        does=IN_ERROR,
        todo="Look at the step authorise-payment. Settle it with the gateway’s authorisation, or cancel the order.",
        advises=Advice.SETTLE,
    ),
    "card_declined": Runbook(
        means="The customer’s bank declined the card. Nothing was charged.",
        does="The customer is asked for another card. If none comes in time, the order is cancelled.",
        todo="Nothing, unless many cards are declined at once. Then ask the payment gateway.",
    ),
    "unknown_payment_method": Runbook(
        means="The gateway does not know the payment method that the customer chose. Nothing was charged.",
        does="The customer is asked for another one. If none comes in time, the order is cancelled.",
        todo="Nothing, unless many orders have it. Then compare the checkout’s keys with the gateway’s.",
    ),
    SOLD_OUT: Runbook(
        means="The warehouse does not have enough of something in this order. Nothing was reserved.",
        does="The customer is asked whether she wants fewer, or to cancel. If she does nothing in time, the order is "
        "cancelled.",
        todo="Nothing, unless many orders have it. Then ask the warehouse, and stop selling what has run out.",
    ),
    NOT_SERVED: Runbook(
        means="The carrier does not deliver to this order’s address. Nothing was sent.",
        does="The customer is asked for another address. If none comes in time, the order is cancelled.",
        todo="Nothing, unless many orders have it. Then ask the carrier where it delivers.",
    ),
    "refused": Runbook(
        means="The service refused what this order asks for. It did nothing.",
        does=IN_ERROR,
        todo="Ask the service’s operators why. If our data is wrong, edit it and resubmit, or cancel the order.",
        advises=Advice.EDIT,
    ),
    "reversed": Runbook(
        means="This call was reversed before it happened, so the service will never carry it out.",
        does=IN_ERROR,
        todo="If the order should go on, resubmit it: the step then gets a new key.",
    ),
    "in_progress": Runbook(
        means="The service is still working on the first call for this step.",
        does="It is asked again with the same key until the call has ended.",
        todo="Nothing, unless it lasts. Then ask the service’s operators about the key.",
    ),
}
"""The texts by code."""
