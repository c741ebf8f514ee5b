"""What the OpenAPI document says about what is paused."""

from typing import Any

from orders.api.operator_documentation import DENIED, TAG, act
from orders.api.operator_order_requests import PauseIn
from orders.api.operator_pause_representations import PausesOut
from orders.api.operator_requests import ReasonIn
from orders.api.problems import OPERATION_PROBLEMS

GET_PAUSES: dict[str, Any] = {
    "operation_id": "get_pauses",
    "summary": "Retrieve what is paused",
    "description": "Agents say themselves whether they are paused, and so do orders.",
    "tags": TAG,
    "responses": PausesOut,
    "extensions": {OPERATION_PROBLEMS: [DENIED]},
}
PAUSE_INTAKE = act(
    "pause_intake",
    "Stop new orders",
    PauseIn,
    description=(
        "Only for administrators. New orders are refused with `intake_paused` within a second, until `until` or until "
        "the intake is resumed. Orders that were accepted continue, and their idempotency keys are still answered. "
        "Repeating a request has no further effect."
    ),
)
RESUME_INTAKE = act(
    "resume_intake",
    "Accept new orders again",
    ReasonIn,
    description="Only for administrators. Repeating a request has no further effect.",
)
