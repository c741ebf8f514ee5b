"""What the engine and the business agree on: workflows, steps, remedies, agents and the messages between them.

A business declares a `Workflow` of `Step`s and writes one `Agent` per remote service; the engine does the rest and
knows neither. All times are seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias
from uuid import UUID

from orders.engine.errors import WorkflowError

Json: TypeAlias = Mapping[str, Any]


class Undo(Enum):
    """How a step is compensated (C10)."""

    REVERSE = "reverse"
    """Its effect is reversed by the agent's `compensate`, after everything that depends on it."""
    NOTICE = "notice"
    """It tells somebody: sent once everything else has been undone, whether or not the step itself ever ran."""
    NONE = "none"
    """It has no effect that would need undoing."""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What is done about a step whose failures reached the threshold (V3, V4).

    First up to `extended_waits` more tries, each after `wait` seconds; then `then`: leave the order in Error for an
    operator, or request that the whole order be undone.
    """

    extended_waits: int = 0
    wait: float = 300.0
    then: Literal["error", "compensate"] = "error"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a workflow.

    `data` picks what the agent needs out of the order's description, once, when the order is inserted; `needs` names
    the earlier steps whose results travel with the request. `settle` is how long after its complete-by a forward call
    may still land; an undo waits for it. `customer_wait` is how long a declined step waits for the customer. `patience`
    is how long it waits for an agent that cannot take it; `key_retention` how long the remote service remembers a key:
    after that a step whose outcome is unknown is never sent again by itself (P2).
    """

    name: str
    agent: str
    operation: str
    data: Callable[[Json], Json]
    after: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    complete_by: float = 30.0
    settle: float = 5.0
    customer_wait: float = 3_600.0
    patience: float = 86_400.0
    key_retention: float = 7 * 86_400.0
    remedy: Remedy = field(default_factory=Remedy)
    undo: Undo = Undo.REVERSE
    editable: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A named, versioned set of steps. Raises `WorkflowError` when the steps cannot be run in any order.

    An order finishes on the version it started with, so a version that orders may still be on must not change.
    """

    name: str
    version: int
    steps: tuple[Step, ...]
    complete_by: float = 600.0

    def __post_init__(self) -> None:
        earlier: dict[str, set[str]] = {}
        for step in self.steps:
            for other in (*step.after, *step.needs):
                if other not in earlier:
                    raise self._error(
                        f"step {step.name!r} comes after {other!r}, which is not declared before it"
                    )
            if step.name in earlier:
                raise self._error(f"step {step.name!r} is declared twice")
            earlier[step.name] = set(step.after).union(*(earlier[other] for other in step.after))
            if missing := set(step.needs) - earlier[step.name]:
                raise self._error(f"step {step.name!r} needs {sorted(missing)}, which it does not come after")
        if not self.steps:
            raise WorkflowError(f"{self.name} v{self.version} has no steps")

    def _error(self, text: str) -> WorkflowError:
        return WorkflowError(f"{self.name} v{self.version}: {text}")

    @cached_property
    def by_name(self) -> dict[str, Step]:
        """The steps by their names."""
        return {step.name: step for step in self.steps}

    @cached_property
    def dependents(self) -> dict[str, tuple[str, ...]]:
        """For each step all steps that depend on it, directly or through others."""
        found: dict[str, set[str]] = {step.name: set() for step in self.steps}
        for step in reversed(self.steps):
            for earlier in step.after:
                found[earlier] |= {step.name} | found[step.name]
        return {name: tuple(sorted(names)) for name, names in found.items()}


WorkflowKey: TypeAlias = tuple[str, int]
Workflows: TypeAlias = Mapping[WorkflowKey, Workflow]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an agent is asked to do (C5). `key` is the same for every try of the same effect (A3).

    `data` is the step's own data, `results` the answers of the steps it needs. For an undo `reverses` is the key of the
    forward call, which may or may not have had its effect. `seconds_left` was the time to complete-by when the request
    was claimed; a host stops its agents by it.
    """

    order_id: UUID
    step: str
    operation: str
    attempt: int
    key: str
    data: Json
    results: Mapping[str, Json]
    undo: bool
    reverses: str
    seconds_left: float


class Agent(Protocol):
    """Wraps one remote service (A1). Its host retries, keeps the time and posts the reply.

    Both methods return what should be kept of the answer, and raise a `Fault` when the call did not succeed. Each is
    one try: it may be cancelled at any moment, and run again with the same key (A7).
    """

    name: str
    capacity: int
    call_timeout: float

    async def perform(self, request: Request) -> Json:
        """Does the step's effect, at most once per `request.key`."""

    async def compensate(self, request: Request) -> Json:
        """Undoes the effect of `request.reverses`, and sees to it that it can no longer happen if it has not."""

    async def close(self) -> None:
        """Gives up its connections. Called once, when its host stops."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A submission message as the intake sees it (S1)."""

    order_id: UUID
    client: str
    body: Json
    posted_at: datetime


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """An order that the intake inserted, and the workflow that it is to go through."""

    submission: Submission
    workflow: Workflow
    priority: int
    reply_to: str
    description: Json


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """A submission that can never be inserted, and why, in words for an operator."""

    submission: Submission
    reason: str


@dataclass(frozen=True, kw_only=True)
class Duplicate:
    """A submission whose order exists already: the message came twice, and the second one changes nothing (S3)."""

    submission: Submission


class Intake(Protocol):
    """Validates submissions and inserts their orders, inside the caller's transaction (S2)."""

    def __call__(self, submissions: Sequence[Submission]) -> Sequence[Accepted | Duplicate | Rejected]:
        """Answers for each submission, in their order."""
