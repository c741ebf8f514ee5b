"""Submissions that could not become orders and wait for an operator."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.models import SetAside
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.paging import Page, page_of

MOST = 100
"""Submissions on one page."""


@dataclass(frozen=True, kw_only=True)
class SetAsideSubmission:
    """A submission that was set aside. `body` is what was posted, which may be anything."""

    number: int
    order_id: UUID
    client: str
    reason: str
    posted_at: datetime
    set_aside_at: datetime
    body: Any


def set_aside_submissions(*, after: int = 0, most: int = MOST) -> Page[SetAsideSubmission]:
    """The submissions that wait for an operator, oldest first, above the number `after`. One query."""
    rows = SetAside.objects.filter(replayed_at__isnull=True, pk__gt=after).order_by("id")[: most + 1]
    return page_of([_submission(row) for row in rows], most)


def count_set_aside() -> int:
    """How many submissions wait for an operator, counted up to `MOST_COUNTED` + 1."""
    return bounded_count(SetAside.objects.filter(replayed_at__isnull=True))


def set_aside_submission(order_id: UUID) -> SetAsideSubmission | None:
    """The submission of this order, if it waits for an operator. One query."""
    row = SetAside.objects.filter(order_id=order_id, replayed_at__isnull=True).first()
    return _submission(row) if row else None


def was_set_aside(number: int) -> bool:
    """Whether a submission has been set aside under this number, replayed or not. One query."""
    return SetAside.objects.filter(pk=number).exists()


def _submission(row: SetAside) -> SetAsideSubmission:
    return SetAsideSubmission(
        number=row.pk,
        order_id=row.order_id,
        client=row.client,
        reason=row.reason,
        posted_at=row.posted_at,
        set_aside_at=row.set_aside_at,
        body=row.body,
    )
