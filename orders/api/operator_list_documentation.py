"""What the OpenAPI document says about the operators' lists of orders, and about one order."""

from typing import Any

from orders.api import operator_order_representations as representations
from orders.api.operator_documentation import DENIED, TAG
from orders.api.operator_order_queries import CompensationQuery, OrderSearchQuery, SetAsideQuery
from orders.api.problems import OPERATION_PROBLEMS

EARLY = (
    "Follow `next` until it is null: a page ends early, perhaps without any result, when it has looked at many orders "
    "that do not match."
)

SEARCH_ORDERS: dict[str, Any] = {
    "operation_id": "search_orders",
    "summary": "Search everybody's orders, newest first",
    "description": (
        "The console's list of orders: those that are inserted, and then the archived ones. All conditions must be "
        f"met. {EARLY} Only `get_order_details` finds an order that is not inserted yet, by its whole ID."
    ),
    "tags": TAG,
    "parameters": [OrderSearchQuery],
    "responses": representations.ListedOrderPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED, "url_too_long"]},
}
LIST_COMPENSATIONS: dict[str, Any] = {
    "operation_id": "list_compensations",
    "summary": "List the orders that are being cancelled, newest first",
    "description": f"Also those whose compensation failed, until that is resolved. {EARLY}",
    "tags": TAG,
    "parameters": [CompensationQuery],
    "responses": representations.ListedOrderPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
LIST_SET_ASIDE: dict[str, Any] = {
    "operation_id": "list_set_aside",
    "summary": "List the submissions that were set aside, oldest first",
    "description": "They could not become orders, and wait for an operator.",
    "tags": TAG,
    "parameters": [SetAsideQuery],
    "responses": representations.SetAsidePageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
GET_DETAILS: dict[str, Any] = {
    "operation_id": "get_order_details",
    "summary": "Retrieve all about an order that only operators see",
    "description": (
        "Where it stands, its steps with their requests and results, and in `acts` what may be done about it now, by "
        "whoever has the scope and the level for it. "
        "`GET /api/v1/orders/{order_id}` has what its customer sees, and its `events` the history."
    ),
    "tags": TAG,
    "responses": representations.OrderDetailsOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found"]},
}
