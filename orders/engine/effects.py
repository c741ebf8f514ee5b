"""What a remote service says of the effects that it has had."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One effect that a remote service has had, forward or backward, as the service lists it.

    `key` is the idempotency key that the call carried; the engine reads the order and the step from it. `operation` is
    the service's own word. `is_reversed` says that nothing is left of it, whoever took it back.
    """

    key: str
    operation: str
    at: datetime
    is_reversed: bool = False


@dataclass(frozen=True, kw_only=True)
class EffectPage:
    """Some effects, oldest first. `following` leads to the next page; empty at the end."""

    effects: Sequence[Effect]
    following: str = ""
