"""What the acts on orders and agents return."""

from dataclasses import dataclass
from enum import Enum

from orders.engine.errors import SaswebError


class ResultStatus(Enum):
    """How an act ended."""

    DONE = "done"
    ALREADY = "already"
    """The act had already been done, or was no longer needed. Nothing was changed."""
    REFUSED = "refused"
    """The present state does not allow the act. Nothing was changed."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How an act ended, and a sentence about it for the person who requested it."""

    status: ResultStatus
    message: str
    cause: SaswebError | None = None
    """What refused the act, for those who tell refusals apart by more than their sentences."""


class UnconfirmedError(SaswebError):
    """The cause where an act was not confirmed, or wrongly."""


class EndsTooEarlyError(SaswebError):
    """The cause where a pause is to end in the past."""
