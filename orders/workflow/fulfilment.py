"""What a paid order goes through in the print shop: the steps, in which order, and what each agent is told.

    reserve-stock ──────┐
                        ├─▶ create-shipment ─▶ capture-payment ─▶ send-confirmation
    authorise-payment ──┘

The description that the `data` functions read is the one that `orders.workflow.intake` accepted.
"""

from functools import partial
from typing import Any

from orders.engine.contracts import Compensation, Json, Remedy, Step, Workflow

NAME = "fulfil-order"
VERSION = 1

MAIL_WAITS = Remedy(extended_waits=3, wait=120.0, then="error")
"""By the time of the confirmation everything is paid and sent: a mail is waited for, and never undoes an order."""


def fulfil_order(
    *, order_complete_by: float, step_complete_by: float, customer_wait: float, patience: float = 86_400.0
) -> Workflow:
    """The workflow `fulfil-order`, version 1, with an installation's time limits in seconds.

    No remedy here is to undo the order: a remote service that fails again and again is for an operator to look at, with
    the stock and the money still held. An order is undone when its customer does not fix a declined payment within
    `customer_wait`, and when somebody asks for it. A step waits for an agent that is down for `patience`.
    """
    timed = partial(Step, complete_by=step_complete_by, patience=patience)
    steps = (
        timed(
            name="reserve-stock",
            agent="warehouse",
            operation="reserve",
            data=reservation,
        ),
        timed(
            name="authorise-payment",
            agent="payments",
            operation="authorise",
            data=authorisation,
            customer_wait=customer_wait,
            editable=("payment_method",),
        ),
        timed(
            name="create-shipment",
            agent="carrier",
            operation="create",
            data=shipment,
            after=("reserve-stock", "authorise-payment"),
            editable=("ship_to",),
        ),
        timed(
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
    """What the warehouse is told: how many of what."""
    return {"lines": _quantities(order)}


def amount(order: Json) -> Json:
    """How much is to be paid, in minor units."""
    return {"amount": order["total"], "currency": order["currency"]}


def authorisation(order: Json) -> Json:
    """What the payment gateway is told: how much, and by what token of its own."""
    return {**amount(order), "payment_method": order["payment_method"]}


def shipment(order: Json) -> Json:
    """What the carrier is told: what goes where. No price, no email."""
    return {"lines": _quantities(order), "ship_to": dict(order["ship_to"])}


def confirmation(order: Json) -> Json:
    """What the mails to the customer say, and to whom they go."""
    return {key: order[key] for key in ("email", "lines", "total", "currency", "ship_to")}


def _quantities(order: Json) -> list[dict[str, Any]]:
    return [{"sku": line["sku"], "quantity": line["quantity"]} for line in order["lines"]]
