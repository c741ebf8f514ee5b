"""Where an order's time went, from its events. Pure.

All the time between two events is attributed to one cause: what the order was waiting for. In the history, a request
that waits for an agent and the call itself look the same, so both count as "agents".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from orders.vocabulary import EventKind, WaitKind


class Cause(StrEnum):
    """What an order can be waiting for."""

    QUEUE = "queue"
    SCHEDULER = "scheduler"
    AGENTS = "agents"
    COMPLETE_BY = "complete_by"
    UNAVAILABLE = "unavailable"
    BACKOFF = "backoff"
    CUSTOMER = "customer"
    OPERATOR = "operator"
    OUTSIDE = "outside"
    SETTLING = "settling"


@dataclass(frozen=True, kw_only=True)
class EventFacts:
    """An event of an order."""

    at: datetime
    kind: str
    step: str
    attempt: int
    actor_kind: str
    actor_name: str
    detail: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A stretch of time with one cause. `on` names the agents or steps; `after` is the index of the event before it."""

    cause: Cause
    on: str
    began: datetime
    seconds: float
    after: int


@dataclass(frozen=True, kw_only=True)
class TimeSpent:
    """An order's time: seconds by cause and by agent, and the longest waits, longest first."""

    total: float
    by_cause: dict[str, float]
    by_agent: dict[str, float]
    longest: list[Wait]
    failed_calls: int
    failed_call_seconds: float


ANSWERS = frozenset(
    {
        EventKind.STEP_COMPLETED,
        EventKind.STEP_COMPENSATED,
        EventKind.STEP_RENEWED,
        EventKind.STEP_REFUSED,
        EventKind.STEP_FAILED,
        EventKind.COMPENSATION_FAILED,
        EventKind.STEP_RECALLED,
    }
)

CALLS = frozenset({EventKind.CALL_FAILED, EventKind.INQUIRED})
"""What a host records of an attempt while it makes it."""


def moment(value: object) -> datetime | None:
    """The time that an event's detail has as text; None if it has none."""
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


@dataclass
class _Order:
    """What an order is waiting for, according to its events so far."""

    queued: bool = True
    stopped: bool = False
    ended: bool = False
    paused: bool = False
    held: set[str] = field(default_factory=set)
    compensating: bool = False
    unanswered: set[str] = field(default_factory=set)
    in_flight: dict[str, str] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    for_agents: dict[str, str] = field(default_factory=dict)
    awaited: dict[str, datetime | None] = field(default_factory=dict)
    waits: dict[str, tuple[Cause, datetime]] = field(default_factory=dict)

    def take(self, event: EventFacts, *, last_call: bool = False) -> None:
        """Moves on by one event. `last_call` says that after this failed call its attempt was given up."""
        self.given_up.discard(event.step)
        if event.kind not in CALLS:
            self.for_agents.pop(event.step, None)
            self.held.discard(event.step)
            if event.kind not in (EventKind.HURRIED, EventKind.REPLY_IGNORED):
                self.awaited.pop(event.step, None)
        match event.kind:
            case EventKind.RECEIVED:
                self.queued = False
            case EventKind.SET_ASIDE | EventKind.ERROR:
                self.stopped, self.waits = True, {}
            case EventKind.REPLAYED:
                self.queued, self.stopped = True, False
            case EventKind.RESUBMITTED | EventKind.COMPENSATION_REQUESTED:
                self.stopped = self.ended = False
                self.paused = self.paused and event.kind == EventKind.RESUBMITTED
                self.compensating |= event.kind == EventKind.COMPENSATION_REQUESTED
                self.waits, self.held = {}, set()
            case EventKind.PAUSED if event.step:
                self.held.add(event.step)
            case EventKind.PAUSED | EventKind.RESUMED:
                self.paused = event.kind == EventKind.PAUSED
            case EventKind.PAID_AGAIN | EventKind.CORRECTED:
                self.stopped = self.stopped and not event.detail.get("resubmits")
                self.waits.pop(event.step, None)
            case EventKind.HURRIED:
                self.waits.pop(event.step, None)
            case EventKind.STEP_SKIPPED | EventKind.SETTLED_DONE | EventKind.SETTLED_COMPENSATED:
                self.stopped = self.stopped and not event.detail.get("goes_on")
                self.waits.pop(event.step, None)
                self.unanswered.discard(event.step)
            case EventKind.PROCESSED | EventKind.COMPENSATED:
                self.ended, self.in_flight, self.awaited, self.waits = True, {}, {}, {}
            case EventKind.STEP_STARTED | EventKind.COMPENSATION_STARTED:
                self.in_flight[event.step] = str(event.detail.get("agent", event.step))
                self.waits.pop(event.step, None)
                self.unanswered.discard(event.step)
            case EventKind.STEP_DEFERRED if event.detail.get("until"):
                self.in_flight.pop(event.step, None)
                self._put_off(event, Cause.BACKOFF, event.detail.get("until"))
            case EventKind.WAITING_FOR_AGENT | EventKind.STEP_DEFERRED:
                self.in_flight.pop(event.step, None)
                self.for_agents[event.step] = str(event.detail.get("agent", event.step))
            case EventKind.AWAITING if event.detail.get("kind") != WaitKind.ITEMS:
                self.in_flight.pop(event.step, None)
                self.awaited[event.step] = moment(event.detail.get("until"))
            case EventKind.STEP_DECLINED:
                self._put_off(event, Cause.CUSTOMER, event.detail.get("waits_until"))
            case EventKind.STEP_TIMED_OUT | EventKind.COMPENSATION_TIMED_OUT:
                self.unanswered.add(event.step)
                self._put_off(event, Cause.BACKOFF, event.detail.get("until"))
            case EventKind.CALL_FAILED if last_call:
                self.given_up.add(event.step)
            case kind if kind in ANSWERS:
                self.in_flight.pop(event.step, None)

    def _put_off(self, event: EventFacts, cause: Cause, until: object) -> None:
        self.in_flight.pop(event.step, None)
        if (ends := moment(until)) is not None:
            self.waits[event.step] = cause, ends

    def cause(self) -> tuple[Cause, str, datetime | None] | None:
        """The current cause, on whom, and when it ends without anyone's help; None if the order has ended."""
        if self.ended:
            return None
        if self.stopped:
            return Cause.OPERATOR, "", None
        if self.queued:
            return Cause.QUEUE, "", None
        if self.in_flight and self.in_flight.keys() <= self.given_up:
            return Cause.COMPLETE_BY, " and ".join(sorted(self.given_up)), None
        if self.in_flight:
            return Cause.AGENTS, " and ".join(sorted(set(self.in_flight.values()))), None
        if self.paused or self.held:
            return Cause.OPERATOR, "", None
        if self.for_agents:
            return Cause.UNAVAILABLE, " and ".join(sorted(set(self.for_agents.values()))), None
        for cause in (Cause.BACKOFF, Cause.CUSTOMER):
            steps = {step: until for step, (why, until) in self.waits.items() if why is cause}
            if steps:
                return cause, " and ".join(sorted(steps)), min(steps.values())
        if self.awaited:
            ends = min((until for until in self.awaited.values() if until is not None), default=None)
            return Cause.OUTSIDE, " and ".join(sorted(self.awaited)), ends
        if self.compensating and self.unanswered:
            return Cause.SETTLING, " and ".join(sorted(self.unanswered)), None
        return Cause.SCHEDULER, "", None


