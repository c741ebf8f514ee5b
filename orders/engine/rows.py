"""The rows that decisions are made on, as plain tuples: model instances would slow down a pass of hundreds of
orders."""

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from orders.vocabulary import ActorKind, EventKind, Goal, Outcome, StepStatus

REST = timedelta(days=1)
"""How soon a scheduler looks again at an order that is paused until somebody resumes it."""


def is_paused(paused_at: datetime | None, paused_until: datetime | None, now: datetime) -> bool:
    """Whether an operator has paused an order, and the pause has not ended by itself."""
    return paused_at is not None and (paused_until is None or paused_until > now)


class ProcessRow(NamedTuple):
    """An `OrderProcess` that this transaction has locked."""

    order_id: UUID
    workflow: str
    version: int
    goal: str
    process_state: str
    locked_by: str | None
    complete_by: datetime | None
    failure_count: int
    overruns: int
    priority: int
    not_before: datetime | None
    reply_to: str
    started_at: datetime | None
    announced: bool
    created_at: datetime
    customer_id: int | None = None
    paused_at: datetime | None = None
    paused_until: datetime | None = None

    def is_paused(self, now: datetime) -> bool:
        """Whether an operator has paused the order, and the pause has not ended by itself."""
        return is_paused(self.paused_at, self.paused_until, now)

    def rest_until(self, now: datetime) -> datetime:
        """When the order, which is paused, is next due for a scheduler. Whoever resumes it makes it due at once."""
        return self.paused_until or now + REST


class StepRow(NamedTuple):
    """A `StepState` of a locked process, without its request and result."""

    id: int
    order_id: UUID
    name: str
    agent: str
    state: str
    attempt: int
    answered: int
    generation: int
    compensation_generation: int
    outcome: str
    complete_by: datetime | None
    settles_at: datetime | None
    not_before: datetime | None
    failure_count: int
    compensation_failure_count: int
    extended_waits: int
    error: dict[str, Any] | None
    waiting_since: datetime | None = None
    priority: int = 5
    sent_at: datetime | None = None
    wanted_since: datetime | None = None
    compensation_sent_at: datetime | None = None
    awaits: dict[str, Any] | None = None
    awaits_until: datetime | None = None
    paused_since: datetime | None = None
    next_request: dict[str, Any] | None = None

    @property
    def is_reversed_first(self) -> bool:
        """Whether its present generation is reversed before it asks for something else, in an order that goes on."""
        return self.next_request is not None

    def goes_back(self, goal: str) -> bool:
        """Whether what is sent for it next is its compensation, in an order with this goal."""
        return goal == Goal.COMPENSATE or self.is_reversed_first

    def next_generation(self) -> "StepRow":
        """The step once it is known that nothing of its present generation stands. Its next try has a new key, and asks
        for what its `next_request` says if there is one."""
        return self._replace(
            generation=self.generation + 1,
            outcome=Outcome.NONE,
            sent_at=None,
            compensation_sent_at=None,
            next_request=None,
        )

    @property
    def is_backward(self) -> bool:
        """Whether what is under way or awaited, or was last, is its compensation."""
        if self.state == StepStatus.AWAITING:
            return self.compensation_sent_at is not None
        return self.state in (StepStatus.COMPENSATING, StepStatus.COMPENSATED)

    def key(self) -> str:
        """The idempotency key of the forward effect: the same for every try of one generation (A3)."""
        return effect_key(self.order_id, self.name, self.generation)

    def compensation_key(self) -> str:
        """The idempotency key of the compensation of that effect. After a definite refusal the next one is numbered.

        Remote services have seen these keys, so their last segment stays `undo`, whatever the code calls it.
        """
        again = f"{self.compensation_generation}" if self.compensation_generation > 1 else ""
        return f"{self.key()}/undo{again}"


class EffectKey(NamedTuple):
    """What an idempotency key says of its effect: see `StepRow.key` and `StepRow.compensation_key`."""

    order_id: UUID
    step: str
    generation: int
    compensates: bool


_EFFECT_KEY = re.compile(
    r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/(.+)/([1-9][0-9]{0,8})(/undo[0-9]*)?", re.ASCII
)


def effect_key(order_id: UUID, step: str, generation: int) -> str:
    """The idempotency key of a step's forward effect."""
    return f"{order_id}/{step}/{generation}"


def read_key(key: str) -> EffectKey | None:
    """Reads an idempotency key; None if it is not one of ours."""
    match = _EFFECT_KEY.fullmatch(key)
    if match is None:
        return None
    order_id, step, generation, compensation = match.groups()
    return EffectKey(UUID(order_id), step, int(generation), compensation is not None)


class ReplyRow(NamedTuple):
    """An `AgentReply` as it was taken from its channel. `body` is JSON text: a result passes through without parsing.

    `waited` is how many seconds the request waited for a host, and `seconds` is how long the host had it. `exchange` is
    what was sent and answered, as JSON text too.
    """

    id: int
    order_id: UUID
    step_id: int
    attempt: int
    compensates: bool
    outcome: str
    body: str
    calls: int
    instance: str
    posted_at: datetime
    waited: float = 0.0
    seconds: float = 0.0
    exchange: str | None = None


class Actor(NamedTuple):
    """Who did something: a kind, and a name. The name of a process is its instance id."""

    kind: ActorKind
    name: str


class EventRow(NamedTuple):
    """An `Event` to be recorded. The state store adds the time and the position, and looks up whose order it is unless
    `customer_id` says so.

    `happened` is when it happened, by this process's `time.monotonic`, if that was a while before it is recorded.
    """

    order_id: UUID
    kind: EventKind
    actor: Actor
    step: str = ""
    attempt: int = 0
    detail: dict[str, Any] | None = None
    customer_id: int | None = None
    happened: float | None = None
