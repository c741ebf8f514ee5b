"""Where an order really stands: not just "processing", but what it waits for, on which try, and until when.

Pure. A `Standing` has the facts; `orders.wording.standings` has the words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from orders.vocabulary import FINISHED_STATES, Goal, Outcome, ProcessState, StepStatus, WaitKind

LEAST_TIME = timedelta(seconds=5)
"""How long one try may take. With less time left, a step without an answer will probably miss its complete-by."""


class StandingKind(StrEnum):
    """Where an order or a step stands, most urgent first: an order stands where its most urgent step does."""

    COMPENSATION_FAILED = "compensation failed"
    ERROR = "error"
    OVERDUE = "overdue"
    AT_RISK = "at risk"
    CUSTOMER = "waiting for customer"
    DECISION = "waiting for a decision"
    PAUSED = "paused"
    EXTENDED_WAIT = "extended wait"
    RETRYING = "retrying"
    AGENT = "waiting for agent"
    SETTLING = "settling"
    ANSWER = "waiting for an answer"
    DELAY = "waiting for its time"
    RUNNING = "running"
    SCHEDULER = "waiting for a scheduler"
    COMPENSATED = "compensated"
    PROCESSED = "processed"


PARKED: Mapping[str, StandingKind] = {
    WaitKind.DECISION: StandingKind.DECISION,
    WaitKind.DELAY: StandingKind.DELAY,
}
"""Where an awaiting step stands, by what it waits for: for an answer, unless it is here."""
URGENCY = {kind: place for place, kind in enumerate(StandingKind)}


@dataclass(frozen=True, kw_only=True)
class RetryLimits:
    """How many failures of a step are allowed, going forward and compensating."""

    forward: int = 3
    backward: int = 6


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where an order or a step stands.

    `on` is its agent. `since` is when it began to stand there, `until` when its wait ends or its time is up.
    `failures` of at most `limit` have been counted. `compensating` says that it is being compensated, and
    `is_reversed_first` that its step is reversed on the order's way forward, before it asks for something else.
    """

    kind: StandingKind
    on: str = ""
    until: datetime | None = None
    since: datetime | None = None
    attempt: int = 0
    failures: int = 0
    limit: int = 0
    compensating: bool = False
    is_reversed_first: bool = False


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """A step as it is stored, with its request if one is outstanding (`asked_at`, and `held_by` while leased).

    `waiting_since` is set while it is ready but not dispatched because its agent cannot take it. `wanted_since` is when
    it first waited for its agent, and stays set while the step is a probe. `paused_since` is set while it is ready but
    paused in all orders. `awaits` is what an awaiting step waits for.
    """

    name: str
    agent: str
    state: str
    outcome: str
    attempt: int
    generation: int
    failure_count: int
    compensation_failure_count: int
    extended_waits: int
    complete_by: datetime | None
    settles_at: datetime | None
    not_before: datetime | None
    key: str
    error: dict[str, object] | None
    started_at: datetime | None
    completed_at: datetime | None
    asked_at: datetime | None = None
    held_by: str | None = None
    waiting_since: datetime | None = None
    wanted_since: datetime | None = None
    paused_since: datetime | None = None
    awaits: str = ""
    is_reversed_first: bool = False


@dataclass(frozen=True, kw_only=True)
class ProcessFacts:
    """An order's process as it is stored."""

    state: str
    goal: str
    complete_by: datetime | None
    not_before: datetime | None
    created_at: datetime
    started_at: datetime | None


def step_standing(
    step: StepFacts, goal: str, *, due_at: datetime | None, retry_limits: RetryLimits, now: datetime
) -> Standing | None:
    """Where a step of an order under way stands; None if it is finished or its turn has not come.

    At `due_at` a scheduler turns to the order again; None if it may at any time.
    """
    standing = _stands(step, goal, due_at, retry_limits, now)
    is_first = step.is_reversed_first and goal == Goal.COMPLETE
    return standing and replace(standing, is_reversed_first=is_first)


