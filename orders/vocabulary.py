"""The words that are stored, compared and served: one enumeration for each, all in one place.

The values are in the database and in the API, so a value changes only with a migration and a new version of the API.
"""

from enum import StrEnum


class Goal(StrEnum):
    """What the workflow works towards: every step completed, or every effect compensated."""

    COMPLETE = "complete"
    COMPENSATE = "compensate"


class ProcessState(StrEnum):
    """The pattern's ProcessState (T3), with `compensated` for an order whose effects were compensated."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    COMPENSATED = "compensated"


FINISHED_STATES = (ProcessState.PROCESSED, ProcessState.COMPENSATED)
"""The states in which nothing more happens to an order by itself."""


class StepStatus(StrEnum):
    """Where one step stands (T4)."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    AWAITING = "awaiting"  # parked until an answer from outside, or a time; nothing is under way for it
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"


class CallOutcome(StrEnum):
    """How one remote call ended."""

    OK = "ok"
    DECLINED = "declined"  # for a reason that the customer can fix
    TRANSIENT = "transient"
    NONTRANSIENT = "nontransient"  # refused, or unknown what it did, and a retry will not help
    TIMEOUT = "timeout"  # no answer in time, which is transient, too


class FigureSpan(StrEnum):
    """The time that one row of figures is about."""

    MINUTE = "minute"
    HOUR = "hour"


class WaitKind(StrEnum):
    """What an awaiting step waits for."""

    DECISION = "decision"
    EVENT = "event"
    DELAY = "delay"
    ANSWER = "answer"  # of the remote service, which has taken the call and answers later
    ITEMS = "items"  # the step's own items, for each of which it runs once


class WaitingFor(StrEnum):
    """Who or what an order waits for, as its client sees it: the most urgent first, if its steps wait for several."""

    CUSTOMER = "customer"
    """A step was declined: the customer changes what it asks for, or tries it again."""
    OPERATOR = "operator"
    """The order is in Error or was set aside, or a decision is open."""
    OUTSIDE = "outside"
    """An outside event, or an answer that a remote service gives later."""
    DELAY = "delay"
    """A time that the workflow itself lets pass."""
    RETRY = "retry"
    """A step did not succeed, and is tried again."""
    AGENT = "agent"
    """A step is ready, and its agent cannot take it: an outage, or too much to do."""


class Outcome(StrEnum):
    """What is known of the remote effect of the step's present generation: `unknown` from dispatch until a reply."""

    NONE = "none"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    DONE = "done"


class ReplyOutcome(StrEnum):
    """How an agent's work on a request ended (A4, A5)."""

    DONE = "done"
    REFUSED = "refused"
    """A definite no: the effect did not happen, and asking again would not help."""
    DECLINED = "declined"
    """A definite no that the customer can resolve, such as a declined card."""
    FAILED = "failed"  # it is unknown whether the effect happened
    DEFERRED = "deferred"
    """The agent cannot be used at present: ask again when it can."""
    PENDING = "pending"
    """The remote service has taken the call, and answers later."""
    ABANDONED = "abandoned"
    """The complete-by passed: nothing is posted, and the request is deleted."""


class EventKind(StrEnum):
    """What happened to an order: the kinds of its history (`Event`)."""

    RECEIVED = "received"
    DUPLICATE_IGNORED = "duplicate_ignored"
    SET_ASIDE = "set_aside"
    REPLAYED = "replayed"
    CLAIMED = "claimed"
    STEP_STARTED = "step_started"
    STEP_COMPLETED = "step_completed"
    STEP_REFUSED = "step_refused"
    STEP_DECLINED = "step_declined"
    STEP_FAILED = "step_failed"
    STEP_TIMED_OUT = "step_timed_out"
    STEP_RECALLED = "step_recalled"
    STEP_DEFERRED = "step_deferred"
    STEP_GIVEN_UP = "step_given_up"
    STEP_SKIPPED = "step_skipped"
    STEP_COMPENSATED = "step_compensated"
    STEP_RENEWED = "step_renewed"
    COMPENSATION_REQUESTED = "compensation_requested"
    COMPENSATION_STARTED = "compensation_started"
    COMPENSATION_FAILED = "compensation_failed"
    COMPENSATION_TIMED_OUT = "compensation_timed_out"
    CALL_FAILED = "call_failed"
    INQUIRED = "inquired"
    REPLY_IGNORED = "reply_ignored"
    WAITING = "waiting"
    WAITING_FOR_AGENT = "waiting_for_agent"
    AWAITING = "awaiting"
    WAIT_ENDED = "wait_ended"
    ORDER_OVERRAN = "order_overran"
    PROCESSED = "processed"
    COMPENSATED = "compensated"
    ERROR = "error"
    RESUBMITTED = "resubmitted"
    EDITED = "edited"
    HURRIED = "hurried"
    PRIORITY_SET = "priority_set"
    PAUSED = "paused"
    RESUMED = "resumed"
    VERSION_CHANGED = "version_changed"
    SETTLED_DONE = "settled_done"
    SETTLED_NOT_DONE = "settled_not_done"
    SETTLED_COMPENSATED = "settled_compensated"
    PAID_AGAIN = "paid_again"
    CORRECTED = "corrected"
    LINK_MAILED = "link_mailed"


