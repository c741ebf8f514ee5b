"""What has happened to a customer's money, as far as is known."""

from collections.abc import Sequence
from datetime import datetime

from babel import Locale

from orders.business.editing import charging_steps, customer_words, reserving_steps
from orders.business.words import GENERAL_CHARGES, Charge, ChargeWords
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind, StepStatus
from orders.wording.customers.situations import is_declined
from orders.wording.units import money


def charge_words(order: CustomerOrder) -> ChargeWords | None:
    """What is said of an order's money; None if it has no value, or none of its steps takes that."""
    if order.total is None or not _steps_with_money(order):
        return None
    charge = charge_of(order)
    return customer_words(order.workflow).charges.get(charge, GENERAL_CHARGES[charge])


def refund_promise(order: CustomerOrder, *, locale: Locale) -> str:
    """What becomes of an order's money if it is cancelled now, in a sentence; empty if none is taken for it."""
    words = charge_words(order)
    return (
        str(words.promise).format(amount=money(order.total, locale=locale)) if words and order.total else ""
    )


def charge_of(order: CustomerOrder) -> Charge:
    """How far the charge of an order got."""
    taking, reserving = _taking_steps(order), _reserving_steps(order)
    if any(step.completed_at for step in taking):
        return Charge.CHARGED
    if any(step.attempts and not is_declined(step) for step in taking):
        return Charge.UNCERTAIN
    return Charge.RESERVED if any(_may_be_reserved(step) for step in reserving) else Charge.NOTHING


def is_returned(order: CustomerOrder) -> bool:
    """Whether all the money has been returned."""
    return all(
        step.state == StepStatus.COMPENSATED or (step.state == StepStatus.FAILED and not step.completed_at)
        for step in _steps_with_money(order)
        if step.attempts
    )


def returned_at(order: CustomerOrder, occurrences: Occurrences) -> datetime | None:
    """When the last of the money was returned; None if none was."""
    times = [
        occurrence.at
        for step in _steps_with_money(order)
        if (occurrence := occurrences.get((EventKind.STEP_COMPENSATED, step.name)))
    ]
    return max(times, default=None)


def _may_be_reserved(step: CustomerStep) -> bool:
    was_declined = step.state == StepStatus.FAILED and bool(step.error)
    return step.attempts > 0 and (bool(step.completed_at) or not was_declined)


def _steps_with_money(order: CustomerOrder) -> Sequence[CustomerStep]:
    return [*_reserving_steps(order), *_taking_steps(order)]


def _taking_steps(order: CustomerOrder) -> Sequence[CustomerStep]:
    names = charging_steps(order.workflow, order.workflow_version)
    return [step for step in order.steps if declared_name(step.name) in names]


def _reserving_steps(order: CustomerOrder) -> Sequence[CustomerStep]:
    names = reserving_steps(order.workflow, order.workflow_version)
    return [step for step in order.steps if declared_name(step.name) in names]
