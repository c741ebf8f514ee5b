"""The REST API. Each view reads its request, makes one call, and renders the result."""

import re
from collections.abc import Collection
from typing import Any, ClassVar
from uuid import UUID

from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, override
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import documentation, representations, requests
from orders.api.acceptance import acceptance_headers
from orders.api.fields import Strict, shared
from orders.api.order_parts import list_orders, order_body, progress_body, read_parts
from orders.api.paging import (
    EventQuery,
    read_query,
    render_page,
)
from orders.api.preferences import read_wait
from orders.api.problems import ProblemError, bad_values
from orders.api.request_log import note_orders
from orders.api.waiting import WaitingView, hold, is_resumed
from orders.business import BadOrderError
from orders.business.placing import CannotBePlacedError, KeyReusedError, ReferenceTakenError
from orders.engine.errors import SaswebError
from orders.fields.money import Money
from orders.selectors import orders as order_selectors
from orders.selectors.customer_order import CustomerOrder
from orders.services import customers as customer_services
from orders.services import placing
from orders.services.act_results import ResultStatus
from orders.services.corrections import TotalError
from orders.services.order_lock import NoSuchOrderError
from orders.services.placing import PlacedOrder
from orders.vocabulary import Goal, ProcessState, TokenScope


class Orders(APIView):
    """The client's orders."""

    scope = TokenScope.ORDERS

    @extend_schema(**documentation.LIST_ORDERS)
    def get(self, request: Request) -> Response:
        return list_orders(request, customer_id=requests.client_id(request))

    @extend_schema(**documentation.PLACE_ORDER)
    def post(self, request: Request) -> Response:
        placed = _place(request)
        note_orders(request, [placed.order_id])
        order = placed.view or _order(placed.order_id, requests.client_id(request))
        response = _render_order(order, status=202)
        for name, value in acceptance_headers(order).items():
            response[name] = value
        if placed.replayed:
            response["Idempotent-Replayed"] = "true"
        return response


class OrderDetail(WaitingView):
    """One order and its progress."""

    @extend_schema(**documentation.GET_ORDER)
    def get(self, request: Request, order_id: UUID) -> Response:
        reader, parts = requests.reader_id(request.auth), read_parts(request)
        order = _order(order_id, reader)
        known_versions = requests.read_known_versions(request)
        wait = read_wait(request)
        has_waited = is_resumed(request)
        awaited = set() if order.is_finished else {order.version}
        if wait and _is_known(order, known_versions, default=awaited):
            has_waited = hold(request, order_id, version=order.version, seconds=wait)
        if _is_known(order, known_versions, default=set()):
            response = _with_version(Response(status=304), order)
        else:
            response = _with_version(Response(order_body(order, parts, reader_id=reader)), order)
        if has_waited:
            response["Preference-Applied"] = f"wait={wait}"
        return response


class OrderCancellation(APIView):
    """Cancels an order."""

    scope = TokenScope.ORDERS

    @extend_schema(**documentation.CANCEL_ORDER)
    def post(self, request: Request, order_id: UUID) -> Response:
        client = requests.client_id(request)
        order = _order(order_id, client)
        if order.is_archived and order.goal == Goal.COMPENSATE:
            return _render_order(order, status=202)
        try:
            result = customer_services.cancel(order_id=order_id, by=order_selectors.client_of(client))
        except NoSuchOrderError as error:  # it is archived
            raise ProblemError("cannot_be_cancelled") from error
        if result.status is ResultStatus.REFUSED:
            raise ProblemError("cannot_be_cancelled", result.message)
        return _render_order(_order(order_id, client), status=202)


class OrderChange(APIView):
    """Changes what a declined step asks for, and tries it again. A business has a subclass for each such change.

    The fields of its `body` are those that the step lets its customer change; what is not sent stays as it is.
    """

    scope = TokenScope.ORDERS
    body: ClassVar[type[Strict]]

    def post(self, request: Request, order_id: UUID) -> Response:
        return self.change(request, order_id)

    def read_changes(self, request: Request, order: CustomerOrder) -> tuple[dict[str, Any], Collection[str]]:
        """The new values of fields in a request, and the names of all fields that it could have. Raises
        `ValidationError` and `BadOrderError`."""
        return self.body.read(request.data), shared(self.body).fields

    def read_agreed(self, request: Request, order: CustomerOrder) -> Money | None:
        """The total that the client agrees to; None if it says nothing of it. Called after `read_changes`."""
        return None

    def change(self, request: Request, order_id: UUID, *, where: str = "") -> Response:
        """Makes the change. `where` is where in the body the values are. Raises `ProblemError`."""
        client = requests.client_id(request)
        order = _order(order_id, client)
        try:
            changes, fields = self.read_changes(request, order)
        except BadOrderError as error:
            raise bad_values(error, where) from error
        if order.is_archived or order.goal == Goal.COMPENSATE:
            raise _unchangeable(order)
        try:
            result = customer_services.resolve(
                order_id=order_id,
                changes=changes,
                fields=fields,
                by=order_selectors.client_of(client),
                agreed=self.read_agreed(request, order),
            )
        except NoSuchOrderError as error:
            raise _unchangeable(_order(order_id, client)) from error
        except BadOrderError as error:
            raise bad_values(error, where) from error
        if result.cause is not None:
            raise _refused_change(result.cause)
        if result.status is ResultStatus.REFUSED:
            raise ProblemError("being_cancelled")
        if result.status is ResultStatus.ALREADY:
            raise _nothing_to_change(_order(order_id, client))
        return _render_order(_order(order_id, client), status=202)


