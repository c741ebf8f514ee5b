"""What the OpenAPI document says about agents, the outbox, the audit log and the state of the system."""

from typing import Any

from orders.api import operator_system_representations as representations
from orders.api.operator_documentation import AGENT, DENIED, TAG
from orders.api.operator_incident_representations import IncidentListOut
from orders.api.operator_representations import ResultOut
from orders.api.operator_requests import ReasonIn
from orders.api.operator_system_requests import AuditQuery, ForceIn, LimitIn, OutboxQuery
from orders.api.problems import OPERATION_PROBLEMS

ADMINISTRATORS = (
    "Only for administrators. Repeating a request has no further effect. The audit log records each one."
)


def _read(
    operation: str, summary: str, responses: Any, *, query: Any = None, description: str = ""
) -> dict[str, Any]:
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description,
        "tags": TAG,
        "parameters": [query] if query else [],
        "responses": responses,
        "extensions": {OPERATION_PROBLEMS: [DENIED, *(["validation_failed"] if query else [])]},
    }


def _act(operation: str, summary: str, body: Any, **members: Any) -> dict[str, Any]:
    return {
        "operation_id": operation,
        "summary": summary,
        "tags": TAG,
        "request": body,
        "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found", "act_refused"]},
        **members,
    }


GET_STATUS = _read(
    "get_status", "Retrieve whether the system is healthy, and its figures", representations.StatusOut
)
LIST_INCIDENTS = _read("list_incidents", "List what is wrong now, the most urgent first", IncidentListOut)
GET_SUPERVISOR = _read(
    "get_supervisor", "Retrieve what the supervisor has found", representations.SupervisorOut
)
LIST_WORKFLOWS = _read(
    "list_workflows",
    "List the workflows, with how many orders are at each step",
    representations.WorkflowListOut,
)
LIST_AGENTS = _read(
    "list_agents", "List the agents, with their circuits and processes", representations.AgentListOut
)
GET_DEADLINES = _read(
    "get_deadlines",
    "Retrieve which orders will be late at the pace at which their agents now work",
    representations.DeadlinesOut,
    description=(
        "An order that waits for an agent is sent when all are that are before it in that agent's queue. `orders` are "
        "up to 20 of those that will not be sent in time, the earliest first. Later steps are left out, and so are "
        "orders that do not wait yet: the answer is the least that will happen if nothing changes."
    ),
)
LIST_OUTBOX = _read(
    "list_outbox",
    "List emails and calls of the alerts' webhook, newest first",
    representations.OutgoingMessagePageOut,
    query=OutboxQuery,
)
LIST_AUDIT = _read(
    "list_audit_entries",
    "List the audit log, newest first",
    representations.AuditPageOut,
    query=AuditQuery,
    description=(
        "All conditions must be met. Follow `next` until it is null: a page ends early, perhaps without any result, "
        "when it has looked at many entries that do not match."
    ),
)
LIMIT_AGENT = _act(
    "limit_agent",
    "Limit what an agent is sent, until that is changed",
    LimitIn,
    description=(
        "Both limits are set at once; null leaves one to the agent. Calls under way continue. Repeating a request has "
        "no further effect. The audit log records each one."
    ),
    parameters=[AGENT],
    responses={200: ResultOut},
)
FORCE_CIRCUIT = _act(
    "force_circuit",
    "Force an agent's circuit open or closed for a time",
    ForceIn,
    description=ADMINISTRATORS,
    parameters=[AGENT],
    responses={200: ResultOut},
)
UNFORCE_CIRCUIT = _act(
    "unforce_circuit",
    "Let an agent's circuit follow its calls again",
    ReasonIn,
    description=ADMINISTRATORS,
    parameters=[AGENT],
    responses={200: ResultOut},
)
RETRY_MESSAGE = _act(
    "retry_outgoing_message",
    "Send a failed message of the outbox again",
    ReasonIn,
    description="A message that is waiting or being sent stays as it is. The audit log records each request.",
    responses={200: representations.OutgoingMessageOut},
)
