"""How the print shop fulfils an order: the steps, their order, and the data that each agent gets.

    reserve-stock ──────┐
                        ├─▶ create-shipment ─▶ capture-payment ─▶ send-confirmation
    authorise-payment ──┘

The `data` functions read the description that `orders.workflow.intake` accepted.
"""

from functools import partial
from typing import Any

from orders.engine.contracts import Compensation, Json, Remedy, Step, Workflow

NAME = "fulfil-order"
VERSION = 1

MAIL_WAITS = Remedy(extended_waits=3, wait=120.0, then="error")
"""By now the order is paid for and sent. The email is worth waiting for, but never worth compensating the order
for."""


def fulfil_order(
    *,
    order_complete_by: float,
    step_complete_by: float,
    customer_wait: float,
    patience: float = 86_400.0,
    key_retention: float = 7 * 86_400.0,
) -> Workflow:
    """Declares the workflow `fulfil-order`, version 1, with an installation's time limits in seconds.

    No remedy here compensates the order. If a remote service keeps failing, an operator decides, while the stock and
    the money are still held. An order is compensated if its customer does not resolve a declined payment within
    `customer_wait`, or if the customer or an operator asks for it. A step waits up to `patience` for an agent that is
    down. `key_retention` is how long the warehouse, the payment gateway and the carrier recognise keys. A mail server
    recognises none for certain, and cannot be asked; an email that is sent twice does no harm.
    """
    timed = partial(Step, complete_by=step_complete_by, patience=patience)
    keyed = partial(timed, key_retention=key_retention)
    steps = (
        keyed(name="reserve-stock", agent="warehouse", operation="reserve", data=reservation),
        keyed(
            name="authorise-payment",
            agent="payments",
            operation="authorise",
            data=authorisation,
            customer_wait=customer_wait,
            editable=("payment_method",),
        ),
        keyed(
            name="create-shipment",
            agent="carrier",
            operation="create",
            data=shipment,
            after=("reserve-stock", "authorise-payment"),
            editable=("ship_to",),
        ),
        keyed(
            name="capture-payment",
            agent="payments",
            operation="capture",
            data=amount,
            after=("create-shipment",),
            needs=("authorise-payment",),
        ),
        timed(
            name="send-confirmation",
            agent="mail",
            operation="confirm",
            data=confirmation,
            after=("capture-payment",),
            needs=("create-shipment",),
            remedy=MAIL_WAITS,
            compensation=Compensation.NOTICE,
            editable=("email",),
        ),
    )
    return Workflow(name=NAME, version=VERSION, complete_by=order_complete_by, steps=steps)


def reservation(order: Json) -> Json:
    """Returns what the warehouse gets: the products and their quantities."""
    return {"lines": _quantities(order)}


def amount(order: Json) -> Json:
    """Returns the amount to be paid, in minor units."""
    return {"amount": order["total"], "currency": order["currency"]}


def authorisation(order: Json) -> Json:
    """Returns what the payment gateway gets: the amount, and the gateway's own token for the payment method."""
    return {**amount(order), "payment_method": order["payment_method"]}


def shipment(order: Json) -> Json:
    """Returns what the carrier gets: the quantities and the address. No price and no email."""
    return {"lines": _quantities(order), "ship_to": dict(order["ship_to"])}


def confirmation(order: Json) -> Json:
    """Returns what the emails to the customer say, and where they go."""
    return {key: order[key] for key in ("email", "lines", "total", "currency", "ship_to")}


def _quantities(order: Json) -> list[dict[str, Any]]:
    return [{"sku": line["sku"], "quantity": line["quantity"]} for line in order["lines"]]
