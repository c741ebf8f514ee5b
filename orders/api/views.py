"""The REST API: each view reads its request, calls once, and renders."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import documentation as documented
from orders.api import representations as out
from orders.api import requests as read
from orders.api.paging import LARGEST_ID, Query
from orders.api.problems import ProblemError
from orders.api.waiting import ROOM
from orders.selectors import catalogue, response_queues
from orders.selectors import orders as selectors
from orders.selectors.order_view import OrderView
from orders.services import customers as customer_services
from orders.services import placing
from orders.services.order_lock import NoSuchOrderError
from orders.services.orders import acknowledge_status
from orders.services.placing import (
    KeyReusedError,
    MixedCurrenciesError,
    NewLine,
    PlacedOrder,
    UnknownProductError,
)
from orders.services.results import ResultStatus
from orders.vocabulary import ProcessState


class Products(APIView):
    """The catalogue."""

    permission_classes = (AllowAny,)

    @extend_schema(**documented.LIST_PRODUCTS)
    def get(self, request: Request) -> Response:
        query = Query(request, "cursor", "page_size")
        page = catalogue.products(after=query.text("cursor"), limit=query.limit())
        following = query.next_page(page, "cursor", page.items[-1].sku if page.items else "")
        return Response(out.ProductPageOut({"results": page.items, "next": following}).data)


class ProductDetail(APIView):
    """One product."""

    permission_classes = (AllowAny,)

    @extend_schema(**documented.GET_PRODUCT)
    def get(self, request: Request, sku: str) -> Response:
        product = catalogue.product(sku)
        if product is None:
            raise NotFound
        return Response(out.ProductOut(product).data)


class Orders(APIView):
    """The client's orders."""

    @extend_schema(**documented.LIST_ORDERS)
    def get(self, request: Request) -> Response:
        query = Query(request, "state", "placed_after", "cursor", "page_size")
        page = selectors.orders(
            customer_id=read.client_id(request),
            state=query.choice("state", list(ProcessState)),
            placed_after=query.moment("placed_after"),
            before=query.uuid("cursor"),
            limit=query.limit(),
        )
        following = query.next_page(page, "cursor", page.items[-1].id if page.items else "")
        return Response(out.OrderPageOut({"results": page.items, "next": following}).data)

    @extend_schema(**documented.PLACE_ORDER)
    def post(self, request: Request) -> Response:
        placed = _place(request)
        order = _order(request, placed.order_id)
        response = _render_order(order, status=202)
        response["Location"] = out.order_url(placed.order_id)
        response["Retry-After"] = "1"
        if placed.replayed:
            response["Idempotent-Replayed"] = "true"
        return response


class OrderDetail(APIView):
    """One order, and how far it is."""

    @extend_schema(**documented.GET_ORDER)
    def get(self, request: Request, order_id: UUID) -> Response:
        order = _order(request, order_id)
        known = read.read_known_versions(request)
        wait = read.read_wait(request)
        has_waited = False
        if wait and _is_known(order, known, default={order.version}):
            seen = order.version
            has_waited = ROOM.wait(
                lambda: selectors.order_version(order_id) != seen, request=request, seconds=wait
            )
            order = _order(request, order_id)
        if _is_known(order, known, default=set()):
            response = _with_version(Response(status=304), order)
        else:
            response = _render_order(order, status=200)
        if has_waited:
            response["Preference-Applied"] = f"wait={wait}"
        return response


class OrderCancellation(APIView):
    """Having an order undone."""

    @extend_schema(**documented.CANCEL_ORDER)
    def post(self, request: Request, order_id: UUID) -> Response:
        _order(request, order_id)
        try:
            result = customer_services.cancel(
                order_id=order_id, by=selectors.client_of(read.client_id(request))
            )
        except NoSuchOrderError as error:
            raise ProblemError("cannot_be_cancelled", "The order has not been taken up yet.") from error
        if result.status is ResultStatus.REFUSED:
            raise ProblemError("cannot_be_cancelled")
        return _render_order(_order(request, order_id), status=202)


class OrderEvents(APIView):
    """What has happened to an order."""

    @extend_schema(**documented.LIST_EVENTS)
    def get(self, request: Request, order_id: UUID) -> Response:
        query = Query(request, "after", "page_size")
        page = selectors.order_events(
            order_id=order_id,
            customer_id=read.client_id(request),
            after=query.whole("after", 0, lowest=0, highest=LARGEST_ID),
            limit=query.limit(),
        )
        if page is None:
            raise NotFound
        following = query.next_page(page, "after", page.items[-1].id if page.items else "")
        return Response(out.EventPageOut({"results": page.items, "next": following}).data)


class QueueMessages(APIView):
    """The messages on one of the client's response queues."""

    @extend_schema(**documented.LIST_MESSAGES)
    def get(self, request: Request, name: str) -> Response:
        query = Query(request, "after", "page_size", "wait")
        queue = response_queues.queue_of(read.client_id(request), name)
        after = query.whole("after", 0, lowest=0, highest=LARGEST_ID)
        limit = query.limit()
        if wait := query.whole("wait", 0, lowest=0, highest=read.LONGEST_WAIT):
            ROOM.wait(
                lambda: response_queues.has_messages(queue=queue, after=after), request=request, seconds=wait
            )
        page = response_queues.queue_messages(queue=queue, after=after, limit=limit)
        following = query.next_page(page, "after", page.items[-1].id if page.items else "")
        return Response(out.MessagePageOut({"results": page.items, "next": following}).data)


class QueueMessage(APIView):
    """One message on a response queue."""

    @extend_schema(**documented.DELETE_MESSAGE)
    def delete(self, request: Request, name: str, message_id: int) -> Response:
        queue = response_queues.queue_of(read.client_id(request), name)
        if not acknowledge_status(queue=queue, message_id=min(message_id, LARGEST_ID)):
            raise NotFound
        return Response(status=204)


class UnknownRoute(APIView):
    """Answers where the API has nothing."""

    @extend_schema(exclude=True)
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound


def _place(request: Request) -> PlacedOrder:
    """Places the order in a request, with the service's refusals as problems."""
    order = read.read_order(request)
    key = read.read_idempotency_key(request)
    try:
        return placing.place_order(
            client=selectors.client_of(read.client_id(request)), order=order, idempotency_key=key
        )
    except UnknownProductError as error:
        raise ProblemError("validation_failed", errors=_unknown_products(order.lines, error.skus)) from error
    except MixedCurrenciesError as error:
        errors = [{"pointer": "/lines", "detail": str(error)}]
        raise ProblemError("validation_failed", errors=errors) from error
    except KeyReusedError as error:
        raise ProblemError("idempotency_key_reused") from error


def _unknown_products(lines: Sequence[NewLine], unknown: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"pointer": f"/lines/{index}/sku", "detail": "There is no such product."}
        for index, line in enumerate(lines)
        if line.sku in unknown
    ]


def _order(request: Request, order_id: UUID) -> OrderView:
    order = selectors.order(order_id=order_id, customer_id=read.client_id(request))
    if order is None:
        raise NotFound
    return order


def _is_known(order: OrderView, known: set[str] | None, *, default: set[str]) -> bool:
    """Whether the client has this version; `default` are those of one that does not say."""
    versions = default if known is None else known
    return order.version in versions or "*" in versions


def _render_order(order: OrderView, *, status: int) -> Response:
    return _with_version(Response(out.OrderOut(order).data, status=status), order)


def _with_version(response: Response, order: OrderView) -> Response:
    response["ETag"] = read.etag(order.version)
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ("Authorization",))
    return response
