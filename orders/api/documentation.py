"""What the OpenAPI document says about each operation, with examples."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    PolymorphicProxySerializer,
)

from orders.api import representations
from orders.api.answers import RefusalIn, ResultIn
from orders.api.own_words import METADATA_PARAMETER
from orders.api.paging import LONGEST_WAIT, EventQuery, OrderPartsQuery, OrderQuery
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.requests import LONGEST_KEY, ORDER_SCHEMA, SENT_KEY
from orders.business import registry
from orders.fields.order_numbers import spoken_number

NEW_ORDER = {
    "lines": [{"sku": "tidal-lines", "quantity": 2}],
    "ship_to": {
        "name": "Ada Lovelace",
        "street": "12 St James's Square",
        "city": "London",
        "postal_code": "SW1Y 4JH",
        "country": "GB",
    },
    "email": "ada@example.com",
    "payment_method": "card_ok",
}

ORDER_ID = "01936b1e-6f0c-7c2e-9f3a-3d8f0f6f2b11"
PENDING_ORDER = {
    "id": ORDER_ID,
    "number": spoken_number(UUID(ORDER_ID)),
    "workflow": "fulfil-order",
    "subject": "",
    "title": "2 × Tidal Lines",
    "version": "0-pending",
    "reference": "",
    "metadata": {},
    "state": "pending",
    "goal": "complete",
    "waiting_for": None,
    "waiting_until": None,
    "failure_count": 0,
    "complete_by": None,
    "placed_at": "2026-11-20T12:00:00.123456Z",
    "updated_at": "2026-11-20T12:00:00.123456Z",
    "total": {"amount": 7800, "currency": "EUR"},
    "lines": [
        {
            "sku": "tidal-lines",
            "title": "Tidal Lines",
            "quantity": 2,
            "unit_price": {"amount": 3900, "currency": "EUR"},
        }
    ],
    "steps": [],
    "links": {
        "self": f"/api/v1/orders/{ORDER_ID}",
        "events": f"/api/v1/orders/{ORDER_ID}/events",
        "progress": f"/api/v1/orders/{ORDER_ID}/progress",
        "stream": f"/api/v1/orders/{ORDER_ID}/stream",
    },
}


def _header(
    name: str, description: str, *, response: bool = False, is_sure: bool = False, **schema: Any
) -> OpenApiParameter:
    """A header of the request or, with `response`, of every success, which with `is_sure` always has it."""
    statuses = [200, 202, 304] if response else False
    return OpenApiParameter(
        name,
        {"type": "string", **schema},
        OpenApiParameter.HEADER,
        description=description,
        response=statuses,
        required=is_sure,
    )


def path_parameter(name: str, description: str, **schema: Any) -> OpenApiParameter:
    """A text in the path of an operation."""
    return OpenApiParameter(
        name, {"type": "string", **schema}, OpenApiParameter.PATH, description=description
    )


def is_open_to_clients() -> bool:
    """Whether clients may place an order such as `NEW_ORDER`."""
    kind = registry.find_kind(str(PENDING_ORDER["workflow"]))
    return kind is not None and kind.is_open_to_clients


def _examples() -> list[OpenApiExample]:
    """An order and its answer, where clients may place such an order."""
    if not is_open_to_clients():
        return []
    return [
        OpenApiExample("Two copies of a poster", NEW_ORDER, request_only=True),
        OpenApiExample("Accepted", PENDING_ORDER, response_only=True, status_codes=["202"]),
    ]


ETAG = _header(
    "ETag", "The version of the order.", response=True, is_sure=True, pattern='^W/"[0-9]+-[a-z]+"$'
)

LIST_ORDERS: dict[str, Any] = {
    "operation_id": "list_orders",
    "summary": "List your orders, newest first",
    "description": (
        "Each order is a summary, without its lines and steps. All conditions must be met. Follow `next` until it is "
        "null: a page ends early, perhaps without any result, when it has looked at many orders that do not match."
    ),
    "tags": ["orders"],
    "parameters": [OrderQuery, METADATA_PARAMETER],
    "responses": representations.OrderPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed"]},
}
PLACE_ORDER: dict[str, Any] = {
    "operation_id": "place_order",
    "summary": "Place an order",
    "description": (
        "A 202 response means that the order is stored safely; you can retrieve it at `Location` immediately. To retry "
        "safely when a response is lost, send an `Idempotency-Key`: the same key and body mean the same order for as "
        "long as that order can be retrieved, also when it is archived, and the response shows the order as it is now. "
        "Keys belong to an account: all of its tokens share them, and no other account does. So do references: a "
        "second order with a `reference`, under another key or none, is refused with `reference_taken`, which names "
        "the first."
    ),
    "tags": ["orders"],
    "parameters": [
        _header(
            "Idempotency-Key",
            "A key that you choose, such as a UUID: 1 to 255 printable ASCII characters. Only one.",
            minLength=1,
            maxLength=LONGEST_KEY,
            pattern=f"^{SENT_KEY}$",
        ),
        ETAG,
        _header("Location", "The URL of the order.", response=True, is_sure=True, format="uri-reference"),
        _header(
            "Retry-After",
            "In how many seconds a change is likely; left out once the order has finished.",
            response=True,
            type="integer",
            minimum=1,
        ),
        _header(
            "Idempotent-Replayed",
            "Sent if an earlier request with this key placed the order.",
            response=True,
            enum=["true"],
        ),
    ],
    "request": ORDER_SCHEMA,
    "responses": {202: OpenApiResponse(representations.OrderOut, description="The order has been accepted.")},
    "examples": _examples(),
    "extensions": {OPERATION_PROBLEMS: ["idempotency_key_reused", "reference_taken", "intake_paused"]},
}
GET_ORDER: dict[str, Any] = {
    "operation_id": "get_order",
    "summary": "Retrieve an order and its progress",
    "description": (
        "To follow an order without polling, send the last `ETag` that you received as `If-None-Match`, together with "
        "`Prefer: wait=30`. The response arrives as soon as the order changes, or after 30 seconds with status 304. "
        "Without `If-None-Match`, an order that is finished is returned at once. If too many requests wait already, "
        "the response is 429 with `Retry-After`."
    ),
    "tags": ["orders"],
    "parameters": [
        OrderPartsQuery,
        _header("If-None-Match", "The ETag of the version you have, several with commas, or `*` for any."),
        _header("Prefer", f"`wait=N` holds the response for up to N seconds, at most {LONGEST_WAIT}."),
        ETAG,
        _header(
            "Preference-Applied", "Sent if the response was held.", response=True, pattern="^wait=[0-9]+$"
        ),
    ],
    "responses": {
        200: representations.OrderOut,
        304: OpenApiResponse(description="You have the current version."),
    },
    "extensions": {OPERATION_PROBLEMS: ["not_found", "too_many_waiting"]},
}
FOLLOW_ORDER: dict[str, Any] = {
    "operation_id": "follow_order",
    "summary": "Follow an order",
    "description": (
        "Server-sent events: at once, and after each change, an event `order`. Its data is the order as `get_order` "
        "sends it, and its ID is the version. The stream ends after a minute. Reconnect with the last ID as "
        "`Last-Event-ID`, after the milliseconds in `retry`: you then receive the next newer version. "
        "After the last event of a finished order comes an event `end`, and whoever reconnects with its ID gets status "
        "204: do not reconnect. If too many streams are open already, the response is 429 with `Retry-After`."
    ),
    "tags": ["orders"],
    "parameters": [
        _header("Last-Event-ID", "The ID of the last event that you received."),
    ],
    "responses": {
        (200, "text/event-stream"): OpenApiResponse({"type": "string"}, description="The order's events."),
        204: OpenApiResponse(description="The order is finished, and you have its last version."),
    },
    "extensions": {OPERATION_PROBLEMS: ["not_found", "too_many_waiting"]},
}
CANCEL_ORDER: dict[str, Any] = {
    "operation_id": "cancel_order",
    "summary": "Cancel one of your orders",
    "description": (
        "Cancels an order, and refunds what was paid. You can cancel an order from the moment it is placed until its "
        "point of no return, and also one that could not be inserted. After a 202 response the order's `goal` is "
        "`compensate`; once everything is reversed, its `state` is `compensated`. Repeating the request has no "
        "further effect."
    ),
    "tags": ["orders"],
    "parameters": [ETAG],
    "request": None,
    "responses": {
        202: OpenApiResponse(representations.OrderOut, description="The order is being cancelled.")
    },
    "extensions": {OPERATION_PROBLEMS: ["not_found", "cannot_be_cancelled"]},
}
LIST_EVENTS: dict[str, Any] = {
    "operation_id": "list_order_events",
    "summary": "List an order's events, oldest first",
    "tags": ["orders"],
    "parameters": [EventQuery],
    "responses": representations.EventPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", "not_found"]},
}
GET_PROGRESS: dict[str, Any] = {
    "operation_id": "get_order_progress",
    "summary": "Retrieve what an order's customer reads of it",
    "description": (
        "For your own page of an order: where it is and its stages, in words for customers. They may change with time "
        "alone, when what was promised is late. `Accept-Language` chooses the language."
    ),
    "tags": ["orders"],
    "parameters": [_header("Accept-Language", "The languages that you understand, the best first.")],
    "responses": representations.ProgressOut,
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}
ANSWER_CALL: dict[str, Any] = {
    "operation_id": "answer_call",
    "summary": "Answer a call later",
    "description": (
        "For remote services that have taken a call and answer it later, once. The token in the URL is what they were "
        "given with the call, and the only proof that is asked for. Send either a `result`, a JSON object, or an "
        "`error`, which refuses the call for good. A result must hold the fields that the workflow declares; if it "
        "does not, `errors` names what is missing, and the token can still be used."
    ),
    "tags": ["callbacks"],
    "parameters": [path_parameter("token", "What came with the call.", minLength=1)],
    "request": PolymorphicProxySerializer(
        component_name="Answer", serializers=[ResultIn, RefusalIn], resource_type_field_name=None
    ),
    "responses": {204: OpenApiResponse(description="The answer has been taken.")},
    "extensions": {OPERATION_PROBLEMS: ["not_found", "already_answered", "too_late"]},
}
