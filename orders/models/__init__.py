"""The tables. `shop` is the business; `state`, `channel` and `operations` are the engine's and know no product; `desk`
is the operator console's."""

from orders.models.channel import (
    AgentReply,
    AgentRequest,
    SetAside,
    StatusMessage,
    SubmissionKey,
    SubmissionMessage,
)
from orders.models.customer import Address
from orders.models.desk import AuditEntry, BulkAction, BulkItem
from orders.models.health import (
    AgentInstance,
    Alert,
    AlertGroup,
    Circuit,
    GroupNote,
    LeaderLease,
    RetryBudget,
    SweepRecord,
)
from orders.models.outbox import OutgoingMessage
from orders.models.shop import Order, OrderLine, Product
from orders.models.state import Event, OrderProcess, StepState

__all__ = [
    "Address",
    "AgentInstance",
    "AgentReply",
    "AgentRequest",
    "Alert",
    "AlertGroup",
    "AuditEntry",
    "BulkAction",
    "BulkItem",
    "Circuit",
    "Event",
    "GroupNote",
    "LeaderLease",
    "Order",
    "OrderLine",
    "OrderProcess",
    "OutgoingMessage",
    "Product",
    "RetryBudget",
    "SetAside",
    "StatusMessage",
    "StepState",
    "SubmissionKey",
    "SubmissionMessage",
    "SweepRecord",
]
