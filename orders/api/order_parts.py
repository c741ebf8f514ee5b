"""How much of an order is returned: the members that `fields` names and `expand` adds."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.paging import LARGEST_PAGE, OrderPartsQuery, OrderQuery, next_url, read_query
from orders.api.rendering import write_members
from orders.api.representations import (
    NOBODY,
    EventPageOut,
    OrderOut,
    OrderSummaryOut,
    Out,
    ProgressOut,
    order_link,
)
from orders.fields.locales import reader_locale
from orders.selectors import order_lists, tracked_orders
from orders.selectors import orders as order_selectors
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.listed_orders import PARTS
from orders.selectors.order_numbers import orders_with_number
from orders.selectors.refusals import names_in_refusal
from orders.selectors.selections import Selection
from orders.wording.customers.progress import progress

WHOLE: Mapping[str, Any] = {"fields": [], "expand": []}
"""What a query without parameters asks for."""


def list_orders(request: Request, *, customer_id: int) -> Response:
    """A page of the client's orders that the request's query selects. Raises `ProblemError`."""
    query = read_query(OrderQuery, request)
    names = _names(OrderSummaryOut, query, PARTS)
    page = order_lists.order_list(
        Selection(
            customer_id=customer_id,
            limit=query["page_size"],
            before=query["cursor"],
            placed_after=query["placed_after"],
            placed_before=query["placed_before"],
            states=query["state"],
            ids=_numbered(query["number"]),
            subject=query["subject"],
            reference=query["reference"],
            metadata=query["metadata"],
            waiting_for=query["waiting_for"],
            step=query["step"],
            updated_after=query["updated_after"],
            sku=query["sku"],
            total_at_least=query["total_at_least"],
            total_at_most=query["total_at_most"],
            currency=query["currency"],
        ),
        parts=[part for part in PARTS if part in names],
    )
    members = OrderSummaryOut.members(names)
    results = [write_members(members, order) for order in page.items]
    following = next_url(request, "cursor", page.next) if page.next else None
    return Response({"results": results, "next": following})


def _numbered(number: str) -> Sequence[UUID]:
    """The ids to look for: those of the orders with this number, or of no order if none has it."""
    return (orders_with_number(number) or [NOBODY]) if number else ()


def read_parts(request: Request) -> Mapping[str, Any]:
    """What a request for one order asks for. Raises `ProblemError`."""
    return read_query(OrderPartsQuery, request) if request.query_params else WHOLE


def order_body(order: CustomerOrder, parts: Mapping[str, Any], *, reader_id: int | None) -> dict[str, Any]:
    """An order with the parts that are asked for, for the account of this id; for an operator without one."""
    names = _names(OrderOut, parts, OrderOut.added)
    body = write_members(OrderOut.members(names), order)
    if "events" in names:
        body["events"] = _first_events(order.id, reader_id)
    if "progress" in names:
        body["progress"] = progress_body(order.id, reader_id)
    return body


def progress_body(order_id: UUID, reader_id: int | None) -> dict[str, Any]:
    """What an order's customer reads of it. Raises `NotFound`."""
    tracked = tracked_orders.order_of_customer(order_id=order_id, customer_id=reader_id)
    if tracked is None:
        raise NotFound
    names = names_in_refusal(tracked.order)
    present = progress(tracked, now=tracked.seen_at, locale=reader_locale(), usual=None, names=names)
    return ProgressOut.render(present)


def _first_events(order_id: UUID, reader_id: int | None) -> dict[str, Any]:
    page = order_selectors.order_events(order_id=order_id, customer_id=reader_id, after=0, limit=LARGEST_PAGE)
    if page is None:
        raise NotFound
    following = f"{order_link('order-events', order_id)}?after={page.items[-1].id}" if page.has_more else None
    return EventPageOut.render({"results": page.items, "next": following})


def _names(kind: type[Out], query: Mapping[str, Any], expandable: Collection[str]) -> set[str]:
    """The names of the members that a query asks for."""
    named = query["fields"] or [name for name in kind.member_names() if name not in expandable]
    return {*named, *query["expand"]}