def waits(events: Sequence[EventFacts], *, began: datetime, now: datetime) -> Iterator[Wait]:
    """What the order waited for, from the moment it was posted to its end, or until `now`."""
    order = _Order()
    given_up = _given_up(events)
    since = began
    for number in range(len(events) + 1):
        until = max(since, events[number].at if number < len(events) else now)
        yield from _between(order, since, until, after=number - 1)
        if number < len(events):
            order.take(events[number], last_call=number in given_up)
        since = until


def _given_up(events: Sequence[EventFacts]) -> set[int]:
    """The indexes of failed calls after which their attempts did nothing more until they timed out."""
    given_up: set[int] = set()
    timed_out: set[str] = set()
    for number in range(len(events) - 1, -1, -1):
        event = events[number]
        if event.kind == EventKind.CALL_FAILED:
            if event.step in timed_out:
                given_up.add(number)
                timed_out.discard(event.step)
        elif event.kind in (EventKind.STEP_TIMED_OUT, EventKind.COMPENSATION_TIMED_OUT):
            timed_out.add(event.step)
        else:
            timed_out.discard(event.step)
    return given_up


def _between(order: _Order, since: datetime, until: datetime, *, after: int) -> Iterator[Wait]:
    """A wait that ends without anyone's help is followed by a wait for a scheduler to notice."""
    current = order.cause()
    if current is None:
        return
    cause, on, ends = current
    turn = max(since, min(until, ends)) if ends is not None else until
    if turn > since:
        yield Wait(cause=cause, on=on, began=since, seconds=(turn - since).total_seconds(), after=after)
    if until > turn:
        yield Wait(
            cause=Cause.SCHEDULER, on="", began=turn, seconds=(until - turn).total_seconds(), after=after
        )


def time_spent(events: Sequence[EventFacts], *, began: datetime, now: datetime, most: int = 3) -> TimeSpent:
    """Where an order's time went, with its `most` longest waits."""
    stretches = _joined(waits(events, began=began, now=now))
    calls = [wait for wait in stretches if wait.cause is Cause.AGENTS]
    failed = [event.detail.get("seconds") for event in events if event.kind == EventKind.CALL_FAILED]
    return TimeSpent(
        total=sum(wait.seconds for wait in stretches),
        by_cause=_sums((wait.cause.value, wait.seconds) for wait in stretches),
        by_agent=_sums((wait.on, wait.seconds) for wait in calls),
        longest=sorted(stretches, key=lambda wait: -wait.seconds)[:most],
        failed_calls=len(failed),
        failed_call_seconds=sum(seconds for seconds in failed if isinstance(seconds, int | float)),
    )


def _sums(parts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Seconds by name, the most first."""
    sums: defaultdict[str, float] = defaultdict(float)
    for name, seconds in parts:
        sums[name] += seconds
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _joined(stretches: Iterator[Wait]) -> list[Wait]:
    """Joins waits that are separated only by events that changed nothing."""
    joined: list[Wait] = []
    for wait in stretches:
        last = joined[-1] if joined else None
        if last is not None and (last.cause, last.on) == (wait.cause, wait.on):
            joined[-1] = Wait(**{**vars(last), "seconds": last.seconds + wait.seconds})
        else:
            joined.append(wait)
    return joined
