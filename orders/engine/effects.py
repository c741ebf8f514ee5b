"""What a remote service says of its calls and of the effects that it has had."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from orders.engine.waits import Pending


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


@dataclass(frozen=True, kw_only=True)
class Done:
    """The remote service did it. `result` is what `perform` or `compensate` would have returned."""

    result: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class NotDone:
    """The remote service has not done it. Whether it still may is for the engine to judge (see `Step.settle`)."""


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """The remote service cannot tell, or is still working on it. `reason` is for operators."""

    reason: str


Finding: TypeAlias = Done | NotDone | Unknown | Pending
