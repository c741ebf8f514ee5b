"""What the OpenAPI document says of each operation, with examples."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from orders.api import representations as out
from orders.api.paging import LARGEST_PAGE, USUAL_PAGE
from orders.api.requests import LONGEST_WAIT, NewOrderIn
from orders.vocabulary import ProcessState

PROBLEMS = "x-problems"
"""The codes that an operation answers with besides those that any may; `orders.api.schema` makes responses of them."""

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
    "state": "pending",
    "goal": "complete",
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
    "links": {"self": f"/api/v1/orders/{ORDER_ID}", "events": f"/api/v1/orders/{ORDER_ID}/events"},
}


def _parameter(name: str, description: str, kind: Any = OpenApiTypes.STR, **options: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, **options)


def _header(name: str, description: str, *, response: bool = False) -> OpenApiParameter:
    statuses = [200, 202, 304] if response else False
    return OpenApiParameter(
        name, OpenApiTypes.STR, OpenApiParameter.HEADER, description=description, response=statuses
    )


CURSOR = _parameter("cursor", "Where a page begins. Follow `next` rather than making one.")
PAGE_SIZE = _parameter("page_size", f"1 to {LARGEST_PAGE}; {USUAL_PAGE} without.", OpenApiTypes.INT)
AFTER = _parameter("after", "Only those behind this id.", OpenApiTypes.INT)
ETAG = _header("ETag", "The order's version.", response=True)

LIST_PRODUCTS: dict[str, Any] = {
    "operation_id": "list_products",
    "summary": "The catalogue",
    "tags": ["products"],
    "parameters": [CURSOR, PAGE_SIZE],
    "responses": out.ProductPageOut,
    "extensions": {PROBLEMS: ["validation_failed"]},
}
GET_PRODUCT: dict[str, Any] = {
    "operation_id": "get_product",
    "summary": "One product",
    "tags": ["products"],
    "responses": out.ProductOut,
    "extensions": {PROBLEMS: ["not_found"]},
}
LIST_ORDERS: dict[str, Any] = {
    "operation_id": "list_orders",
    "summary": "Your orders, newest first",
    "tags": ["orders"],
    "parameters": [
        _parameter("state", "Only orders in this state.", enum=list(ProcessState)),
        _parameter("placed_after", "Only orders placed after this time.", OpenApiTypes.DATETIME),
        CURSOR,
        PAGE_SIZE,
    ],
    "responses": out.OrderPageOut,
    "extensions": {PROBLEMS: ["validation_failed"]},
}
PLACE_ORDER: dict[str, Any] = {
    "operation_id": "place_order",
    "summary": "Place an order",
    "description": (
        "Answered with 202 the order is safe, and can be read at once at `Location`. Send an `Idempotency-Key`, and an "
        "answer that was lost on the way can be asked for again: the same key and body always mean the same order."
    ),
    "tags": ["orders"],
    "parameters": [
        _header(
            "Idempotency-Key", "1 to 255 printable ASCII characters of your own making, a UUID for example."
        ),
        ETAG,
        _header("Location", "The order's address.", response=True),
        _header("Retry-After", "Seconds until it is worth looking.", response=True),
        _header("Idempotent-Replayed", "`true` when an earlier call had placed the order.", response=True),
    ],
    "request": NewOrderIn,
    "responses": {202: OpenApiResponse(out.OrderOut, description="The order is accepted.")},
    "examples": [
        OpenApiExample("A poster, twice", NEW_ORDER, request_only=True),
        OpenApiExample("Accepted", PENDING_ORDER, response_only=True, status_codes=["202"]),
    ],
    "extensions": {
        PROBLEMS: [
            "validation_failed",
            "body_too_large",
            "unsupported_media_type",
            "idempotency_key_reused",
        ]
    },
}
GET_ORDER: dict[str, Any] = {
    "operation_id": "get_order",
    "summary": "One order, and how far it is",
    "description": (
        "To follow an order without polling, send its last `ETag` as `If-None-Match` together with `Prefer: wait=30`: "
        "the answer comes as soon as something has happened, or after 30 seconds with 304."
    ),
    "tags": ["orders"],
    "parameters": [
        _header("If-None-Match", "The ETag of the version that you have."),
        _header("Prefer", f"`wait=N` holds the answer for up to N seconds, {LONGEST_WAIT} at most."),
        ETAG,
        _header("Preference-Applied", "`wait=N` when the answer was held.", response=True),
    ],
    "responses": {200: out.OrderOut, 304: OpenApiResponse(description="You have the present version.")},
    "extensions": {PROBLEMS: ["not_found"]},
}
CANCEL_ORDER: dict[str, Any] = {
    "operation_id": "cancel_order",
    "summary": "Cancel an order",
    "description": (
        "Has the order undone, which is possible until its payment is taken. Answered with 202 it is being undone; its "
        "`goal` is then `compensate`, and at the end its `state` is `compensated`. Asked again, the answer is the same."
    ),
    "tags": ["orders"],
    "parameters": [ETAG],
    "request": None,
    "responses": {202: OpenApiResponse(out.OrderOut, description="The order is being undone.")},
    "extensions": {PROBLEMS: ["not_found", "cannot_be_cancelled"]},
}
LIST_EVENTS: dict[str, Any] = {
    "operation_id": "list_order_events",
    "summary": "What has happened to an order",
    "tags": ["orders"],
    "parameters": [AFTER, PAGE_SIZE],
    "responses": out.EventPageOut,
    "extensions": {PROBLEMS: ["validation_failed", "not_found"]},
}
LIST_MESSAGES: dict[str, Any] = {
    "operation_id": "list_messages",
    "summary": "The messages on one of your response queues",
    "description": (
        "A queue is there as soon as an order names it in `reply_to`. Deal with each message, then delete it. Messages "
        "of different orders may appear in another order than that of their ids, so `after` is for paging; what tells "
        "that a message was dealt with is its deletion."
    ),
    "tags": ["response queues"],
    "parameters": [
        AFTER,
        PAGE_SIZE,
        _parameter("wait", f"Seconds to wait for a message, {LONGEST_WAIT} at most.", OpenApiTypes.INT),
    ],
    "responses": out.MessagePageOut,
    "extensions": {PROBLEMS: ["validation_failed"]},
}
DELETE_MESSAGE: dict[str, Any] = {
    "operation_id": "delete_message",
    "summary": "Acknowledge a message",
    "tags": ["response queues"],
    "parameters": [OpenApiParameter("message_id", OpenApiTypes.INT, OpenApiParameter.PATH)],
    "responses": {204: OpenApiResponse(description="The message is gone.")},
    "extensions": {PROBLEMS: ["not_found"]},
}
