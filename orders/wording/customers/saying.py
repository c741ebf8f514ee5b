"""A kind's words, said of one of its orders: with how many things it is of, and with its value."""

from typing import Any, cast

from babel import Locale

from orders.business.words import Words
from orders.selectors.customer_order import CustomerOrder
from orders.wording.units import money


def pieces_of(order: CustomerOrder) -> int:
    """How many things an order is of, by which its customer's words are singular or plural. Without lines it is one."""
    return sum(line.quantity for line in order.lines) or 1


def say(words: Words | None, order: CustomerOrder, **values: Any) -> str:
    """The words in the reader's language, in the form that the number of things takes; empty for None.

    `{pieces}` stands for that number, and each of `values` for itself.
    """
    return "" if words is None else str(cast("str", words).format(pieces=pieces_of(order), **values))


def say_amount(words: Words | None, order: CustomerOrder, *, locale: Locale) -> str:
    """The same for words in which `{amount}` stands for the order's value."""
    return say(words, order, amount=money(order.total, locale=locale) if order.total else "")
