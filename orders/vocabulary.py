"""The words of the state machines (docs/state-machines.md), for the models and for the engine's decisions alike."""

from enum import StrEnum


class Goal(StrEnum):
    """What the workflow is working towards: every step completed, or every effect undone."""

    COMPLETE = "complete"
    COMPENSATE = "compensate"


class ProcessState(StrEnum):
    """The pattern's ProcessState (T3), with `compensated` for an order that was undone."""

    PENDING = "pending"
    PROCESSING = "processing"
    PROCESSED = "processed"
    ERROR = "error"
    COMPENSATED = "compensated"


class StepStatus(StrEnum):
    """Where one step stands (T4)."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"


class Outcome(StrEnum):
    """What is known of the remote effect of the step's present generation: `unknown` from dispatch until a reply."""

    NONE = "none"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    DONE = "done"
