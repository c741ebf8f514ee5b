"""What the OpenAPI document says about the operators' acts on one order."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter

from orders.api import operator_order_edit_representations as representations
from orders.api.operator_documentation import DENIED, STEP, TAG, act
from orders.api.operator_order_requests import (
    EditIn,
    ErasureIn,
    OrderChangesIn,
    OrderEditIn,
    PauseIn,
    PriorityIn,
    RetryIn,
    SettlementIn,
)
from orders.api.operator_requests import NoteIn, ReasonIn
from orders.api.problems import OPERATION_PROBLEMS
from orders.fields.numbers import LARGEST_ID
from orders.services.operators.order_erasure import WORD

ADMIN = "Needs a token of an account that may administer. The audit log records each request."
NUMBER = OpenApiParameter(
    "number",
    {"type": "integer", "format": "int64", "minimum": 0, "maximum": LARGEST_ID},
    OpenApiParameter.PATH,
    description="The number of the submission, from the list of what was set aside.",
)

RESUBMIT_ORDER = act(
    "resubmit_order",
    "Resubmit an order",
    ReasonIn,
    description=(
        "Tries again all steps that have failed, at once and with the same data, and the order continues. A step whose "
        "outcome is unknown keeps its key, so nothing is done twice. Repeating a request has no further effect. The "
        "audit log records each one."
    ),
)
RETRY_ORDER = act(
    "retry_order",
    "Retry at once what waits for its next try",
    RetryIn,
    description=(
        "What waits for a customer or an agent keeps waiting. Repeating a request has no further effect. The audit "
        "log records each one."
    ),
)
PAUSE_ORDER = act(
    "pause_order",
    "Pause an order",
    PauseIn,
    description=(
        "The order starts no step and no further try of one. Calls under way are finished, and their answers recorded. "
        "Cancelling the order ends the pause. What was promised to the customer does not move. Repeating a request has "
        "no further effect. The audit log records each one."
    ),
)
RESUME_ORDER = act("resume_order", "Resume a paused order", ReasonIn)
SET_PRIORITY = act("set_order_priority", "Set the priority of an order", PriorityIn)
ADD_NOTE = act(
    "add_order_note",
    "Add a note to an order",
    NoteIn,
    description=(
        "For other operators: its customer and its client never see it. An order can be noted about at any time, also "
        "before it is received and once it is archived. The same note within a minute is added once. `notes` in "
        "`GET /api/v1/orders/{order_id}/details` has them. The audit log records each one."
    ),
)
EDIT_STEP = act(
    "edit_step",
    "Edit the request of a failed step, and resubmit it",
    EditIn,
    place=STEP,
    description=(
        "The fields that may be edited are in `editable` of the step in `GET /api/v1/orders/{order_id}/details`, and "
        "their values in its `request`. A new value is checked as that of a new order is. It is refused while the "
        "step's outcome is unknown, and if a field in `seen` has another value by now. The audit log records each "
        "request whose values are valid."
    ),
)
EDIT_ORDER = act(
    "edit_order",
    "Edit fields of an order",
    OrderEditIn,
    description=(
        "`POST /api/v1/orders/{order_id}/edit/preview` lists the fields that may be edited, with their values, and "
        "says what an edit would change. A new value is checked as that of a new order is. Every step that is still to "
        "be done has them in its request; what was already done, or is under way, stays as it is. An order in the "
        "state `error` is resubmitted, and any other continues. It is refused if a field in `seen` has another value "
        "by now, while it is unknown whether a failed step was done with the former value, unless `reverse` names "
        "that step and its service can reverse it, and once money was reserved or taken for another value. Repeating a "
        "request has no further effect. The audit log records each request whose values are valid."
    ),
)
PREVIEW_EDIT: dict[str, Any] = {
    "operation_id": "preview_order_edit",
    "summary": "Preview an edit of an order",
    "description": (
        "Says what `edit_order` would change, and changes nothing: what each step would request, and what the edit "
        "comes too late for. It is refused when the edit would be, so also while `reverse` lacks a step that it must "
        "name. Without `changes` it lists the fields that may be edited, and their values."
    ),
    "tags": TAG,
    "request": OrderChangesIn,
    "responses": {200: representations.OrderEditOut},
    "extensions": {OPERATION_PROBLEMS: [DENIED, "not_found", "act_refused"]},
}
SETTLE_STEP = act(
    "settle_step",
    "Settle a step by hand",
    SettlementIn,
    place=STEP,
    description=(
        "States what became of a step that nobody else can tell: look it up at the remote service first, and give "
        "what you have seen as the `reason`. After `done` the order continues with the `result`, which holds the "
        "fields in `result_fields` of the step in `GET /api/v1/orders/{order_id}/details`. After `not_done` the step "
        "can be resubmitted, edited or skipped, and its next attempt has a new key. After `compensated` the "
        f"compensation goes on. {ADMIN}"
    ),
)
ERASE_CUSTOMER = act(
    "erase_customer",
    "Erase everything about the customer of an order",
    ErasureIn,
    description=(
        "Makes all of her finished orders anonymous, wherever they are, and closes her account; amounts are kept. "
        "This cannot be taken back. It is refused while one of her orders is not finished. To confirm, send the word "
        f"`{WORD}` as `confirm`; without it nothing changes, and `detail` says what would be erased. A long erasure "
        f"continues in the background. {ADMIN}"
    ),
)
REPLAY_SUBMISSION = act(
    "replay_submission",
    "Put a submission that was set aside back on the queue",
    ReasonIn,
    place=NUMBER,
    description=(
        "Do this once the cause is fixed. Repeating a request has no further effect. The audit log records each one."
    ),
)
