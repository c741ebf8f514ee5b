"""`POST orders/batch`: many orders at once, each of which stands alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api import problems, requests
from orders.api.documentation import NEW_ORDER, ORDER_ID, is_open_to_clients
from orders.api.fields import Strict, Token
from orders.api.problems import ProblemError
from orders.api.rate_limits import count
from orders.api.representations import LinkOut, Out, order_url
from orders.api.request_log import note_orders
from orders.api.scopes import MissingScopeError
from orders.api.throttling import subjects_of_orders
from orders.business.batch_placing import KeyedOrder, Outcome
from orders.business.placing import KeyReusedError, PostedOrder, ReferenceTakenError
from orders.selectors.orders import client_of
from orders.services.placing import place_orders
from orders.vocabulary import TokenScope

MOST_ORDERS = 100
ACCEPTED = 202


@extend_schema_field(requests.ORDER_SCHEMA)
class AnyOrder(serializers.JSONField):
    """An order, which is read by itself."""


class BatchOrderIn(Strict):
    """An order of a batch: the body that `place_order` takes, with the key that it takes as a header."""

    idempotency_key = Token(
        pattern=requests.SENT_KEY,
        message=(
            f"This must be 1 to {requests.LONGEST_KEY} printable ASCII characters, the first and the last no space."
        ),
        max_length=requests.LONGEST_KEY,
        help_text="A key that you choose, as `place_order` takes it.",
    )
    order = AnyOrder()


@extend_schema_field(BatchOrderIn(many=True))
class BatchOrders(serializers.ListField):
    """Orders, each of which is read by itself."""


class BatchIn(Strict):
    """Orders to be placed."""

    orders = BatchOrders(min_length=1, max_length=MOST_ORDERS)


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What has become of an order of a batch. `key` is None if it could not be read."""

    key: str | None
    status: int
    order_id: UUID | None = None
    is_replayed: bool | None = None
    problem: Mapping[str, Any] | None = None

    @property
    def links(self) -> Mapping[str, str] | None:
        """The URL of the order, if there is one."""
        return {"self": order_url(self.order_id)} if self.order_id else None


@extend_schema_field({"$ref": "#/components/schemas/Problem"})
class ProblemMember(serializers.DictField):
    """A problem as a part of an answer."""


class BatchResultOut(Out):
    """What has become of an order of a batch. `status` is what `place_order` would have answered: with 202 there are
    `order_id`, `replayed`, which says whether an earlier request or order had placed it, and `links`; with any other
    there is a `problem`, which has its place in the whole body. `idempotency_key` is left out if it could not be
    read."""

    sparse = ("idempotency_key", "order_id", "replayed", "links", "problem")

    idempotency_key = serializers.CharField(source="key", required=False)
    status = serializers.IntegerField()
    order_id = serializers.UUIDField(required=False)
    replayed = serializers.BooleanField(source="is_replayed", required=False)
    links = LinkOut(required=False)
    problem = ProblemMember(required=False)


class BatchOut(Out):
    """One result for each order of a batch, in the same order."""

    results = BatchResultOut(many=True)


def _examples() -> Iterator[OpenApiExample]:
    if is_open_to_clients():
        order = {"idempotency_key": "invoice-1001", "order": NEW_ORDER}
        yield OpenApiExample("One order", {"orders": [order]}, request_only=True)
        result = {
            "idempotency_key": "invoice-1001",
            "status": ACCEPTED,
            "order_id": ORDER_ID,
            "replayed": False,
        }
        links = {"self": f"/api/v1/orders/{ORDER_ID}"}
        yield OpenApiExample("Placed", {"results": [{**result, "links": links}]}, response_only=True)


PLACE_ORDERS: dict[str, Any] = {
    "operation_id": "place_orders",
    "summary": "Place up to 100 orders at once",
    "description": (
        "Each order has an idempotency key and stands alone: one that is refused stops no other, and what becomes of "
        "each is what `place_order` with its key would have answered. So look at each of the `results`: a 200 response "
        "means only that there is one for each order, and that what was accepted is stored safely, all of it in one "
        "transaction. If the response is lost or is 503, repeat the whole batch: what was placed is then replayed.\n\n"
        "A batch counts as many times as it has orders. One with more than a limit allows at once is accepted when "
        "nothing else has been counted, and you wait for the rest of it afterwards."
    ),
    "tags": ["orders"],
    "request": BatchIn,
    "responses": {200: OpenApiResponse(BatchOut, description="What has become of each order.")},
    "examples": list(_examples()),
}


class OrderBatch(APIView):
    """Places many orders at once."""

    scope = TokenScope.ORDERS

    @extend_schema(**PLACE_ORDERS)
    def post(self, request: Request) -> Response:
        items = BatchIn.read(request.data)["orders"]
        account, token = subjects_of_orders(request)
        for subject in (token, account):  # what one token may not place must not be counted for the others
            count(request, each=[subject], number=len(items))
        readings = [_read(request, number, item) for number, item in enumerate(items)]
        outcomes = place_orders([reading for reading in readings if isinstance(reading, KeyedOrder)])
        note_orders(request, list(dict.fromkeys(filter(None, map(_order_of, outcomes)))))
        following = iter(outcomes)
        results = [
            _result(request, number, reading.key, next(following))
            if isinstance(reading, KeyedOrder)
            else reading
            for number, reading in enumerate(readings)
        ]
        return Response(BatchOut.render({"results": results}))


def _read(request: Request, number: int, item: Any) -> KeyedOrder | BatchResult:
    """An order of a batch, or the result of one that cannot be read."""
    key, place = None, f"/orders/{number}"
    try:
        values = _read_members(request, item)
        key, place = values["idempotency_key"], _place_of(number)
        client = client_of(requests.client_id(request))
        return KeyedOrder(client, key, requests.read_order(request, values["order"]))
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001 - of this order, whatever it is; the others go on
        return _refused(request, key, error, place=place)


def _read_members(request: Request, item: Any) -> Any:
    """What `BatchOrderIn` has. If one of them is wrong, the mistakes in the order are told with it."""
    try:
        return BatchOrderIn.read(item)
    except ValidationError as error:
        errors = list(problems.pointed(error.detail))
        if isinstance(item, Mapping) and item.get("order") is not None:
            errors += _mistakes_in(request, item["order"])
        raise ProblemError("validation_failed", errors=errors) from error


def _mistakes_in(request: Request, order: Any) -> Sequence[dict[str, str]]:
    try:
        requests.read_order(request, order)
    except (ValidationError, ProblemError) as error:
        mistakes: Sequence[dict[str, str]] = problems.body_of(error, request, place="/order").get(
            "errors", ()
        )
        return mistakes
    except MissingScopeError:
        return ()  # it is said once everything else is right
    return ()


def _result(request: Request, number: int, key: str, outcome: Outcome) -> BatchResult:
    if isinstance(outcome, PostedOrder):
        return BatchResult(key=key, status=ACCEPTED, order_id=outcome.order_id, is_replayed=outcome.replayed)
    return _refused(request, key, requests.refusal(outcome), place=_place_of(number))


def _order_of(outcome: Outcome) -> UUID | None:
    """The order that was placed, or the one for which another was refused."""
    if isinstance(outcome, PostedOrder | KeyReusedError | ReferenceTakenError):
        return outcome.order_id
    return None


def _refused(request: Request, key: str | None, error: Exception, *, place: str) -> BatchResult:
    problem = problems.body_of(error, request, place=place)
    return BatchResult(key=key, status=problem["status"], problem=problem)


def _place_of(number: int) -> str:
    """The JSON pointer to an order."""
    return f"/orders/{number}/order"
