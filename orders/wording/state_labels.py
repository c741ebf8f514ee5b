"""How operators see states and kinds: of orders, steps, circuits, bulk actions, alerts and messages."""

from collections.abc import Mapping
from typing import NamedTuple

from orders.vocabulary import (
    AlertKind,
    ApprovalState,
    BulkItemState,
    BulkKind,
    BulkState,
    CircuitState,
    MessageKind,
    MessageState,
    Outcome,
    ProcessState,
    StepStatus,
)
from orders.wording.cancelling import REVERSED, WITHOUT_MONEY


class Pill(NamedTuple):
    """How a state is shown. `tone` is good, busy, warn, bad or idle; `icon` is a name in static/icons.svg."""

    tone: str
    icon: str
    label: str


ORDER_STATES: Mapping[str, Pill] = {
    ProcessState.PENDING: Pill("idle", "clock", "pending"),
    ProcessState.PROCESSING: Pill("busy", "running", "processing"),
    ProcessState.PROCESSED: Pill("good", "done", "processed"),
    ProcessState.ERROR: Pill("bad", "error", "error"),
    ProcessState.COMPENSATED: Pill("idle", "cross", "cancelled"),
}
STEP_STATES: Mapping[str, Pill] = {
    StepStatus.NOT_STARTED: Pill("idle", "clock", "not started"),
    StepStatus.RUNNING: Pill("busy", "running", "running"),
    StepStatus.AWAITING: Pill("idle", "clock", "awaiting"),
    StepStatus.COMPLETED: Pill("good", "done", "completed"),
    StepStatus.FAILED: Pill("bad", "error", "failed"),
    StepStatus.SKIPPED: Pill("idle", "chevron-right", "skipped"),
    StepStatus.COMPENSATING: Pill("warn", "undo", REVERSED[StepStatus.COMPENSATING]),
    StepStatus.COMPENSATED: Pill("idle", "undo", REVERSED[StepStatus.COMPENSATED]),
}
NOTICE_SENT = Pill("idle", "mail", "notice sent")
"""Of a step that is not reversed when its order is cancelled, but sends a notice."""
NO_NOTICE = Pill("idle", "info", "no notice sent")
"""Of such a step in a cancelled order whose customer has had none."""
NOT_NEEDED = Pill("idle", "chevron-right", "not needed")
"""Of a step that had not begun when its order was cancelled."""
CIRCUIT_STATES: Mapping[str, Pill] = {
    CircuitState.CLOSED: Pill("good", "done", "working"),
    CircuitState.OPEN: Pill("bad", "stop", "down"),
    CircuitState.HALF_OPEN: Pill("warn", "retry", "being tried"),
}
"""How readers see a circuit that is closed, open or half open: they took "closed" for a service that is closed."""
FORCED_CIRCUITS: Mapping[str, Pill] = {
    CircuitState.CLOSED: Pill("warn", "key", "sent calls, forced"),
    CircuitState.OPEN: Pill("warn", "key", "sent nothing, forced"),
}
"""The same of a circuit that an operator has forced, whatever the service does."""
APPROVAL_STATES: Mapping[str, Pill] = {
    ApprovalState.WAITING: Pill("warn", "clock", "waiting for approval"),
    ApprovalState.APPROVED: Pill("good", "done", "approved"),
    ApprovalState.DECLINED: Pill("idle", "stop", "declined"),
    ApprovalState.WITHDRAWN: Pill("idle", "undo", "withdrawn"),
    ApprovalState.EXPIRED: Pill("idle", "clock", "expired"),
    ApprovalState.LAPSED: Pill("idle", "info", "no longer possible"),
}
BULK_STATES: Mapping[str, Pill] = {
    BulkState.RUNNING: Pill("busy", "running", "running"),
    BulkState.PAUSED: Pill("warn", "pause", "paused"),
    BulkState.STOPPED: Pill("idle", "stop", "stopped"),
    BulkState.FINISHED: Pill("good", "done", "finished"),
    BulkState.UNDONE: Pill("idle", "undo", "undone"),
}
BULK_ITEM_STATES: Mapping[str, Pill] = {
    BulkItemState.WAITING: Pill("idle", "clock", "waiting"),
    BulkItemState.ACTED: Pill("busy", "running", "under way"),
    BulkItemState.DONE: Pill("good", "done", "done"),
    BulkItemState.FAILED_AGAIN: Pill("bad", "error", "failed again"),
    BulkItemState.NOTHING: Pill("idle", "info", "nothing to do"),
}
BULK_KINDS: Mapping[str, str] = {
    BulkKind.RESUBMIT: "Resubmit",
    BulkKind.COMPENSATE: WITHOUT_MONEY.act,
    BulkKind.EDIT: "Edit",
}
ALERT_KINDS: Mapping[str, str] = {
    AlertKind.STEP_FAILED: "a step failed for good",
    AlertKind.COMPENSATION_FAILED: "a cancellation failed for good",
    AlertKind.ORDER_OVERRAN: "the order kept missing its complete-by time",
    AlertKind.UNPROCESSABLE: "the order cannot be processed as it is stored",
    AlertKind.SET_ASIDE: "a submission can never be inserted",
    AlertKind.OUTAGE: "a remote service is not answering, so steps for it wait",
    AlertKind.RELEASE: "this release cannot run the orders, so they wait",
    AlertKind.STALLED: "a role makes no progress",
    AlertKind.LATE: "orders will be late at the current pace",
}
MESSAGE_KINDS: Mapping[str, str] = {
    MessageKind.ALERT: "alert",
    MessageKind.ORDER_LINK: "order link",
    MessageKind.SIGN_UP: "sign-up",
    MessageKind.NEW_PASSWORD: "new password",
    MessageKind.WEBHOOK_OFF: "webhook disabled",
    MessageKind.HANDOVER: "hand-over",
    MessageKind.APPROVAL: "request for approval",
    MessageKind.ORDER_UPDATE: "order update",
}
MESSAGE_STATES: Mapping[str, Pill] = {
    MessageState.QUEUED: Pill("idle", "clock", "waiting"),
    MessageState.SENDING: Pill("busy", "running", "sending"),
    MessageState.SENT: Pill("good", "done", "sent"),
    MessageState.SKIPPED: Pill("idle", "info", "skipped"),
    MessageState.FAILED: Pill("bad", "error", "failed"),
}
OUTCOMES: Mapping[str, str] = {
    Outcome.NONE: "none",
    Outcome.UNKNOWN: "unknown",
    Outcome.REFUSED: "refused",
    Outcome.DONE: "done",
}


def pill_of(pills: Mapping[str, Pill], state: str) -> Pill:
    """Returns a state's pill. A state that this release does not know is shown by its name."""
    return pills.get(state) or Pill("idle", "info", state.replace("_", " "))
