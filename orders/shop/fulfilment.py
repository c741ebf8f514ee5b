"""How the print shop fulfils an order: the steps, their order, and the data that each agent gets.

    reserve-stock ──────┐
                        ├─▶ create-shipment ─▶ capture-payment ─▶ send-confirmation
    authorise-payment ──┘

The `data` functions read what `orders.shop.description` made of an order's data.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from orders.business import Compensation, Json, Remedy, ResultField, Step, Workflow
from orders.shop.time_limits import TimeLimits

NAME = "fulfil-order"
VERSION = 1
RESERVATION = "reserve-stock"
"""The step in which the warehouse gives each print of a numbered edition its number."""
SHIPMENT = "create-shipment"
"""The step in which the carrier takes the parcel."""
PAYMENT = "authorise-payment"
"""The step that a customer can resolve by choosing another way to pay."""
POINT_OF_NO_RETURN = "capture-payment"
"""Once this step has been dispatched, the customer can no longer cancel: the money may have been taken."""

MAIL_WAITS = Remedy(extended_waits=3, wait=120.0, then="error")
"""By now the order is paid for and sent. The email is worth waiting for, but never worth compensating the order
for."""
AUTHORISATION = ResultField(name="authorisation", label="The gateway's id of the authorisation")
"""Without it nothing can be captured."""
TRACKING = ResultField(name="tracking", label="Tracking number")
"""The confirmation tells the customer."""


def fulfil_order(limits: TimeLimits) -> Workflow:
    """Declares the workflow `fulfil-order`, version 1, with an installation's time limits.

    No remedy here compensates the order. If a remote service keeps failing, an operator decides, while the stock and
    the money are still held. An order is compensated if its customer does not resolve a declined payment in time, or if
    the customer or an operator asks for it. A mail server recognises no keys for certain, and cannot be asked; an email
    that is sent twice does no harm.
    """
    timed = partial(Step, complete_by=limits.step_complete_by, patience=limits.patience)
    keyed = partial(timed, key_retention=limits.key_retention)
    steps = (
        *_preparation(keyed, limits),
        keyed(
            name=SHIPMENT,
            agent="carrier",
            operation="create",
            data=shipment,
            after=(RESERVATION, PAYMENT),
            result=(TRACKING,),
            customer_wait=limits.customer_wait,
            editable=("ship_to",),
            customer_editable=("ship_to",),
        ),
        keyed(
            name=POINT_OF_NO_RETURN,
            agent="payments",
            operation="capture",
            data=amount,
            after=(SHIPMENT,),
            needs=(PAYMENT,),
            is_point_of_no_return=True,
            takes_value=True,
        ),
        timed(
            name="send-confirmation",
            agent="mail",
            operation="confirm",
            data=confirmation,
            after=(POINT_OF_NO_RETURN,),
            needs=(SHIPMENT,),
            remedy=MAIL_WAITS,
            compensation=Compensation.NOTICE,
            editable=("email",),
        ),
    )
    return Workflow(name=NAME, version=VERSION, complete_by=limits.order_complete_by, steps=steps)


def _preparation(keyed: Callable[..., Step], limits: TimeLimits) -> tuple[Step, ...]:
    """What is held for the customer before anything is sent. She can resolve what is refused of it."""
    return (
        keyed(
            name=RESERVATION,
            agent="warehouse",
            operation="reserve",
            data=reservation,
            customer_wait=limits.customer_wait,
            customer_editable=("lines",),
        ),
        keyed(
            name=PAYMENT,
            agent="payments",
            operation="authorise",
            data=authorisation,
            result=(AUTHORISATION,),
            customer_wait=limits.customer_wait,
            declined_as="payment_declined",
            editable=("payment_method",),
            customer_editable=("payment_method",),
            customer_resubmits=True,
            reserves_value=True,
        ),
    )


def reservation(order: Json) -> Json:
    """Returns what the warehouse gets: the products and their quantities, and the size of each numbered edition, of
    which it hands out the numbers."""
    editions = [{"edition": line["edition"]} if "edition" in line else {} for line in order["lines"]]
    return {
        "lines": [{**line, **edition} for line, edition in zip(_quantities(order), editions, strict=True)]
    }


def amount(order: Json) -> Json:
    """Returns the amount to be paid, in minor units."""
    return {"amount": order["total"], "currency": order["currency"]}


def authorisation(order: Json) -> Json:
    """Returns what the payment gateway gets: the amount, and the gateway's own token for the payment method."""
    return {**amount(order), "payment_method": order["payment_method"]}


def shipment(order: Json) -> Json:
    """Returns what the carrier gets: the quantities, the address, and the note for the parcel if there is one. No
    price and no email."""
    note = {"gift_note": order["gift_note"]} if "gift_note" in order else {}
    return {"lines": _quantities(order), "ship_to": dict(order["ship_to"]), **note}


def confirmation(order: Json) -> Json:
    """Returns what the emails to the customer say, in which language, and where they go. They have no phone."""
    names = ("email", "lines", "delivery", "tax", "total", "currency", "ship_to", "gift_note", "language")
    facts = {name: order[name] for name in names if name in order}
    return {**facts, "ship_to": {part: text for part, text in order["ship_to"].items() if part != "phone"}}


def _quantities(order: Json) -> list[dict[str, Any]]:
    return [{"sku": line["sku"], "quantity": line["quantity"]} for line in order["lines"]]