def _stands(
    step: StepFacts, goal: str, due_at: datetime | None, retry_limits: RetryLimits, now: datetime
) -> Standing | None:
    compensating = goal == Goal.COMPENSATE
    if step.state in (StepStatus.RUNNING, StepStatus.COMPENSATING) and step.complete_by is not None:
        return _in_flight(step, retry_limits, now)
    if step.paused_since is not None:
        return _paused(step, retry_limits)
    if step.state == StepStatus.AWAITING and step.awaits == WaitKind.ITEMS:
        return None  # they stand where they are themselves
    if step.state == StepStatus.AWAITING:
        return _parked(step, retry_limits, now)
    if step.waiting_since is not None:
        return _for_agent(step, retry_limits)
    if step.state == StepStatus.COMPENSATING:
        return _put_off(step, due_at, retry_limits, now)
    if compensating and step.state in (StepStatus.NOT_STARTED, StepStatus.FAILED):
        if step.outcome != Outcome.UNKNOWN:
            return None
        settling = step.settles_at is not None and step.settles_at > now
        kind = StandingKind.SETTLING if settling else StandingKind.SCHEDULER
        return Standing(kind=kind, on=step.agent, until=step.settles_at if settling else None)
    if step.state == StepStatus.FAILED:
        if step.not_before is None:
            return None
        kind = StandingKind.CUSTOMER if step.not_before > now else StandingKind.SCHEDULER
        return Standing(kind=kind, on=step.agent, until=step.not_before)
    if step.state == StepStatus.NOT_STARTED and step.attempt:
        return _put_off(step, due_at, retry_limits, now)
    return None


def _in_flight(step: StepFacts, retry_limits: RetryLimits, now: datetime) -> Standing:
    failures, limit = _counted(step, retry_limits)
    assert step.complete_by is not None
    until: datetime | None = step.complete_by
    if step.complete_by <= now:
        kind = StandingKind.OVERDUE
    elif step.asked_at is not None and step.held_by is None:
        kind = StandingKind.AGENT
    elif step.complete_by - now < LEAST_TIME:
        kind = StandingKind.AT_RISK
    elif failures or (step.attempt > 1 and step.state == StepStatus.RUNNING):
        kind, until = StandingKind.RETRYING, None
    else:
        kind = StandingKind.RUNNING
    return Standing(
        kind=kind,
        on=step.agent,
        until=until,
        since=step.asked_at,
        attempt=step.attempt,
        failures=failures,
        limit=limit,
    )


def _parked(step: StepFacts, retry_limits: RetryLimits, now: datetime) -> Standing:
    """A step that waits for an answer from outside, or for a time. Nothing is under way for it."""
    failures, limit = _counted(step, retry_limits)
    is_late = step.complete_by is not None and step.complete_by <= now
    kind = PARKED.get(step.awaits, StandingKind.ANSWER)
    return Standing(
        kind=StandingKind.OVERDUE if is_late else kind,
        on=step.agent or step.name,
        until=step.complete_by or step.not_before,
        attempt=step.attempt,
        failures=failures,
        limit=limit,
    )


def _for_agent(step: StepFacts, retry_limits: RetryLimits) -> Standing:
    """A step that is ready and waits until its agent can take it. It has no complete-by and is not late."""
    failures, limit = _counted(step, retry_limits)
    since = step.wanted_since or step.waiting_since
    return Standing(kind=StandingKind.AGENT, on=step.agent, since=since, failures=failures, limit=limit)


def _paused(step: StepFacts, retry_limits: RetryLimits) -> Standing:
    """A step that an operator has paused in all orders of its workflow."""
    failures, limit = _counted(step, retry_limits)
    return Standing(
        kind=StandingKind.PAUSED, on=step.name, since=step.paused_since, failures=failures, limit=limit
    )


