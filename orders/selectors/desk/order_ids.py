"""Which orders a part of an id refers to."""

from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Replace, Reverse

from orders.models import ArchivedOrder, OrderProcess, SetAside, SubmissionMessage

LEAST_ENDING = 4
LEAST_BEGINNING = 8
"""Digits: the ids of orders that are placed without a key begin with their time, those of one minute with the same
eight digits."""
MOST_ALIKE = 500
"""Orders with the same digits at the beginning or the end of their ids that a search for those digits finds."""


def orders_like(digits: str, *, most: int = 6) -> list[UUID]:
    """Orders and submissions whose ids end with these hexadecimal digits, or begin with eight or more of them.

    At most six queries.
    """
    lowest, highest = _id_range(digits)
    alike = {*ids_like(digits)[:most], *archived_ids_like(digits)[:most]}
    for model in (SubmissionMessage, SetAside):
        text = Replace(Cast(F("order_id"), TextField()), Value("-"), Value(""), output_field=TextField())
        is_alike = Q(text__endswith=digits)
        if len(digits) >= LEAST_BEGINNING:
            is_alike |= Q(order_id__range=(lowest, highest))
        submissions = model.objects.annotate(text=text).filter(is_alike)
        alike |= set(submissions.values_list("order_id", flat=True)[:most])
    return sorted(alike)[:most]


def ids_like(digits: str) -> list[UUID]:
    """The orders whose ids end or begin with these digits, each by its own index."""
    return _ids_like(OrderProcess.objects.all(), digits)


def archived_ids_like(digits: str) -> list[UUID]:
    """The same among archived orders."""
    return _ids_like(ArchivedOrder.objects.all(), digits)


def _ids_like(orders: QuerySet[Any], digits: str) -> list[UUID]:
    lowest, highest = _id_range(digits)
    if lowest == highest:
        return [lowest]
    by_ending = orders.annotate(
        backwards=Reverse(Cast(F("order_id"), TextField()), output_field=TextField())
    ).filter(backwards__startswith=_as_written(digits)[::-1])
    ids = list(by_ending.values_list("order_id", flat=True)[:MOST_ALIKE])
    if len(digits) >= LEAST_BEGINNING:
        by_beginning = orders.filter(order_id__range=(lowest, highest)).order_by("-order_id")
        ids += by_beginning.values_list("order_id", flat=True)[:MOST_ALIKE]
    return ids


def _id_range(digits: str) -> tuple[UUID, UUID]:
    """The lowest and the highest id that begin with these digits."""
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


def _as_written(digits: str) -> str:
    """The last digits of an id with the hyphens between them."""
    whole = digits.rjust(32, "x")
    parts = [whole[:8], whole[8:12], whole[12:16], whole[16:20], whole[20:]]
    return "-".join(parts).lstrip("x-")
