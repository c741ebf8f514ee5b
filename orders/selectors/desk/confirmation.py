"""What an operator has to type before a whole order is undone: the amount, if money goes back to the customer."""

from dataclasses import dataclass
from uuid import UUID

from orders.fields.money import Money
from orders.models import Order, StepState
from orders.vocabulary import Outcome
from orders.workflow.customer_steps import POINT_OF_NO_RETURN

WORD = "undo"


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """`typed` is what is to be typed; `amount`, in minor units of `currency`, what goes back, or None."""

    typed: str
    amount: int | None = None
    currency: str = ""


def confirmation(order_id: UUID) -> Confirmation:
    """What is to be typed before an order is undone. Two queries.

    Money that may have been taken counts as taken: an outcome that nobody knows is undone too.
    """
    paid = StepState.objects.filter(
        process_id=order_id, name=POINT_OF_NO_RETURN, outcome__in=[Outcome.DONE, Outcome.UNKNOWN]
    )
    order = Order.objects.filter(pk=order_id).only("total", "currency").first()
    if order is None or not paid.exists():
        return Confirmation(typed=WORD)
    return Confirmation(
        typed=figures(order.total, order.currency), amount=order.total, currency=order.currency
    )


def figures(amount: int, currency: str) -> str:
    """An amount in minor units in plain figures, as everybody can type it: 39.00."""
    return Money(amount=amount, currency=currency).figures
