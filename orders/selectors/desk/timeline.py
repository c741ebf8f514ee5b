"""An order's history as lanes, one per step: its attempts, the waits between them, and the waits for
what comes from outside. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from orders.selectors.desk.history import EventFacts, moment
from orders.selectors.desk.standing import StepFacts
from orders.vocabulary import EventKind, StepStatus, WaitKind

STARTED = frozenset({EventKind.STEP_STARTED, EventKind.COMPENSATION_STARTED})


class AttemptOutcome(StrEnum):
    """How an attempt ended, as the chart names it."""

    UNDER_WAY = ""
    TAKEN = "taken, the answer comes later"
    DONE = "done"
    COMPENSATED = "compensated"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    RECALLED = "recalled"
    DEFERRED = "deferred"


OUTCOMES: Mapping[str, AttemptOutcome] = {
    EventKind.STEP_COMPLETED: AttemptOutcome.DONE,
    EventKind.SETTLED_DONE: AttemptOutcome.DONE,
    EventKind.STEP_COMPENSATED: AttemptOutcome.COMPENSATED,
    EventKind.SETTLED_COMPENSATED: AttemptOutcome.COMPENSATED,
    EventKind.STEP_REFUSED: AttemptOutcome.FAILED,
    EventKind.STEP_DECLINED: AttemptOutcome.FAILED,
    EventKind.STEP_FAILED: AttemptOutcome.FAILED,
    EventKind.COMPENSATION_FAILED: AttemptOutcome.FAILED,
    EventKind.STEP_TIMED_OUT: AttemptOutcome.TIMED_OUT,
    EventKind.COMPENSATION_TIMED_OUT: AttemptOutcome.TIMED_OUT,
    EventKind.STEP_RECALLED: AttemptOutcome.RECALLED,
    EventKind.STEP_DEFERRED: AttemptOutcome.DEFERRED,
}
"""How an attempt ended, by the event that ended it."""
OVER = frozenset({AttemptOutcome.DONE, AttemptOutcome.COMPENSATED})


class SpanKind(StrEnum):
    """A stretch of a lane is an attempt, a wait for the next one, or a wait for what comes from outside: a decision, an
    event, a time or a later answer."""

    ATTEMPT = "attempt"
    WAIT = "wait"
    AWAITED = "awaited"


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of time. `outcome` is how an attempt ended; `awaits` is what was awaited from outside."""

    kind: SpanKind
    begins: datetime
    ends: datetime
    attempt: int = 0
    compensates: bool = False
    outcome: AttemptOutcome = AttemptOutcome.UNDER_WAY
    awaits: str = ""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One step. `ticks` are when its attempts began."""

    step: str
    agent: str
    spans: list[Span]
    ticks: list[datetime]


@dataclass
class _Lane:
    spans: list[Span] = field(default_factory=list)
    ticks: list[datetime] = field(default_factory=list)
    started: EventFacts | None = None
    waits_from: datetime | None = None
    awaits: str = ""
    """What the wait is for, if it is for something from outside."""

    def take(self, event: EventFacts) -> None:
        if event.kind in STARTED:
            self._wait_until(event.at)
            self._end(event.at, AttemptOutcome.TIMED_OUT)
            self.started = event
            self.ticks.append(event.at)
        elif event.kind == EventKind.AWAITING and event.detail.get("kind") == WaitKind.ITEMS:
            pass  # its items have lanes of their own
        elif event.kind == EventKind.AWAITING:
            self._wait_until(event.at)
            self._end(event.at, AttemptOutcome.TAKEN)
            self.waits_from, self.awaits = event.at, str(event.detail.get("kind", WaitKind.ANSWER))
        elif event.kind == EventKind.WAITING_FOR_AGENT and self.waits_from is None:
            self.waits_from = event.at
        elif (outcome := OUTCOMES.get(event.kind)) is not None:
            self._wait_until(event.at)
            self._end(event.at, outcome)
            self.waits_from = None if outcome in OVER else event.at
            self.awaits = WaitKind.ANSWER if event.detail.get("parked_until") else ""
        elif event.kind in (EventKind.STEP_SKIPPED, EventKind.WAIT_ENDED):
            self._wait_until(event.at)

    def close(self, now: datetime, *, waits: bool) -> None:
        """Extends what is under way, or the present wait, until now."""
        if waits:
            self._wait_until(now)
        self._end(now, AttemptOutcome.UNDER_WAY)

    def _end(self, at: datetime, outcome: AttemptOutcome) -> None:
        if self.started is not None:
            attempt = self.started
            compensates = attempt.kind == EventKind.COMPENSATION_STARTED
            self.spans.append(
                Span(
                    kind=SpanKind.ATTEMPT,
                    begins=attempt.at,
                    ends=at,
                    attempt=attempt.attempt,
                    compensates=compensates,
                    outcome=outcome,
                )
            )
            self.started = None

    def _wait_until(self, at: datetime) -> None:
        if self.waits_from is not None and at > self.waits_from:
            kind = SpanKind.AWAITED if self.awaits else SpanKind.WAIT
            self.spans.append(Span(kind=kind, begins=self.waits_from, ends=at, awaits=self.awaits))
        self.waits_from, self.awaits = None, ""


def lanes(steps: Sequence[StepFacts], events: Iterable[EventFacts], *, now: datetime) -> list[Lane]:
    """The lanes of an order's steps, in the order of the steps."""
    by_step = {step.name: _Lane() for step in steps}
    for event in events:
        if (lane := by_step.get(event.step)) is not None:
            lane.take(event)
    for step in steps:
        lane = by_step[step.name]
        if lane.waits_from is None and step.waiting_since is not None:
            lane.waits_from = step.waiting_since
        lane.close(now, waits=_waits(step))
    return [
        Lane(step=step.name, agent=step.agent, spans=by_step[step.name].spans, ticks=by_step[step.name].ticks)
        for step in steps
    ]


def _waits(step: StepFacts) -> bool:
    """Whether the step is waiting to be tried, or for what comes from outside."""
    if step.state == StepStatus.AWAITING:
        return True
    unfinished = step.state in ("not_started", "failed", "compensating")
    return unfinished and step.complete_by is None and (step.attempt > 0 or step.waiting_since is not None)


def retry_after(event: EventFacts) -> datetime | None:
    """When the next try is due according to an event; None if it does not say."""
    return moment(event.detail.get("until") or event.detail.get("waits_until"))
