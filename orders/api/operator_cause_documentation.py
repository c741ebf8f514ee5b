"""What the OpenAPI document says about owners, snoozes, tickets, runbooks, the history of causes, and hand-overs."""

from typing import Any

from orders.api import operator_cause_representations as representations
from orders.api import operator_cause_requests as requests
from orders.api.operator_documentation import DENIED, TAG, act
from orders.api.operator_representations import ResultOut
from orders.api.operator_requests import ReasonIn
from orders.api.problems import OPERATION_PROBLEMS
from orders.selectors.desk.causes import DAYS

TAKE = act(
    "take_alert_group",
    "Become the owner of an alert group that nobody owns",
    ReasonIn,
    description="Also acknowledges it. It is refused if somebody else has it. The audit log records each request.",
)
ASSIGN = act(
    "assign_alert_group",
    "Make an account the owner of an alert group",
    requests.AssignmentIn,
    description="Send an empty `owner` to give it back. An owner has it until it has ended.",
)
SNOOZE = act(
    "snooze_alert_group",
    "Snooze an alert group",
    requests.SnoozeIn,
    description=(
        "It comes back by itself, after 7 days at the latest, and says why. Until then no messages are sent about it. "
        "`already` if it is snoozed: wake it first to change when it comes back."
    ),
)
WAKE = act("wake_alert_group", "Bring a snoozed alert group back", ReasonIn)
TICKET = act("link_alert_group_ticket", "Link an alert group with a ticket", requests.TicketIn)
RUNBOOK = act(
    "write_runbook",
    "Write what this installation says about the code of an alert group",
    requests.RunbookIn,
    description="Only for administrators. It is shown beside the text that comes with the product.",
)
LIST_TIMES: dict[str, Any] = {
    "operation_id": "list_open_times",
    "summary": "List when which causes were open, the last begun first",
    "tags": TAG,
    "parameters": [requests.CauseHistoryQuery],
    "responses": representations.OpenTimePageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}
LIST_GROUP_TIMES: dict[str, Any] = {
    "operation_id": "list_open_times_of_group",
    "summary": f"List when a cause was open in the last {DAYS} days, and what people did about it",
    "tags": TAG,
    "responses": representations.GroupTimesOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found"]},
}
GET_HANDOVER: dict[str, Any] = {
    "operation_id": "get_handover",
    "summary": "Retrieve what a shift leaves the next one",
    "tags": TAG,
    "parameters": [requests.HandoverQuery],
    "responses": representations.HandoverOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", DENIED]},
}


def _of_handover(operation: str, summary: str, body: Any, description: str) -> dict[str, Any]:
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description,
        "tags": TAG,
        "request": body,
        "responses": {200: ResultOut},
        "extensions": {OPERATION_PROBLEMS: [DENIED, "act_refused"]},
    }


ADD_NOTE = _of_handover(
    "add_handover_note",
    "Leave a note for the next shift",
    requests.HandoverNoteIn,
    "The overview shows it for 24 hours, or until the next one. The audit log records it.",
)
SEND = _of_handover(
    "send_handover",
    "Send the hand-over by email",
    requests.SendingIn,
    "To the address of the alerts, or to an operator's account; to nobody else. The audit log records each request.",
)
