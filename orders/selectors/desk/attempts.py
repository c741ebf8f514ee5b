"""The attempts of an order's steps, from its history: how each went, and the calls that failed in it. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import StepFacts
from orders.selectors.desk.timeline import ENDS, OUTCOMES, STARTED, AttemptOutcome
from orders.vocabulary import ActorKind, EventKind

PEOPLE = frozenset({ActorKind.OPERATOR.value, ActorKind.CUSTOMER.value})
"""What these do is never hidden among the events of an attempt."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt of a step with its events, the earliest first. `is_last` says that no other has followed yet.

    `number` is as it is stored; one that reverses the step is its `reversal` of that number, otherwise that is 0.
    """

    step: str
    number: int
    events: Sequence[EventFacts]
    is_last: bool
    reversal: int = 0

    @property
    def began(self) -> datetime:
        """When it was started or, if that event is not there, when it first was heard of."""
        return next((event.at for event in self.events if event.kind in STARTED), self.events[0].at)

    @property
    def ending(self) -> EventFacts | None:
        """The event that ended it; None while none has."""
        return next((event for event in reversed(self.events) if event.kind in OUTCOMES), None)

    @property
    def ended(self) -> datetime | None:
        """When it ended. One that another attempt has followed without such an event ended with its last event."""
        if ending := self.ending:
            return ending.at
        return None if self.is_last else self.events[-1].at

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it is under way."""
        return None if self.ended is None else (self.ended - self.began).total_seconds()

    @property
    def outcome(self) -> AttemptOutcome:
        """How it ended, or whether it is under way."""
        if ending := self.ending:
            return OUTCOMES[ending.kind]
        if not self.is_last:
            return AttemptOutcome.TIMED_OUT
        is_taken = any(event.kind == EventKind.AWAITING for event in self.events)
        return AttemptOutcome.TAKEN if is_taken else AttemptOutcome.UNDER_WAY

    @property
    def compensates(self) -> bool:
        """Whether it reverses the step."""
        return self.reversal > 0

    @property
    def key(self) -> str:
        """The idempotency key of its calls; empty if it is not known."""
        return next((str(event.detail["key"]) for event in self.events if "key" in event.detail), "")

    @property
    def failed_calls(self) -> list[EventFacts]:
        """Its calls that failed, the first one first."""
        return [event for event in self.events if event.kind == EventKind.CALL_FAILED]


def attempts(events: Iterable[EventFacts], steps: Sequence[StepFacts]) -> list[Attempt]:
    """Every attempt, in the order in which they began."""
    by_attempt: dict[tuple[str, int], list[EventFacts]] = {}
    for event in events:
        if event.step and event.attempt and event.kind not in ENDS:
            by_attempt.setdefault((event.step, event.attempt), []).append(event)
    last = dict(sorted(by_attempt))
    last |= {step.name: max(step.attempt, last.get(step.name, 0)) for step in steps}
    reversals: Counter[str] = Counter()
    every_attempt = []
    for (step, number), of in by_attempt.items():
        compensates = any(event.kind == EventKind.COMPENSATION_STARTED for event in of)
        reversals[step] += compensates
        reversal = reversals[step] if compensates else 0
        every_attempt.append(
            Attempt(step=step, number=number, events=of, is_last=number == last[step], reversal=reversal)
        )
    return every_attempt


def is_folded(event: EventFacts) -> bool:
    """Whether an event is shown within its attempt, and not as one of the order itself."""
    return bool(event.step and event.attempt) and event.kind not in ENDS and event.actor_kind not in PEOPLE


def runs(events: Iterable[EventFacts]) -> Iterator[list[EventFacts]]:
    """Runs of calls of one attempt that failed in the same way. Every other event forms its own run."""

    def alike(event: EventFacts) -> object:
        if event.kind != EventKind.CALL_FAILED:
            return id(event)
        return event.step, event.attempt, event.detail.get("code"), event.detail.get("message")

    for _, run in groupby(events, key=alike):
        yield list(run)
