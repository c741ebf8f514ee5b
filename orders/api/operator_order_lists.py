"""The operators' REST API of orders: lists with the console's filters, and all about one order."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_list_documentation as documentation
from orders.api import operator_order_representations as representations
from orders.api.operator_order_queries import (
    CompensationQuery,
    OrderSearchQuery,
    SearchPosition,
    SetAsideQuery,
    order_filter,
)
from orders.api.operator_views import OperatorView
from orders.api.paging import next_url, read_query, render_page
from orders.business import editing
from orders.selectors.database_clock import now
from orders.selectors.desk import archive_search
from orders.selectors.desk.archive_search import OrderList
from orders.selectors.desk.compensation import compensating_orders
from orders.selectors.desk.console_order import ConsoleOrder, ConsoleStep, console_order
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.set_aside import set_aside_submissions
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.logged_requests import orders_of_request
from orders.vocabulary import TokenScope


class OrdersView(OperatorView):
    """A view of everybody's orders, for tokens that may act on them. To any other of the account they do not exist."""

    reading_scope = TokenScope.OPERATE


class OrderSearch(OrdersView):
    """All orders, with the filters of the console's list."""

    @extend_schema(**documentation.SEARCH_ORDERS)
    def get(self, request: Request) -> Response:
        query = read_query(OrderSearchQuery, request)
        selected = order_filter(query)
        page = _page(selected, query)
        if page.is_empty and (requested := orders_of_request(selected.q)):
            page = _page(replace(selected, requested=requested), query)
        behind = page.after or page.archived_after
        return _render(request, page.orders, behind and SearchPosition(behind, page.after is None))


def _page(selected: OrderFilter, query: Mapping[str, Any]) -> OrderList:
    cursor = query["cursor"]
    return archive_search.page(
        selected,
        after=cursor.position if cursor and not cursor.is_archived else None,
        archived_after=cursor.position if cursor and cursor.is_archived else None,
        limit=query["page_size"],
        retry_limits=retry_limits(),
        now=now(),
    )


class Compensations(OrdersView):
    """The orders that are being compensated, and those whose compensation failed."""

    @extend_schema(**documentation.LIST_COMPENSATIONS)
    def get(self, request: Request) -> Response:
        query = read_query(CompensationQuery, request)
        page = compensating_orders(
            states=query["state"],
            after=query["cursor"],
            limit=query["page_size"],
            retry_limits=retry_limits(),
            now=now(),
        )
        return _render(request, page.orders, page.after)


def _render(request: Request, orders: list[Any], behind: object) -> Response:
    """A page of orders, whose next page begins there; None at the end."""
    following = next_url(request, "cursor", behind) if behind else None
    body = {"results": orders, "next": following}
    return Response(representations.ListedOrderPageOut.render(body))


class SetAsides(OrdersView):
    """The submissions that could not become orders."""

    @extend_schema(**documentation.LIST_SET_ASIDE)
    def get(self, request: Request) -> Response:
        query = read_query(SetAsideQuery, request)
        page = set_aside_submissions(after=query["cursor"] or 0, most=query["page_size"])
        return render_page(representations.SetAsidePageOut, request, page, key=lambda row: row.number)


class OrderDetails(OrdersView):
    """All about one order that only operators see."""

    @extend_schema(**documentation.GET_DETAILS)
    def get(self, request: Request, order_id: UUID) -> Response:
        order = console_order(order_id, retry_limits=retry_limits(), now=now())
        if order is None:
            raise NotFound
        return Response(representations.OrderDetailsOut.render(_details(order)))


def _details(order: ConsoleOrder) -> dict[str, Any]:
    detail = order.detail
    return {
        "id": detail.order_id,
        "process": detail.order,
        "steps": [_step(order, step) for step in order.steps],
        "alert": detail.alert and {**vars(detail.alert), "group": order.group},
        "act": order.act,
        "queued": detail.queued,
        "set_aside": detail.set_aside,
        "is_archived": detail.archived is not None,
        "acts": list(_acts(order)),
        "notes": detail.notes,
    }


def _acts(order: ConsoleOrder) -> Iterator[str]:
    """The operations that the console would offer on the order's page."""
    if order.can_resubmit:
        yield "resubmit_order"
    if order.can_hurry:
        yield "retry_order"
    if order.detail.order and not order.has_ended:
        yield "set_order_priority"
    if order.can_pause:
        yield "pause_order"
    if order.detail.order and order.detail.order.pause:
        yield "resume_order"
    if order.can_edit:
        yield "edit_order"
    if order.can_compensate:
        yield "compensate_order"
    if order.can_erase:
        yield "erase_customer"
    if order.detail.set_aside:
        yield "replay_submission"


def _step(order: ConsoleOrder, step: ConsoleStep) -> dict[str, Any]:
    process = order.detail.order
    assert process is not None
    place = (process.workflow, process.version, step.facts.name)
    editable = editing.editable(*place)
    offers = {
        "edit_step": step.can_edit and editable,
        "skip_step": step.can_skip and not editing.needed_by(*place),
        "settle_step": step.can_settle,
        "decide": step.choices,
    }
    return {
        **vars(step),
        "acts": [operation for operation, is_offered in offers.items() if is_offered],
        "editable": editable,
        "result_fields": editing.result_fields(*place),
    }
