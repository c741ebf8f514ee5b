"""What a service answers."""

from dataclasses import dataclass
from enum import Enum


class ResultStatus(Enum):
    """What came of an act."""

    DONE = "done"
    ALREADY = "already"
    """It had been done before, or had become unnecessary: nothing was changed."""
    REFUSED = "refused"
    """The order is in a state in which it cannot be done: nothing was changed."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of an act, with a sentence for who asked for it."""

    status: ResultStatus
    said: str
