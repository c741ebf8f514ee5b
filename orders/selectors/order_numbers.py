"""Finds orders by their numbers."""

from collections.abc import Sequence
from uuid import UUID

from orders.fields.order_numbers import value_of
from orders.models import SubmissionKey
from orders.models.channel import NUMBER


def orders_with_number(number: str) -> Sequence[UUID]:
    """The ids of the orders with this number, as `read_number` returns it, wherever they are. One statement.

    There is one, or none. Only of orders that were placed before there were numbers, two may have the same.
    """
    value = value_of(number)
    numbered = SubmissionKey.objects.alias(number=NUMBER).order_by().values_list("order_id", flat=True)
    own, shared = (numbered.filter(number=value, shares_number=shares) for shares in (False, True))
    return list(dict.fromkeys(own.union(shared, all=True)))
