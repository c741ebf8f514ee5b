"""Erases the customer of an order, whoever that is. See `orders.services.operators.erasure`."""

from uuid import UUID

from orders.models import ArchivedOrder, Order
from orders.services import audit
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.acts import already, refused
from orders.services.operators.erasure import BRIEF_SECONDS, erase
from orders.services.order_lock import NoSuchOrderError

WORD = "erase"
"""What confirms an erasure."""


def erase_customer_of(
    *, order_id: UUID, actor: Actor, reason: str, typed: str, seconds: float = BRIEF_SECONDS
) -> Result:
    """Erases everything about the customer of an inserted order, archived or not, if `WORD` was `typed`.

    What is refused says what would be erased, and is recorded without the reason, which may name her. Raises
    `NoSuchOrderError`.
    """
    email = _email_of(order_id)
    if not email:
        return already("Nothing is stored about a customer of this order.")
    if typed.strip().lower() == WORD:
        result = erase(email=email, actor=actor, reason=reason, seconds=seconds)
    else:
        result = erase(email=email, actor=actor, dry_run=True)
        if result.status is ResultStatus.DONE:
            result = refused(f"To confirm, send the word {WORD}. {result.message}")
    if result.status is ResultStatus.REFUSED:
        audit.record(
            actor=actor, act="erase", target=f"order {order_id}", result=result.message, allowed=False
        )
    return result


def _email_of(order_id: UUID) -> str:
    for orders in (Order.objects, ArchivedOrder.objects):
        email = orders.filter(pk=order_id).values_list("email", flat=True).first()
        if email is not None:
            return email
    raise NoSuchOrderError(f"Order {order_id} does not exist, or is not inserted.")
