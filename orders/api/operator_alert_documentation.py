"""What the OpenAPI document says about the operators' operations on alert groups."""

from typing import Any

from orders.api import operator_alert_representations as representations
from orders.api.operator_documentation import DENIED, TAG, act
from orders.api.operator_requests import NoteIn, ReasonIn
from orders.api.paging import ClosedAlertQuery
from orders.api.problems import OPERATION_PROBLEMS
from orders.selectors.desk.alert_groups import SHOWN, SHOWN_NOTES

GET_GROUP: dict[str, Any] = {
    "operation_id": "get_alert_group",
    "summary": "Retrieve an alert group",
    "description": (
        f"Its open alerts, counted, and what people did about it: the newest {SHOWN_NOTES} notes, {SHOWN} bulk actions "
        f"and {SHOWN} notifications. Its alerts are in `GET /api/v1/alerts?group=`."
    ),
    "tags": TAG,
    "responses": representations.AlertGroupDetailsOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found"]},
}
LIST_CLOSED: dict[str, Any] = {
    "operation_id": "list_closed_alerts",
    "summary": "List the closed alerts of a group, the last closed first",
    "tags": TAG,
    "parameters": [ClosedAlertQuery],
    "responses": representations.ClosedAlertPageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED, "not_found"]},
}
ACKNOWLEDGE = act(
    "acknowledge_alert_group",
    "Acknowledge an alert group",
    ReasonIn,
    description=(
        "Shows others that you have seen it, and makes you not its owner. It holds until all alerts that are open now "
        "are closed, or until it is withdrawn. Whoever acknowledges last is shown. The audit log records each request."
    ),
)
REOPEN = act("reopen_alert_group", "Withdraw the acknowledgement of an alert group", ReasonIn)
ADD_NOTE = act(
    "add_alert_group_note",
    "Add a note to an alert group",
    NoteIn,
    description="Each request adds a note, also if it says the same again. The audit log records each one.",
)
