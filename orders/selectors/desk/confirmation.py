"""What an operator types to confirm a compensation: the amount, if money goes back to the customer. And whether orders
can have taken any, on which what the act is called depends.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.business.editing import charging_steps, charging_workflows
from orders.fields.money import Money
from orders.models import Order, OrderProcess, StepState
from orders.vocabulary import Outcome

WORD = "cancel"


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """`typed` is the text to type; `amount`, in minor units of `currency`, goes back to the customer if any does.

    `has_money` says whether the order can have taken any at all.
    """

    typed: str
    has_money: bool = False
    amount: int | None = None
    currency: str = ""


def confirmation(order_id: UUID) -> Confirmation:
    """What to type before an order is compensated. Three queries.

    Money that may have been taken counts as taken: a step with an unknown outcome is compensated too.
    """
    process = OrderProcess.objects.filter(pk=order_id).values_list("workflow", "version").first()
    charging = charging_steps(*process) if process else ()
    paid = StepState.objects.filter(
        process_id=order_id, name__in=charging, outcome__in=[Outcome.DONE, Outcome.UNKNOWN]
    )
    order = Order.objects.filter(pk=order_id).only("total", "currency").first()
    if order is None or order.total is None or not charging:
        return Confirmation(typed=WORD)
    if not paid.exists():
        return Confirmation(typed=WORD, has_money=True)
    return Confirmation(
        typed=figures(order.total, order.currency),
        has_money=True,
        amount=order.total,
        currency=order.currency,
    )


def has_money(*, total: int | None, workflow: str, version: int) -> bool:
    """Whether an order can have taken money: it has a value, and a step that takes it."""
    return total is not None and bool(charging_steps(workflow, version))


def have_money(order_ids: Sequence[UUID]) -> bool:
    """Whether any of these orders can have taken money. One query, or none if no workflow takes any."""
    names = charging_workflows()
    if not names:
        return False
    valued = Order.objects.filter(pk__in=order_ids, total__isnull=False).values("pk")
    return OrderProcess.objects.filter(pk__in=valued, workflow__in=names).exists()


def confirms(typed: str, order_id: UUID) -> bool:
    """Whether this is what is to be typed. Capitals and spaces do not matter. Three queries."""
    return typed.replace(" ", "").strip().lower() == confirmation(order_id).typed


def figures(amount: int, currency: str) -> str:
    """An amount in minor units in plain figures, as everybody can type it: 39.00."""
    return Money(amount=amount, currency=currency).figures
