"""What the OpenAPI document says about the operators' operations."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from orders.api import operator_representations as representations
from orders.api.documentation import path_parameter
from orders.api.operator_requests import (
    CompensationIn,
    DecisionIn,
    EventIn,
    GroupResubmissionIn,
    NeededReasonIn,
    ReasonIn,
)
from orders.api.paging import LONGEST_NAME, AlertGroupQuery, AlertQuery, DecisionQuery
from orders.api.problems import OPERATION_PROBLEMS
from orders.selectors.desk.confirmation import WORD

TAG = ["operators"]
DENIED = "permission_denied"

STEP = path_parameter("step", "The name of the step, as its order has it.", minLength=1, maxLength=60)
ACTION_LOCATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri-reference"},
    OpenApiParameter.HEADER,
    description="The URL of the bulk action.",
    response=[202],
    required=True,
)
AGENT = path_parameter("name", "The name of the agent.", pattern="^[-a-zA-Z0-9_]+$", maxLength=LONGEST_NAME)


def act(
    operation: str,
    summary: str,
    body: Any,
    *problems: str,
    description: str = "",
    place: OpenApiParameter | None = None,
) -> dict[str, Any]:
    """An act of an operator. Unless a `description` says more, it is that of most acts."""
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description
        or "Needs an operator's token. Repeating a request has no further effect. The audit log records each one.",
        "tags": TAG,
        "parameters": [place] if place else [],
        "request": body,
        "responses": {200: representations.ResultOut},
        "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found", "act_refused", *problems]},
    }


LIST_ALERTS: dict[str, Any] = {
    "operation_id": "list_alerts",
    "summary": "List open alerts, newest first",
    "tags": TAG,
    "parameters": [AlertQuery],
    "responses": representations.AlertPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
LIST_GROUPS: dict[str, Any] = {
    "operation_id": "list_alert_groups",
    "summary": "List open alerts, grouped by cause",
    "tags": TAG,
    "parameters": [AlertGroupQuery],
    "responses": representations.AlertGroupPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
RESUBMIT_GROUP: dict[str, Any] = {
    "operation_id": "resubmit_alert_group",
    "summary": "Resubmit every order in an alert group",
    "description": (
        "Creates a bulk action that resubmits the group's orders in waves. It starts after ten seconds, and pauses if "
        "too many orders fail again. Follow it at `Location`. For more than 50 orders, send as `count` how many the "
        "group has (`open` in the list of groups)."
    ),
    "tags": TAG,
    "parameters": [ACTION_LOCATION],
    "request": GroupResubmissionIn,
    "responses": {
        202: OpenApiResponse(representations.BulkActionOut, description="The bulk action has been created.")
    },
    "extensions": {
        OPERATION_PROBLEMS: [DENIED, "not_found", "act_refused", "count_not_confirmed", "orders_busy"]
    },
}
GET_ACTION: dict[str, Any] = {
    "operation_id": "get_bulk_action",
    "summary": "Retrieve a bulk action and its progress",
    "tags": TAG,
    "responses": representations.BulkActionOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found"]},
}
RESUBMIT_STEP = act("resubmit_step", "Resubmit a failed step", ReasonIn)
SKIP_STEP = act("skip_step", "Skip a step", NeededReasonIn)
COMPENSATE_ORDER = act(
    "compensate_order",
    "Cancel an order",
    CompensationIn,
    "approval_required",
    description=(
        "Reverses every step of an order that had an effect, and refunds what was charged. To confirm, send the word "
        f"`{WORD}` as `confirm`. If the customer's payment has been taken, or may have been, send the order's total "
        "instead, in plain figures such as `39.00`. Without the right confirmation nothing changes."
    ),
)
LIST_DECISIONS: dict[str, Any] = {
    "operation_id": "list_decisions",
    "summary": "List what waits for a person's decision, earliest deadline first",
    "tags": TAG,
    "parameters": [DecisionQuery],
    "responses": representations.DecisionPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
ANSWERED = ("already_answered", "too_late")
DECIDE = act(
    "decide",
    "Decide for a step that waits for a person",
    DecisionIn,
    *ANSWERED,
    "approval_required",
    place=STEP,
    description=(
        "The first answer counts. A choice with `compensates` has the whole order cancelled: it needs a token that "
        "also has the scope `compensate`, a note, and the `confirm` that *Cancel an order* asks for. The audit log "
        "records each request."
    ),
)
REPORT_EVENT = act(
    "report_event",
    "Report the outside event that a step waits for",
    EventIn,
    *ANSWERED,
    place=STEP,
    description=(
        "The first report counts, and `result` becomes the result of the step. It must hold the fields that the "
        "workflow declares; `errors` names those that are missing. The audit log records each request."
    ),
)
PAUSE_AGENT = act("pause_agent", "Pause an agent", NeededReasonIn, place=AGENT)
RESUME_AGENT = act("resume_agent", "Resume a paused agent", ReasonIn, place=AGENT)
