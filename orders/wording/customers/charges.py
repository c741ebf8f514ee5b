"""What has happened to a customer's money, as far as is known."""

from collections.abc import Sequence
from datetime import datetime

from babel import Locale

from orders.business.editing import charging_steps, customer_words, reserving_steps
from orders.business.words import GENERAL_CHARGES, Charge, ChargeWords
from orders.engine.branches import declared_name
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import Outcome, StepStatus
from orders.wording.customers.saying import say_amount
from orders.wording.customers.times import done_at, reversed_at

MAY_HAVE_BEGUN = frozenset({Outcome.UNKNOWN.value, Outcome.DONE.value})
"""The outcomes of a step that has an effect to reverse, or may have one."""


def charge_words(order: CustomerOrder) -> ChargeWords | None:
    """What is said of an order's money; None if it has no value, or none of its steps takes that."""
    if order.total is None or not steps_with_money(order):
        return None
    charge = charge_of(order)
    return customer_words(order.workflow).charges.get(charge, GENERAL_CHARGES[charge])


def refund_promise(order: CustomerOrder, *, locale: Locale) -> str:
    """What becomes of an order's money if it is cancelled now, in a sentence; empty if none is taken for it."""
    words = charge_words(order)
    return say_amount(words.promise, order, locale=locale) if words else ""


def present_charge(order: CustomerOrder, *, locale: Locale) -> str:
    """What is true of an order's money while it is held up or waits for its customer; empty if none is taken for it."""
    words = charge_words(order)
    if words is None:
        return ""
    general = GENERAL_CHARGES[charge_of(order)].meanwhile
    return say_amount(general if words.meanwhile is None else words.meanwhile, order, locale=locale)


def charge_of(order: CustomerOrder) -> Charge:
    """How far the charge of an order got: what was taken or reserved, whether or not it was returned since."""
    taken = {step.outcome for step in _taking_steps(order)}
    reserved = {step.outcome for step in _reserving_steps(order)}
    if Outcome.DONE in taken:
        return Charge.CHARGED
    if Outcome.UNKNOWN in taken:
        return Charge.UNCERTAIN
    if Outcome.DONE in reserved:
        return Charge.RESERVED
    return Charge.RESERVED_PERHAPS if Outcome.UNKNOWN in reserved else Charge.NOTHING


def charged_at(order: CustomerOrder, occurrences: Occurrences) -> datetime | None:
    """When the last of the money was taken, whether or not it was returned since; None if none was, or nobody knows."""
    taken = [step for step in _taking_steps(order) if step.outcome == Outcome.DONE]
    times = [at for step in taken if (at := done_at(step, occurrences))]
    return max(times, default=None)


def is_returned(order: CustomerOrder) -> bool:
    """Whether all the money has been returned."""
    return all(step.state == StepStatus.COMPENSATED for step in steps_to_return(order))


def returned_at(order: CustomerOrder, occurrences: Occurrences) -> datetime | None:
    """When the last of the money was returned; None if none was."""
    times = [at for step in steps_to_return(order) if (at := reversed_at(step, occurrences))]
    return max(times, default=None)


def steps_with_money(order: CustomerOrder) -> Sequence[CustomerStep]:
    """The steps that reserve an order's value or take it."""
    return [*_reserving_steps(order), *_taking_steps(order)]


def steps_to_return(order: CustomerOrder) -> Sequence[CustomerStep]:
    """The steps whose money is to be returned: that took it, or may have, and otherwise that reserved it."""
    was_to_be_taken = charge_of(order) in (Charge.CHARGED, Charge.UNCERTAIN)
    steps = _taking_steps(order) if was_to_be_taken else _reserving_steps(order)
    return [step for step in steps if step.outcome in MAY_HAVE_BEGUN]


def _taking_steps(order: CustomerOrder) -> Sequence[CustomerStep]:
    names = charging_steps(order.workflow, order.workflow_version)
    return [step for step in order.steps if declared_name(step.name) in names]


def _reserving_steps(order: CustomerOrder) -> Sequence[CustomerStep]:
    names = reserving_steps(order.workflow, order.workflow_version)
    return [step for step in order.steps if declared_name(step.name) in names]
