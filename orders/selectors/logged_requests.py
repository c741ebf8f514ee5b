"""The log of clients' requests: for the client itself, and by order or by ID for operators."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import CharField, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat

from orders.models import ArchivedOrder, LoggedRequest, Order, SetAside, SubmissionMessage
from orders.selectors.paging import Page, page_of

REFUSED = 400
"""The least status of a request that was refused."""
SHOWN = 20
"""Requests that an order's page shows."""


def requests_of(
    customer_id: int,
    *,
    request_id: str | None,
    order_id: UUID | None,
    code: str | None,
    is_refused: bool | None,
    before: int | None,
    limit: int,
) -> Page[LoggedRequest]:
    """What a client has asked, newest first: all, or only what has an ID, was about an order, was refused with a code,
    or was refused at all."""
    rows = LoggedRequest.objects.filter(customer_id=customer_id).order_by("-id")
    if request_id is not None:
        rows = rows.filter(request_id=request_id)
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


def requests_about(order_id: UUID, *, operators: QuerySet[User]) -> Page[LoggedRequest]:
    """The latest requests about an order, newest first: its own client's, and operators'. Anybody else can only have
    been refused, however often, and must not push those out."""
    name = Concat(Value("user:"), Cast("customer_id", CharField()))
    rows = LoggedRequest.objects.annotate(client=name).filter(
        Q(customer__in=operators.values("pk"))
        | Q(customer__in=Order.objects.filter(pk=order_id).values("customer"))
        | Q(customer__in=ArchivedOrder.objects.filter(pk=order_id).values("customer"))
        | Q(client__in=SubmissionMessage.objects.filter(order_id=order_id).values("client"))
        | Q(client__in=SetAside.objects.filter(order_id=order_id).values("client")),
        order_ids__contains=[order_id],
    )
    return page_of(list(rows.order_by("-id")[: SHOWN + 1]), SHOWN)


def requests_with_id(request_id: str) -> Page[LoggedRequest]:
    """The latest requests with this ID, whoever sent them and whether or not they were about an order, newest first."""
    rows = LoggedRequest.objects.filter(request_id=request_id).order_by("-id")
    return page_of(list(rows[: SHOWN + 1]), SHOWN)


def orders_of_request(request_id: str) -> Sequence[UUID]:
    """The orders that a request with this ID was about, whoever sent it; the newest request counts."""
    rows = LoggedRequest.objects.filter(request_id=request_id, order_ids__len__gt=0).order_by("-id")
    return rows.values_list("order_ids", flat=True).first() or ()
