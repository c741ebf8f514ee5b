"""What of an order's money has moved, as far as is known. Pure."""

from enum import Enum, auto

from orders.selectors.order_page import TrackedOrder
from orders.selectors.order_view import StepView
from orders.vocabulary import StepStatus
from orders.workflow.customer_steps import PAYMENT, POINT_OF_NO_RETURN


class ChargeState(Enum):
    """What had become of the money when the order was to be undone."""

    NOTHING = auto()
    RESERVED = auto()
    UNCERTAIN = auto()
    """It was asked for, and nobody knows yet whether it was taken."""
    CHARGED = auto()


def charge_state(tracked: TrackedOrder) -> ChargeState:
    """What is to be returned, or was."""
    steps = {step.name: step for step in tracked.order.steps}
    capture, authorise = steps.get(POINT_OF_NO_RETURN), steps.get(PAYMENT)
    if capture and capture.completed_at:
        return ChargeState.CHARGED
    if capture and capture.attempts:
        return ChargeState.UNCERTAIN
    return ChargeState.RESERVED if authorise and _is_or_may_be_reserved(authorise) else ChargeState.NOTHING


def _is_or_may_be_reserved(step: StepView) -> bool:
    was_declined = step.state == StepStatus.FAILED and bool(step.error)
    return step.attempts > 0 and (bool(step.completed_at) or not was_declined)


def is_returned(tracked: TrackedOrder) -> bool:
    """Whether nothing of the money is left to be returned."""
    owed = (PAYMENT, POINT_OF_NO_RETURN)
    steps = [step for step in tracked.order.steps if step.name in owed and step.attempts]
    return all(
        step.state == StepStatus.COMPENSATED or (step.state == StepStatus.FAILED and not step.completed_at)
        for step in steps
    )
