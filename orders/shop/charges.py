"""What has happened to a customer's money, as far as is known. Pure."""

from enum import Enum, auto

from orders.selectors.customer_order import CustomerStep
from orders.selectors.tracked_orders import TrackedOrder
from orders.shop.fulfilment import PAYMENT, POINT_OF_NO_RETURN
from orders.vocabulary import StepStatus


class ChargeState(Enum):
    """How far the charge of an order got before the order was cancelled."""

    NOTHING = auto()
    RESERVED = auto()
    UNCERTAIN = auto()
    """The payment was sent, and it is not yet known whether the money was taken."""
    CHARGED = auto()


def charge_state(tracked: TrackedOrder) -> ChargeState:
    """How far the charge of this order got."""
    steps = {step.name: step for step in tracked.order.steps}
    capture, authorise = steps.get(POINT_OF_NO_RETURN), steps.get(PAYMENT)
    if capture and capture.completed_at:
        return ChargeState.CHARGED
    if capture and capture.attempts:
        return ChargeState.UNCERTAIN
    return ChargeState.RESERVED if authorise and _may_be_reserved(authorise) else ChargeState.NOTHING


def _may_be_reserved(authorise: CustomerStep) -> bool:
    was_declined = authorise.state == StepStatus.FAILED and bool(authorise.error)
    return authorise.attempts > 0 and (bool(authorise.completed_at) or not was_declined)


def is_returned(tracked: TrackedOrder) -> bool:
    """Whether all the money has been returned."""
    steps = [step for step in tracked.order.steps if step.name in (PAYMENT, POINT_OF_NO_RETURN)]
    return all(
        step.state == StepStatus.COMPENSATED or (step.state == StepStatus.FAILED and not step.completed_at)
        for step in steps
        if step.attempts
    )