class Reason(StrEnum):
    """Why an order is compensated (`EventKind.COMPENSATION_REQUESTED`)."""

    CUSTOMER_CANCELLED = "customer_cancelled"
    CUSTOMER_DID_NOT_RESOLVE = "customer_did_not_resolve"  # in time, after a step was declined
    DECIDED = "decided"  # by a person, or by the default of a decision that nobody made
    STEP_REMEDY = "step_remedy"
    """A step failed for good, and its remedy is to compensate the order."""
    OPERATOR_REQUESTED = "operator_requested"


class ActorKind(StrEnum):
    """The kind of an event's actor, who also has a name."""

    CUSTOMER = "customer"
    OPERATOR = "operator"
    SUBMISSION = "submission"
    SCHEDULER = "scheduler"
    AGENTS = "agents"
    SUPERVISOR = "supervisor"


class AlertKind(StrEnum):
    """What an alert asks an operator to look into."""

    STEP_FAILED = "step_failed"
    COMPENSATION_FAILED = "compensation_failed"
    ORDER_OVERRAN = "order_overran"
    UNPROCESSABLE = "unprocessable"
    SET_ASIDE = "set_aside"
    OUTAGE = "outage"
    RELEASE = "release"  # orders fail alike, or a workflow is not what they started with: it is the release
    STALLED = "stalled"  # a role makes no progress
    LATE = "late"  # orders that wait for an agent will be late at its present pace

    @property
    def has_orders(self) -> bool:
        """Whether its alerts are about orders, each in Error, rather than about what all orders need."""
        return self not in (AlertKind.OUTAGE, AlertKind.RELEASE, AlertKind.STALLED, AlertKind.LATE)

    @classmethod
    def are_about_orders(cls, kind: str) -> bool:
        """Whether alerts of this stored kind are about orders. One that only a newer release knows is about none."""
        return any(kind == each and each.has_orders for each in cls)


class DiscrepancyKind(StrEnum):
    """How a remote service and the database disagree about an effect (`manage.py reconcile`)."""

    ORDER_UNKNOWN = "order_unknown"
    """The service has an effect of an order that does not exist here."""
    STEP_BEHIND = "step_behind"
    """The service has an effect that the step, which failed, has yet to ask for under that very key."""
    NOT_RECORDED = "not_recorded"
    """The service has an effect that was not done, says the order."""
    REVERSED_THERE = "reversed_there"
    """The service has reversed an effect of an order that is not being compensated."""
    NOT_REVERSED_THERE = "not_reversed_there"
    """The step was compensated, says the order, and the service has the effect still."""
    NOT_DONE_THERE = "not_done_there"
    """The step was completed, says the order, and the service has not done it."""


class CircuitState(StrEnum):
    """What may be sent to an agent: everything, nothing, one probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class StatusKind(StrEnum):
    """The messages about an order on its application's response queue (Q3)."""

    RECEIVED = "received"
    STARTED = "started"
    DECLINED = "declined"
    """A step waits for the customer. It may have a word of its own for it (`Step.declined_as`)."""
    COMPLETED = "completed"
    FAILED = "failed"
    COMPENSATED = "compensated"


class BulkKind(StrEnum):
    """What a bulk action does to each of its orders."""

    RESUBMIT = "resubmit"
    COMPENSATE = "compensate"
    EDIT = "edit"


class BulkState(StrEnum):
    """Where a bulk action stands. `undone`: taken back before it began."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    FINISHED = "finished"
    UNDONE = "undone"


class BulkItemState(StrEnum):
    """Where one order of a bulk action stands."""

    WAITING = "waiting"
    ACTED = "acted"
    DONE = "done"
    FAILED_AGAIN = "failed"
    NOTHING = "nothing"


class ApprovalAct(StrEnum):
    """What somebody can ask an admin to approve. Each is named as the API's operation that does it."""

    SETTLE = "settle_step"
    FORCE_CIRCUIT = "force_circuit"
    UNFORCE_CIRCUIT = "unforce_circuit"
    ERASE = "erase_customer"
    COMPENSATE = "compensate_order"
    DECIDE = "decide"
    BULK = "create_bulk_action"
    PAUSE_INTAKE = "pause_intake"


class ApprovalState(StrEnum):
    """Where a request for approval stands. `lapsed`: it was approved, but the act was no longer possible."""

    WAITING = "waiting"
    APPROVED = "approved"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    LAPSED = "lapsed"


class MessageKind(StrEnum):
    """What an outgoing message is about."""

    ALERT = "alert"
    ORDER_LINK = "order_link"
    SIGN_UP = "sign_up"
    NEW_PASSWORD = "new_password"
    WEBHOOK_OFF = "webhook_off"
    HANDOVER = "handover"
    APPROVAL = "approval"
    ORDER_UPDATE = "order_update"


class MessageChannel(StrEnum):
    """How an outgoing message is delivered."""

    EMAIL = "email"
    WEBHOOK = "webhook"


class MessageState(StrEnum):
    """Where an outgoing message stands. `skipped`: there was no reason to send it."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    SKIPPED = "skipped"
    FAILED = "failed"


class DeliveryState(StrEnum):
    """Where one message to a client's webhook stands. What is not delivered is tried until it is."""

    QUEUED = "queued"
    SENDING = "sending"
    DELIVERED = "delivered"


class DisabledReason(StrEnum):
    """Why nothing is sent to a client's webhook."""

    FAILING = "failing"  # it did not take a message for three days
    GONE = "gone"  # it answered 410: it wants no more


class TokenScope(StrEnum):
    """What an API token may do, if its account may. All have `read`. `compensate`: cancel, and act on many orders."""

    READ = "read"
    ORDERS = "orders"
    PRIORITY = "priority"
    OPERATE = "operate"
    COMPENSATE = "compensate"
