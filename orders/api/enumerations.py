"""The enumerations that have names of their own in the OpenAPI document (`ENUM_NAME_OVERRIDES`), as lists of words."""

from orders.business import Advice, FieldType, ResultType
from orders.business.words import Situation
from orders.selectors.desk.standing import StandingKind
from orders.services.act_results import ResultStatus
from orders.vocabulary import (
    AlertKind,
    ApprovalAct,
    ApprovalState,
    BulkItemState,
    BulkKind,
    BulkState,
    CircuitState,
    DeliveryState,
    DisabledReason,
    EventKind,
    Goal,
    MessageChannel,
    MessageKind,
    MessageState,
    Outcome,
    ProcessState,
    Reason,
    StepStatus,
    WaitingFor,
)
from orders.wording.customers.stages import STATES

ACT_RESULTS = [ResultStatus.DONE.value, ResultStatus.ALREADY.value]
"""A refusal is a problem."""
ADVICE = list(Advice)
ALERT_KINDS = list(AlertKind)
APPROVAL_ACTS = list(ApprovalAct)
APPROVAL_STATES = list(ApprovalState)
BULK_KINDS = list(BulkKind)
BULK_STATES = list(BulkState)
BULK_ITEM_STATES = list(BulkItemState)
CIRCUIT_STATES = list(CircuitState)
DELIVERY_STATES = list(DeliveryState)
DISABLED_REASONS = list(DisabledReason)
EDITABLE_FIELD_TYPES = list(FieldType)
EVENT_KINDS = list(EventKind)
GOALS = list(Goal)
MESSAGE_REASONS = [*Reason, *(kind for kind in AlertKind if kind.has_orders)]
"""Why an order was compensated, or needs an operator."""
MESSAGE_RESULTS = [status.value for status in ResultStatus]
NOTIFICATION_CHANNELS = list(MessageChannel)
NOTIFICATION_KINDS = list(MessageKind)
NOTIFICATION_STATES = list(MessageState)
ORDER_STATES = list(ProcessState)
OUTCOMES = list(Outcome)
PENDING_ACT_STATES = [*BulkItemState, BulkState.UNDONE]
REASONS = list(Reason)
RESULT_FIELD_TYPES = list(ResultType)
SITUATIONS = list(Situation)
STAGE_STATES = list(STATES)
STANDINGS = [kind.value.replace(" ", "_") for kind in StandingKind]
STEP_STATES = list(StepStatus)
WAITING_FOR = list(WaitingFor)
