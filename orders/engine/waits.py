"""What a step may wait for besides its agent's reply: a person's decision, an outside event, a time, or an answer that
comes later.

While a step waits, no thread, lease, credit or connection is held for it, and no failure is counted. All times are in
seconds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from orders.engine.errors import WorkflowError
from orders.vocabulary import WaitKind


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A person decides. The step's result is `{"choice": …, "by": …, "note": …}`.

    A choice that `compensates` names has the whole order compensated. `default` is the choice that is taken when nobody
    has decided `within` that time; without one, the step fails, and its remedy applies at once. Raises `WorkflowError`
    if it cannot be decided like that.
    """

    choices: tuple[str, ...] = ("accept", "reject")
    compensates: tuple[str, ...] = ("reject",)
    within: float = 86_400.0
    default: str | None = None

    def __post_init__(self) -> None:
        _check_within(self.within)
        if not self.choices or len(set(self.choices)) < len(self.choices) or not all(self.choices):
            raise WorkflowError(f"a decision needs different choices, each with a name, not {self.choices}")
        named = (*self.compensates, *(() if self.default is None else (self.default,)))
        if strangers := sorted(set(named) - set(self.choices)):
            raise WorkflowError(f"a decision names {strangers}, which {self.choices} does not have")

    @property
    def definition(self) -> dict[str, Any]:
        """What of it must not change while orders are on it."""
        return {**self.stored, "compensates": sorted(self.compensates), "default": self.default}

    @property
    def stored(self) -> dict[str, Any]:
        """What is kept with a step that waits for it."""
        return {"kind": WaitKind.DECISION.value, "choices": list(self.choices)}

    @property
    def default_result(self) -> Mapping[str, Any] | None:
        """The result if nobody decides in time; None if the step fails then."""
        return None if self.default is None else {"choice": self.default, "by": "", "note": ""}


@dataclass(frozen=True, kw_only=True)
class OutsideEvent:
    """Something happens outside, and somebody reports it under the step's name. The result is what came with it.

    `default` is the result if nothing is reported `within` that time; without one, the step fails, and its remedy
    applies at once. Raises `WorkflowError` if the time is none.
    """

    within: float
    default: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _check_within(self.within)

    @property
    def definition(self) -> dict[str, Any]:
        """What of it must not change while orders are on it."""
        return {**self.stored, "default": None if self.default is None else dict(self.default)}

    @property
    def stored(self) -> dict[str, Any]:
        """What is kept with a step that waits for it."""
        return {"kind": WaitKind.EVENT.value}

    @property
    def default_result(self) -> Mapping[str, Any] | None:
        """The result if nothing is reported in time; None if the step fails then."""
        return self.default


@dataclass(frozen=True, kw_only=True)
class Delay:
    """The step completes by itself, `seconds` after its turn has come, or at a moment that `until` picks.

    `until` is a pure function of the step's own data, called when the order is inserted, and again if it is edited or
    moves to another version before. It returns a time with its zone; in the past, the step completes at once. Raises
    `WorkflowError` unless there is exactly one of the two.
    """

    seconds: float | None = None
    until: Callable[[Mapping[str, Any]], datetime] | None = None

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.until is None):
            raise WorkflowError("a delay has either seconds or until")
        if self.seconds is not None:
            _check_within(self.seconds)

    @property
    def definition(self) -> dict[str, Any]:
        """What of it must not change while orders are on it."""
        return self.stored

    @property
    def stored(self) -> dict[str, Any]:
        """What is kept with a step that waits for it."""
        return {"kind": WaitKind.DELAY.value}


Wait: TypeAlias = Decision | OutsideEvent | Delay
"""What a step without an agent waits for."""


def asks_to_compensate(wait: Wait | None, result: Mapping[str, Any] | None) -> bool:
    """Whether this result of the wait is a choice that has the order compensated."""
    return isinstance(wait, Decision) and result is not None and result["choice"] in wait.compensates


@dataclass(frozen=True, kw_only=True)
class Pending:
    """What `perform` or `compensate` returns when the remote service has taken the call, and answers later.

    The answer may come to `POST /callbacks/{token}`, for which the agent hands `Request.callback_token` on. With
    `poll_after` the step is sent again after that time, with the same key, and the agent answers as before; an agent
    that has `inquire` is asked first. `within` counts from the first `Pending` for a key. Without an answer by then the
    attempt counts as one that timed out. `reference` is what the service calls the matter; later requests of the step
    carry it.
    """

    within: float
    reference: str = ""
    poll_after: float | None = None


def _check_within(seconds: float) -> None:
    if not 0 < seconds <= LONGEST_WAIT:
        raise WorkflowError(f"a wait lasts more than 0 s and at most {LONGEST_WAIT:.0f} s, not {seconds}")


LONGEST_WAIT = 10 * 366 * 86_400.0
"""Seconds; ten years."""
