"""What a cancelled order has given back to its customer, by the steps that were reversed. Pure."""

from collections.abc import Sequence

from orders.business.editing import charging_steps, reserving_steps
from orders.engine.branches import SEPARATOR
from orders.fields.money import Money
from orders.selectors.desk.money_back import NOTHING, MoneyBack
from orders.selectors.desk.order_detail import OrderFacts
from orders.selectors.desk.standing import StepFacts
from orders.vocabulary import Outcome, ProcessState, StepStatus


def money_returned(order: OrderFacts, steps: Sequence[StepFacts]) -> MoneyBack:
    """What a cancelled order gave back: charged, or only held. Nothing if it is not cancelled, or took nothing."""
    if order.state != ProcessState.COMPENSATED or not order.total or not order.currency:
        return NOTHING
    price = Money(amount=order.total, currency=order.currency)
    given_back = {
        step.name.partition(SEPARATOR)[0]
        for step in steps
        if step.state == StepStatus.COMPENSATED and step.outcome in (Outcome.DONE, Outcome.UNKNOWN)
    }
    if given_back & charging_steps(order.workflow, order.version):
        return MoneyBack(charged=(price,))
    if given_back & reserving_steps(order.workflow, order.version):
        return MoneyBack(held=(price,))
    return NOTHING
