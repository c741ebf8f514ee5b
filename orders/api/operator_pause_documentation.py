"""What the OpenAPI document says about what is paused."""

from typing import Any

from orders.api.documentation import path_parameter
from orders.api.operator_documentation import DENIED, STEP, TAG, act
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
        "Only for admins; operators ask for it with `ask_for_approval`. New orders are refused with `intake_paused` "
        "within a second, until `until` or until the intake is resumed. Orders that were accepted continue, and their "
        "idempotency keys are still answered. "
        "Repeating a request has no further effect."
    ),
)
RESUME_INTAKE = act(
    "resume_intake",
    "Accept new orders again",
    ReasonIn,
    description="Only for admins. Repeating a request has no further effect.",
)
WORKFLOW = path_parameter("workflow", "The name of the workflow.", minLength=1, maxLength=60)
_PAUSE_STEP = act(
    "pause_step",
    "Pause a step in all orders",
    PauseIn,
    description=(
        "Needs an operator's token. No new call of the step begins in any order of the workflow, until `until` or "
        "until the step is resumed. What is under way is finished, and what reverses the step is not held back. "
        "Orders that wait there are counted by `get_pauses`. Repeating a request has no further effect."
    ),
)
_RESUME_STEP = act(
    "resume_step",
    "Resume a paused step",
    ReasonIn,
    description=(
        "Needs an operator's token. The orders that wait go on gradually, within what the agent has room for. "
        "Repeating a request has no further effect."
    ),
)
PAUSE_STEP, RESUME_STEP = ({**each, "parameters": [WORKFLOW, STEP]} for each in (_PAUSE_STEP, _RESUME_STEP))
