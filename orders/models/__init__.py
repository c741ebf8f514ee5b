"""The tables. `shop` is the business; `state`, `channel` and `operations` are the engine's and know no product."""

from orders.models.channel import (
    AgentReply,
    AgentRequest,
    SetAside,
    StatusMessage,
    SubmissionKey,
    SubmissionMessage,
)
from orders.models.customer import Address
from orders.models.operations import AgentInstance, Alert, LeaderLease
from orders.models.shop import Order, OrderLine, Product
from orders.models.state import Event, OrderProcess, StepState

__all__ = [
    "Address",
    "AgentInstance",
    "AgentReply",
    "AgentRequest",
    "Alert",
    "Event",
    "LeaderLease",
    "Order",
    "OrderLine",
    "OrderProcess",
    "Product",
    "SetAside",
    "StatusMessage",
    "StepState",
    "SubmissionKey",
    "SubmissionMessage",
]
