"""What the OpenAPI document says of the operators' operations."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from orders.api import operator_representations as out
from orders.api.documentation import CURSOR, PAGE_SIZE, PROBLEMS
from orders.vocabulary import AlertKind

TAG = ["operators"]
RIGHTS = "permission_denied"


def _parameter(name: str, description: str, kind: Any = OpenApiTypes.STR, **options: Any) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.QUERY, description=description, **options)


def _number(name: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.INT, OpenApiParameter.PATH, description=description)


def _act(operation: str, summary: str, takes: Any, *problems: str, description: str = "") -> dict[str, Any]:
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description
        or "For tokens of operators. Done twice, it is done once; each is in the audit log.",
        "tags": TAG,
        "request": takes,
        "responses": {200: out.ResultOut},
        "extensions": {PROBLEMS: ["validation_failed", RIGHTS, "not_found", "act_refused", *problems]},
    }


LIST_ALERTS: dict[str, Any] = {
    "operation_id": "list_alerts",
    "summary": "What needs a person",
    "tags": TAG,
    "parameters": [
        _parameter("group", "Only alerts of this group.", OpenApiTypes.INT),
        _parameter("kind", "Only alerts of this kind.", enum=[kind.value for kind in AlertKind]),
        _parameter("agent", "Only alerts about this agent."),
        CURSOR,
        PAGE_SIZE,
    ],
    "responses": out.AlertPageOut,
    "extensions": {PROBLEMS: ["validation_failed", RIGHTS]},
}
LIST_GROUPS: dict[str, Any] = {
    "operation_id": "list_alert_groups",
    "summary": "Open alerts, grouped by cause",
    "tags": TAG,
    "parameters": [CURSOR, PAGE_SIZE],
    "responses": out.AlertGroupPageOut,
    "extensions": {PROBLEMS: ["validation_failed", RIGHTS]},
}
RESUBMIT_GROUP: dict[str, Any] = {
    "operation_id": "resubmit_alert_group",
    "summary": "Resubmit every order of a group",
    "description": (
        "Makes a bulk action, which resubmits the group's orders in waves from ten seconds on, and stops itself when "
        "too many fail again. Follow it at `Location`."
    ),
    "tags": TAG,
    "parameters": [
        OpenApiParameter(
            "Location", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The action.", response=[202]
        )
    ],
    "request": out.GroupResubmissionIn,
    "responses": {202: OpenApiResponse(out.BulkActionOut, description="The action is made.")},
    "extensions": {
        PROBLEMS: ["validation_failed", RIGHTS, "not_found", "act_refused", "count_not_confirmed"]
    },
}
GET_ACTION: dict[str, Any] = {
    "operation_id": "get_bulk_action",
    "summary": "How far a bulk action is",
    "tags": TAG,
    "parameters": [_number("action_id", "The action's number.")],
    "responses": out.BulkActionOut,
    "extensions": {PROBLEMS: [RIGHTS, "not_found"]},
}
RESUBMIT_STEP = _act("resubmit_step", "Try a failed step again", out.ReasonIn)
SKIP_STEP = _act("skip_step", "Go on without a step", out.NeededReasonIn)
COMPENSATE_ORDER = _act(
    "compensate_order",
    "Undo a whole order",
    out.CompensationIn,
    description=(
        "`confirm` is what an operator types to confirm: the word `cancel`; or, when money was taken or may have been "
        "and so goes back to the customer, the order's total in plain figures, as `39.00`. Without it, or with "
        "something else, nothing is done and the refusal says what to send."
    ),
)
PAUSE_AGENT = _act("pause_agent", "Send nothing new to an agent", out.NeededReasonIn)
RESUME_AGENT = _act("resume_agent", "Send work to a paused agent again", out.ReasonIn)
