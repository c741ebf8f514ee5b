"""The log of clients' requests: for the client itself, and by order or by ID for operators."""

from collections.abc import Sequence
from uuid import UUID

from orders.models import LoggedRequest
from orders.selectors.paging import Page, page_of

REFUSED = 400
"""The least status of a request that was refused."""
SHOWN = 20
"""Requests that an order's page shows."""


def requests_of(
    customer_id: int,
    *,
    order_id: UUID | None,
    code: str | None,
    is_refused: bool | None,
    before: int | None,
    limit: int,
) -> Page[LoggedRequest]:
    """What a client has asked, newest first: all, or only about an order, refused with a code, or refused at all."""
    rows = LoggedRequest.objects.filter(customer_id=customer_id).order_by("-id")
    if order_id is not None:
        rows = rows.filter(order_ids__contains=[order_id])
    if code is not None:
        rows = rows.filter(code=code)
    if is_refused is not None:
        rows = rows.filter(status__gte=REFUSED) if is_refused else rows.filter(status__lt=REFUSED)
    if before is not None:
        rows = rows.filter(id__lt=before)
    return page_of(list(rows[: limit + 1]), limit)


def find_request(request_id: str, *, customer_id: int) -> LoggedRequest | None:
    """The newest of a client's requests with this ID: a client may give several the same."""
    rows = LoggedRequest.objects.filter(request_id=request_id, customer_id=customer_id)
    return rows.order_by("-id").first()


def requests_about(order_id: UUID) -> Sequence[LoggedRequest]:
    """The first requests about an order, the oldest first; the one that placed it is the first."""
    return list(LoggedRequest.objects.filter(order_ids__contains=[order_id]).order_by("id")[:SHOWN])


def order_of_request(request_id: str) -> UUID | None:
    """The first order that a request with this ID was about, whoever sent it; the newest request counts."""
    rows = LoggedRequest.objects.filter(request_id=request_id, order_ids__len__gt=0).order_by("-id")
    order_ids = rows.values_list("order_ids", flat=True).first()
    return order_ids[0] if order_ids else None
