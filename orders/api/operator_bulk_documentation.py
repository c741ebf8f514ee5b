"""What the OpenAPI document says about bulk actions."""

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, PolymorphicProxySerializer

from orders.api import operator_bulk_representations as representations
from orders.api.fields import Strict
from orders.api.operator_bulk_requests import ACTIONS, PREVIEWS, BulkActionQuery, BulkItemQuery
from orders.api.operator_documentation import ACTION_LOCATION, DENIED, TAG
from orders.api.operator_representations import BulkActionOut
from orders.api.operator_requests import ReasonIn
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.requests import LONGEST_KEY, SENT_KEY

KEY_HELP = (
    "A key that you choose, such as a UUID: 1 to 255 printable ASCII characters. Only one. Within an hour the same "
    "key and body mean the same action."
)


def _one_of(name: str, bodies: Iterable[type[Strict]]) -> PolymorphicProxySerializer:
    return PolymorphicProxySerializer(
        component_name=name, serializers=list(bodies), resource_type_field_name=None
    )


def _act(act: str, summary: str, description: str) -> dict[str, Any]:
    return {
        "operation_id": f"{act}_bulk_action",
        "summary": summary,
        "description": f"{description} Repeating the request has no further effect. The audit log records it.",
        "tags": TAG,
        "request": ReasonIn,
        "responses": BulkActionOut,
        "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found", "act_refused"]},
    }


LIST_ACTIONS: dict[str, Any] = {
    "operation_id": "list_bulk_actions",
    "summary": "List bulk actions, newest first",
    "tags": TAG,
    "parameters": [BulkActionQuery],
    "responses": representations.BulkActionPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
PREVIEW_ACTION: dict[str, Any] = {
    "operation_id": "preview_bulk_action",
    "summary": "Preview a bulk action",
    "description": (
        "Says which orders an action would take, and changes nothing. Select them by a `filter`, as the open alerts of "
        "a `group`, one by one as `orders`, or as those that failed again after another action, `failed_of`. A "
        "resubmission takes only orders in the state `error`. An `edit` says of how many orders its `changes` would "
        "change something, and why not of the others."
    ),
    "tags": TAG,
    "request": _one_of("BulkSelection", PREVIEWS.values()),
    "responses": {200: representations.BulkPreviewOut},
    "extensions": {OPERATION_PROBLEMS: [DENIED, "act_refused"]},
}
CREATE_ACTION: dict[str, Any] = {
    "operation_id": "create_bulk_action",
    "summary": "Act on many orders",
    "description": (
        "Creates a bulk action that resubmits, cancels or edits orders in waves. Preview it first, with the same "
        "`kind` and selection, and send the `count` of the preview: if there are more or fewer orders by now, nothing "
        "is done. The action starts after ten seconds, and until then it can be undone. Follow it at `Location`."
    ),
    "tags": TAG,
    "parameters": [
        OpenApiParameter(
            "Idempotency-Key",
            {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": f"^{SENT_KEY}$"},
            OpenApiParameter.HEADER,
            description=KEY_HELP,
        ),
        ACTION_LOCATION,
        OpenApiParameter(
            "Idempotent-Replayed",
            {"type": "string", "enum": ["true"]},
            OpenApiParameter.HEADER,
            description="Sent if an earlier request with this key created the action.",
            response=[202],
        ),
    ],
    "request": _one_of("NewBulkAction", ACTIONS.values()),
    "responses": {202: OpenApiResponse(BulkActionOut, description="The bulk action has been created.")},
    "extensions": {
        OPERATION_PROBLEMS: [
            *(DENIED, "act_refused", "count_not_confirmed", "idempotency_key_reused", "orders_busy"),
            "approval_required",
        ]
    },
}
LIST_ITEMS: dict[str, Any] = {
    "operation_id": "list_bulk_action_orders",
    "summary": "List the orders of a bulk action, with their results",
    "tags": TAG,
    "parameters": [BulkItemQuery],
    "responses": representations.BulkItemPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED, "not_found"]},
}
PAUSE_ACTION = _act(
    "pause",
    "Pause a bulk action",
    "No more orders are started until it is resumed. Those under way continue.",
)
RESUME_ACTION = _act("resume", "Resume a paused bulk action", "It goes on with the next order.")
STOP_ACTION = _act(
    "stop", "Stop a bulk action", "Ends it for good. Orders that were already started continue."
)
UNDO_ACTION = _act(
    "undo",
    "Undo a bulk action",
    "Takes back an action that has not acted on any order yet, so none has changed.",
)