class OrderEvents(APIView):
    """An order's events."""

    @extend_schema(**documentation.LIST_EVENTS)
    def get(self, request: Request, order_id: UUID) -> Response:
        query = read_query(EventQuery, request)
        page = order_selectors.order_events(
            order_id=order_id,
            customer_id=requests.reader_id(request.auth),
            after=query["after"],
            limit=query["page_size"],
        )
        if page is None:
            raise NotFound
        return render_page(
            representations.EventPageOut, request, page, key=lambda event: event.id, parameter="after"
        )


class OrderProgress(APIView):
    """What an order's customer reads of it."""

    @extend_schema(**documentation.GET_PROGRESS)
    def get(self, request: Request, order_id: UUID) -> Response:
        language = get_language_from_request(request)
        with override(language):
            body = progress_body(order_id, requests.reader_id(request.auth))
        response = Response(body, headers={"Content-Language": language})
        patch_vary_headers(response, ("Accept-Language",))
        return response


NO_SUCH_URL = "There is no such url. /api/docs/ lists those that there are; none of them ends with a slash."

NUMBER_IN_URL = re.compile(r"/api/v1/orders/([0-9A-Za-z]{4}-?[0-9A-Za-z]{4})(?=/|$)")
BY_NUMBER = "An order’s url has its ID. Find it with `GET /api/v1/orders?number={number}`."


class UnknownRoute(APIView):
    """Responds with `not_found` to any other URL under /api/."""

    @extend_schema(exclude=True)
    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        number = NUMBER_IN_URL.match(request.path_info)
        raise ProblemError("not_found", BY_NUMBER.format(number=number[1]) if number else NO_SUCH_URL)

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}  # no method is allowed on what does not exist


def _place(request: Request) -> PlacedOrder:
    """Places the order in a request, and turns the service's refusals into problems."""
    order = requests.read_order(request, request.data)
    key = requests.read_idempotency_key(request)
    client = order_selectors.client_of(requests.client_id(request))
    try:
        return placing.place_order(client=client, order=order, idempotency_key=key)
    except (KeyReusedError, ReferenceTakenError) as error:
        note_orders(request, [error.order_id])
        raise requests.refusal(error) from error
    except (CannotBePlacedError, BadOrderError) as error:
        raise requests.refusal(error) from error


def _order(order_id: UUID, customer_id: int | None) -> CustomerOrder:
    order = order_selectors.order(order_id=order_id, customer_id=customer_id)
    if order is None:
        raise NotFound
    return order


def _refused_change(cause: SaswebError) -> ProblemError:
    """Why a change is refused that could be made at another time, or for another total."""
    if not isinstance(cause, TotalError):
        return ProblemError("act_refused", str(cause))
    total = {"total": representations.MoneyOut.render(cause.total)} if cause.total else {}
    return ProblemError("total_not_agreed", str(cause), members=total)


def _nothing_to_change(order: CustomerOrder) -> ProblemError:
    """Why a change is refused that no step waits for, though another one may."""
    detail = (
        "No step waits for what this changes. `correctable` of the order says what can be changed now. If you have"
        " sent this before, it was accepted: read the order."
    )
    return ProblemError("not_waiting_for_customer", detail if order.correctable else "")


def _unchangeable(order: CustomerOrder) -> ProblemError:
    """Why nothing of an order can be changed that is not inserted, is being cancelled or is archived."""
    if order.goal == Goal.COMPENSATE:
        return ProblemError("being_cancelled")
    detail = ""
    if order.state == ProcessState.PENDING:
        detail = "Nothing of the order has been tried yet. Wait until `waiting_for` is `customer`."
    elif order.error:
        detail = (
            "The order could not be inserted, and nothing of it is tried until an operator has seen to it."
        )
    return ProblemError("not_waiting_for_customer", detail)


def _is_known(order: CustomerOrder, known_versions: set[str] | None, *, default: set[str]) -> bool:
    """Whether the client has this version. `default` replaces `known_versions` when the client sent none."""
    versions = default if known_versions is None else known_versions
    return order.version in versions or "*" in versions


def _render_order(order: CustomerOrder, *, status: int) -> Response:
    return _with_version(Response(representations.OrderOut.render(order), status=status), order)


def _with_version(response: Response, order: CustomerOrder) -> Response:
    response["ETag"] = requests.etag(order.version)
    patch_vary_headers(response, ("Authorization",))
    return response
