"""What an operator types to confirm a compensation: the amount, if money that was taken goes back to the customer."""

from dataclasses import dataclass
from uuid import UUID

from orders.fields.money import Money
from orders.selectors.desk.money_back import MoneyBack, money_back

WORD = "cancel"


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """`typed` is the text to type, and `back` is the money that cancelling gives back."""

    typed: str
    back: MoneyBack


def confirmation(order_id: UUID) -> Confirmation:
    """What to type before an order is compensated. Two queries."""
    back = money_back([order_id])
    taken = next(iter(back.charged), None)
    return Confirmation(typed=taken.figures if taken else WORD, back=back)


def confirms(typed: str, order_id: UUID) -> bool:
    """Whether this is what is to be typed. Capitals and spaces do not matter. Two queries."""
    return typed.replace(" ", "").strip().lower() == confirmation(order_id).typed


def figures(amount: int, currency: str) -> str:
    """An amount in minor units in plain figures, as everybody can type it: 39.00."""
    return Money(amount=amount, currency=currency).figures
