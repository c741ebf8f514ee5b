"""What a step falls back on: how it is compensated, and what happens when it keeps failing."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class Compensation(Enum):
    """How a step is compensated (C10)."""

    REVERSE = "reverse"
    """The agent's `compensate` reverses its effect, once every step that depends on it has been compensated."""
    NOTICE = "notice"
    """A notice is sent once everything else has been compensated, whether or not the step itself ever ran."""
    NONE = "none"
    """It has no effect that needs reversing."""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What happens when a step's failures reach the threshold (V3, V4).

    First come up to `extended_waits` more attempts, each after `wait` seconds. Then, as `then` says, the order is put
    into Error for an operator, or compensated as a whole.
    """

    extended_waits: int = 0
    wait: float = 300.0
    then: Literal["error", "compensate"] = "error"
