"""The tables.

`order` and `customer` are the business. `state`, `channel` and `health` belong to the engine and know no product.
`outbox` holds the messages that are not steps, `desk` what operators do, `access` the tokens of the REST API,
`webhooks` what clients have us call, `requests` what they ask, `figures` what is counted over time, `shifts` what
one shift of operators leaves the next, `order_notes` what they note about orders, `pauses` what they hold back, `views`
the queries that they have saved, `presence` what they look at, and `archive` the orders that finished long ago.
`feed` is since when the feed of changes has no gap, `limits` counts what clients do, and `second_factor` and
`permissions` are about accounts.
"""

from orders.models.access import ApiToken
from orders.models.archive import ArchivedOrder
from orders.models.channel import (
    AgentReply,
    AgentRequest,
    SetAside,
    StatusCount,
    StatusMessage,
    SubmissionKey,
    SubmissionMessage,
)
from orders.models.customer import Address, CustomerTerm, TermsWalk
from orders.models.desk import ApprovalRequest, AuditEntry, AuditLink, BulkAction, BulkItem, Erasure
from orders.models.feed import FeedEpoch
from orders.models.figures import AgentFigures, AgentTally, CauseFigures, OrderFigures
from orders.models.health import (
    AgentInstance,
    Alert,
    AlertGroup,
    Circuit,
    GroupNote,
    LeaderLease,
    RetentionFailure,
    RetryBudget,
    RoleInstance,
    SweepRecord,
)
from orders.models.limits import Bucket
from orders.models.order import Order, OrderLine
from orders.models.order_notes import OrderNote
from orders.models.outbox import OrderUpdateReader, OutgoingMessage
from orders.models.pauses import IntakePause, StepPause
from orders.models.presence import Presence
from orders.models.requests import LoggedRequest
from orders.models.second_factor import TotpFactor
from orders.models.shifts import HandoverNote, OwnRunbook
from orders.models.state import Event, OrderProcess, StepState, WorkflowDefinition
from orders.models.views import SavedView
from orders.models.webhooks import WebhookDelivery, WebhookEndpoint

__all__ = [
    "Address",
    "AgentFigures",
    "AgentInstance",
    "AgentReply",
    "AgentRequest",
    "AgentTally",
    "Alert",
    "AlertGroup",
    "ApiToken",
    "ApprovalRequest",
    "ArchivedOrder",
    "AuditEntry",
    "AuditLink",
    "Bucket",
    "BulkAction",
    "BulkItem",
    "CauseFigures",
    "Circuit",
    "CustomerTerm",
    "Erasure",
    "Event",
    "FeedEpoch",
    "GroupNote",
    "HandoverNote",
    "IntakePause",
    "LeaderLease",
    "LoggedRequest",
    "Order",
    "OrderFigures",
    "OrderLine",
    "OrderNote",
    "OrderProcess",
    "OrderUpdateReader",
    "OutgoingMessage",
    "OwnRunbook",
    "Presence",
    "RetentionFailure",
    "RetryBudget",
    "RoleInstance",
    "SavedView",
    "SetAside",
    "StatusCount",
    "StatusMessage",
    "StepPause",
    "StepState",
    "SubmissionKey",
    "SubmissionMessage",
    "SweepRecord",
    "TermsWalk",
    "TotpFactor",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WorkflowDefinition",
]
