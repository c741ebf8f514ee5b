"""What the OpenAPI document says about approvals."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from orders.api import operator_approval_representations as representations
from orders.api.operator_approval_requests import ApprovalIn, ApprovalNoteIn, ApprovalQuery
from orders.api.operator_documentation import DENIED, TAG, act
from orders.api.problems import OPERATION_PROBLEMS
from orders.fields.numbers import LARGEST_ID

NUMBER = OpenApiParameter(
    "request_id",
    {"type": "integer", "format": "int64", "minimum": 0, "maximum": LARGEST_ID},
    OpenApiParameter.PATH,
    description="The number of the request for approval.",
)
LOCATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri-reference"},
    OpenApiParameter.HEADER,
    description="The URL of the request for approval.",
    response=[202],
    required=True,
)
LIST_APPROVALS: dict[str, Any] = {
    "operation_id": "list_approvals",
    "summary": "List what waits for approval, or has been answered",
    "tags": TAG,
    "parameters": [ApprovalQuery],
    "responses": representations.ApprovalPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
ASK: dict[str, Any] = {
    "operation_id": "ask_for_approval",
    "summary": "Ask an admin to approve an act",
    "description": (
        "For an act that your account may not do, or not alone (`approval_required`). Send the name of its operation "
        "as `act`, what its URL names, and its body as `body`. What would be refused anyway is refused at once. The "
        "same act that waits already is not asked for again: the answer is that request. It expires after 24 hours. A "
        "refund needs a token that also has the scope `compensate`. The audit log records each request."
    ),
    "tags": TAG,
    "parameters": [LOCATION],
    "request": ApprovalIn,
    "responses": {
        202: OpenApiResponse(representations.ApprovalOut, description="It waits for an admin's approval.")
    },
    "extensions": {
        OPERATION_PROBLEMS: [
            DENIED,
            "not_found",
            "act_refused",
            "count_not_confirmed",
            "orders_busy",
            "already_answered",
            "too_late",
        ]
    },
}
GET_APPROVAL: dict[str, Any] = {
    "operation_id": "get_approval",
    "summary": "Retrieve a request for approval",
    "tags": TAG,
    "parameters": [NUMBER],
    "responses": representations.ApprovalOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found"]},
}
APPROVE = act(
    "approve",
    "Approve a request, and do what it asks for",
    None,
    place=NUMBER,
    description=(
        "Does the act at once, if that is still possible. Needs a token of an account that may administer and has not "
        "asked for it itself. The audit log records each request."
    ),
)
DECLINE = act("decline", "Decline a request for approval", ApprovalNoteIn, place=NUMBER)
WITHDRAW = act("withdraw", "Withdraw a request for approval of your own", ApprovalNoteIn, place=NUMBER)
