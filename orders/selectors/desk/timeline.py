"""An order's history as lanes, one per step: its attempts, the waits between them, and the waits for
what comes from outside. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from orders.selectors.desk.history import EventFacts, moment
from orders.selectors.desk.standing import StepFacts
from orders.vocabulary import EventKind, Goal, Outcome, StepStatus, WaitKind

STARTED = frozenset({EventKind.STEP_STARTED, EventKind.COMPENSATION_STARTED})


class AttemptOutcome(StrEnum):
    """How an attempt ended, as the chart names it."""

    UNDER_WAY = ""
    TAKEN = "taken, the answer comes later"
    DONE = "done"
    COMPENSATED = "reversed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    RECALLED = "taken back"
    DEFERRED = "postponed"


OUTCOMES: Mapping[str, AttemptOutcome] = {
    EventKind.STEP_COMPLETED: AttemptOutcome.DONE,
    EventKind.SETTLED_DONE: AttemptOutcome.DONE,
    EventKind.STEP_COMPENSATED: AttemptOutcome.COMPENSATED,
    EventKind.SETTLED_COMPENSATED: AttemptOutcome.COMPENSATED,
    EventKind.STEP_RENEWED: AttemptOutcome.COMPENSATED,
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
FINAL = frozenset({EventKind.STEP_REFUSED, EventKind.STEP_FAILED, EventKind.COMPENSATION_FAILED})
"""After these nothing goes on by itself: a person has to act, or the order is cancelled."""
NO_RETRY = frozenset({"fail", "compensate", "default"})
"""The rulings about an attempt without an answer that no other attempt follows."""
ENDS = frozenset(
    {EventKind.ERROR, EventKind.PROCESSED, EventKind.COMPENSATED, EventKind.COMPENSATION_REQUESTED}
)
"""What ends the waits of every step."""
CUSTOMER = "customer"
"""What a declined step waits for. It is no kind of wait of a workflow."""


class SpanKind(StrEnum):
    """A stretch of a lane is an attempt, a wait for the next one, or a wait for what comes from outside: a decision, an
    event, a time or a later answer."""

    ATTEMPT = "attempt"
    WAIT = "wait"
    AWAITED = "awaited"


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of time. `outcome` is how an attempt ended; `awaits` is what was awaited from outside. An attempt that
    reverses the step is its `reversal` of that number, otherwise that is 0."""

    kind: SpanKind
    begins: datetime
    ends: datetime
    attempt: int = 0
    reversal: int = 0
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
    reversals: int = 0
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
            self._wait_after(event, outcome)
        elif event.kind in (EventKind.RESUBMITTED, EventKind.PAID_AGAIN, EventKind.CORRECTED):
            self._wait_until(event.at)
            self.waits_from = event.at
        elif event.kind in (EventKind.STEP_SKIPPED, EventKind.WAIT_ENDED):
            self._wait_until(event.at)

    def stop(self, event: EventFacts) -> None:
        """Ends the wait with the order. One for an unanswered call to settle goes on while the order is cancelled."""
        settles = bool(self.spans) and self.spans[-1].outcome is AttemptOutcome.TIMED_OUT
        if event.kind != EventKind.COMPENSATION_REQUESTED or not settles:
            self._wait_until(event.at)

    def close(self, now: datetime, *, waits: bool) -> None:
        """Extends what is under way, or the present wait, until now."""
        if waits:
            self._wait_until(now)
        self._end(now, AttemptOutcome.UNDER_WAY)

    def _wait_after(self, event: EventFacts, outcome: AttemptOutcome) -> None:
        goes_on = event.kind == EventKind.STEP_RENEWED  # it is done anew
        is_over = (
            (outcome in OVER and not goes_on) or event.kind in FINAL or event.detail.get("ruling") in NO_RETRY
        )
        if is_over and not event.detail.get("parked_until"):
            return
        self.waits_from = event.at
        if event.kind == EventKind.STEP_DECLINED:
            self.awaits = CUSTOMER
        else:
            self.awaits = WaitKind.ANSWER if event.detail.get("parked_until") else ""

    def _end(self, at: datetime, outcome: AttemptOutcome) -> None:
        if self.started is not None:
            attempt = self.started
            if attempt.kind == EventKind.COMPENSATION_STARTED:
                self.reversals += 1
            self.spans.append(
                Span(
                    kind=SpanKind.ATTEMPT,
                    begins=attempt.at,
                    ends=at,
                    attempt=attempt.attempt,
                    reversal=self.reversals if attempt.kind == EventKind.COMPENSATION_STARTED else 0,
                    outcome=outcome,
                )
            )
            self.started = None

    def _wait_until(self, at: datetime) -> None:
        if self.waits_from is not None and at > self.waits_from:
            kind = SpanKind.AWAITED if self.awaits else SpanKind.WAIT
            self.spans.append(Span(kind=kind, begins=self.waits_from, ends=at, awaits=self.awaits))
        self.waits_from, self.awaits = None, ""


def lanes(
    steps: Sequence[StepFacts],
    events: Iterable[EventFacts],
    *,
    now: datetime,
    goal: str = Goal.COMPLETE,
    is_stopped: bool = False,
) -> list[Lane]:
    """The lanes of an order's steps, in the order of the steps. An order that has ended, or is in Error, is stopped:
    nothing of it waits for what comes by itself."""
    by_step = {step.name: _Lane() for step in steps}
    for event in events:
        if event.kind in ENDS:
            for lane in by_step.values():
                lane.stop(event)
        elif event.step in by_step:
            by_step[event.step].take(event)
    for step in steps:
        lane = by_step[step.name]
        if lane.waits_from is None and step.waiting_since is not None:
            lane.waits_from = step.waiting_since
        lane.close(now, waits=not is_stopped and _waits(step, goal))
    return [
        Lane(step=step.name, agent=step.agent, spans=by_step[step.name].spans, ticks=by_step[step.name].ticks)
        for step in steps
    ]


def _waits(step: StepFacts, goal: str) -> bool:
    """Whether the step is waiting to be tried, or for what comes from outside."""
    if step.state == StepStatus.AWAITING:
        return True
    if step.complete_by is not None:
        return False
    if goal == Goal.COMPENSATE and step.state in (StepStatus.NOT_STARTED, StepStatus.FAILED):
        return step.outcome == Outcome.UNKNOWN  # it is reversed once its call can no longer take effect
    if step.state == StepStatus.FAILED:
        return (
            step.not_before is not None
        )  # its customer has time to resolve it; otherwise it has failed for good
    unfinished = step.state in (StepStatus.NOT_STARTED, StepStatus.COMPENSATING)
    return unfinished and (step.attempt > 0 or step.waiting_since is not None)


def retry_after(event: EventFacts) -> datetime | None:
    """When the next try is due according to an event; None if it does not say."""
    return moment(event.detail.get("until") or event.detail.get("waits_until"))
