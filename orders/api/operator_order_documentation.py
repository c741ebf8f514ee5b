"""What the OpenAPI document says about the operators' acts on one order."""

from drf_spectacular.utils import OpenApiParameter

from orders.api.operator_documentation import STEP, act
from orders.api.operator_order_requests import EditIn, ErasureIn, PriorityIn, RetryIn, SettlementIn
from orders.api.operator_requests import ReasonIn
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
        "Tries again, at once, all steps that have failed, and the order continues. A step whose outcome is unknown "
        "keeps its key, so nothing is done twice. Repeating a request has no further effect. The audit log records "
        "each one."
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
SET_PRIORITY = act("set_order_priority", "Set the priority of an order", PriorityIn)
EDIT_STEP = act(
    "edit_step",
    "Edit what a failed step asks for, and resubmit it",
    EditIn,
    place=STEP,
    description=(
        "The fields that may be edited are in `editable` of the step in `GET /api/v1/orders/{order_id}/details`, and "
        "their values in its `request`. A new value is checked as that of a new order is. It is refused while the "
        "step's outcome is unknown, and if a field in `seen` has another value by now. The audit log records each "
        "request whose values are valid."
    ),
)
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