def _put_off(step: StepFacts, due_at: datetime | None, retry_limits: RetryLimits, now: datetime) -> Standing:
    """A step that was tried before and is not in flight: it waits for its time, or then for a scheduler."""
    failures, limit = _counted(step, retry_limits)
    until = step.not_before
    if step.not_before is None or step.not_before <= now:
        if _settles(step, due_at, now):
            kind, until = StandingKind.SETTLING, step.settles_at
        else:
            kind = StandingKind.SCHEDULER
    elif step.state == StepStatus.NOT_STARTED and step.extended_waits:
        kind = StandingKind.EXTENDED_WAIT
    else:
        kind = StandingKind.RETRYING
    return Standing(kind=kind, on=step.agent, until=until, failures=failures, limit=limit)


def _settles(step: StepFacts, due_at: datetime | None, now: datetime) -> bool:
    """Whether a step that could be sent again waits until its unanswered call can no longer take effect.

    That is so if its remote service does not recognise the key. A scheduler has looked then, and put the order off.
    """
    may_be_done = step.state == StepStatus.COMPENSATING or step.outcome == Outcome.UNKNOWN
    is_put_off = due_at is not None and due_at > now
    return may_be_done and is_put_off and step.settles_at is not None and step.settles_at > now


def _counted(step: StepFacts, retry_limits: RetryLimits) -> tuple[int, int]:
    if step.state == StepStatus.COMPENSATING:
        return step.compensation_failure_count, retry_limits.backward
    return step.failure_count, retry_limits.forward


def order_standing(
    process: ProcessFacts, steps: Sequence[StepFacts], *, retry_limits: RetryLimits, now: datetime
) -> tuple[Standing, list[tuple[StepFacts, Standing]]]:
    """Where an order stands, and its current steps with where each of them stands."""
    compensating = process.goal == Goal.COMPENSATE
    if process.state in FINISHED_STATES:
        return Standing(kind=StandingKind(process.state), compensating=compensating), []
    if process.state == ProcessState.ERROR:
        return _in_error(steps, compensating)
    current = [
        (step, standing)
        for step in steps
        if (
            standing := step_standing(
                step, process.goal, due_at=process.not_before, retry_limits=retry_limits, now=now
            )
        )
        is not None
    ]
    worst = min(
        (standing for _, standing in current), key=lambda standing: URGENCY[standing.kind], default=None
    )
    return replace(_whole(process, worst, now), compensating=compensating), current


def _in_error(
    steps: Sequence[StepFacts], compensating: bool
) -> tuple[Standing, list[tuple[StepFacts, Standing]]]:
    """An order in Error is at the steps that failed or, if it was being compensated, whose compensation failed."""
    failed = [step for step in steps if step.state == StepStatus.FAILED and step.not_before is None]
    if compensating:
        failed = [step for step in failed if step.compensation_failure_count] or failed
    kind = StandingKind.COMPENSATION_FAILED if compensating else StandingKind.ERROR
    at = [
        (
            step,
            Standing(
                kind=kind,
                on=step.agent,
                compensating=compensating,
                is_reversed_first=step.is_reversed_first and not compensating,
            ),
        )
        for step in failed
    ]
    return at[0][1] if at else Standing(kind=kind, compensating=compensating), at


def _whole(process: ProcessFacts, worst: Standing | None, now: datetime) -> Standing:
    """The order's own complete-by may be more urgent than its most urgent step."""
    if process.state == ProcessState.PROCESSING and process.complete_by is not None:
        if process.complete_by <= now:
            return Standing(kind=StandingKind.OVERDUE, until=process.complete_by)
        is_parked = worst is not None and worst.kind in (StandingKind.ANSWER, *PARKED.values())
        last_wait = worst.until if worst and worst.until and not is_parked else now
        misses = last_wait >= process.complete_by or process.complete_by - now < LEAST_TIME
        if misses and (worst is None or URGENCY[worst.kind] > URGENCY[StandingKind.AT_RISK]):
            return Standing(kind=StandingKind.AT_RISK, until=process.complete_by)
    if worst is not None:
        return worst
    since = process.created_at if process.started_at is None else None
    return Standing(kind=StandingKind.SCHEDULER, until=process.not_before, since=since)
