"""What the supervisor decides about a step that is past its complete-by time: pure decisions (V2–V4)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum, auto

from orders.engine import parking
from orders.engine.contracts import Delay, Json, Step
from orders.engine.retry_rules import RetryRules
from orders.engine.rows import StepRow
from orders.vocabulary import Goal, Outcome, StepStatus


class Ruling(Enum):
    """What happens to an overdue step, or to its order."""

    RETRY = auto()
    """The step is tried again (V2)."""
    WAIT = auto()
    """The step is tried again after an extended wait (V4)."""
    COMPENSATE = auto()
    """The whole order is compensated (V4)."""
    FAIL = auto()
    """The cause is assumed to be nontransient: Error, and an alert (V3)."""
    DEFER = auto()
    """The agent cannot be used. The step waits for it, and no failure is counted."""
    DEFAULT = auto()
    """The answer that the step waited for did not come, so its default is taken."""
    SETTLE = auto()
    """The order is being compensated. The forward call is given up, and compensated once it can no longer take
    effect."""


def rule_on(
    step: StepRow,
    declared: Step,
    *,
    goal: str,
    rules: RetryRules,
    now: datetime,
    jitter: Callable[[int], float],
    is_available: bool = True,
) -> tuple[Ruling, StepRow]:
    """Decides about an overdue step; also returns the step as it will be.

    `jitter` gives the backoff after that many failures, and `is_available` says whether requests are sent to the
    step's agent at present.
    """
    backward = step.is_backward
    back = StepStatus.COMPENSATING if backward else StepStatus.NOT_STARTED
    again = step._replace(state=back, complete_by=None, not_before=None)
    if not is_available and (goal == Goal.COMPLETE or backward):
        return Ruling.DEFER, again
    again = again._replace(wanted_since=None, waiting_since=None)
    if backward:
        return _rule_on_compensation(again, rules=rules, now=now, jitter=jitter)
    if goal == Goal.COMPENSATE:
        return Ruling.SETTLE, again
    failures = step.failure_count + 1
    again = again._replace(failure_count=failures)
    if failures < rules.threshold:
        retried = again._replace(not_before=now + timedelta(seconds=jitter(failures)))
        return Ruling.RETRY, parking.resume(retried, step.answered, now)
    if step.extended_waits < declared.remedy.extended_waits:
        not_before = now + timedelta(seconds=declared.remedy.wait)
        return Ruling.WAIT, again._replace(not_before=not_before, extended_waits=step.extended_waits + 1)
    failed = again._replace(state=StepStatus.FAILED, outcome=Outcome.UNKNOWN)
    return (Ruling.COMPENSATE if declared.remedy.then == "compensate" else Ruling.FAIL), failed


def rule_on_wait(step: StepRow, declared: Step, *, goal: str) -> tuple[Ruling, StepRow, Json | None]:
    """Decides about a step whose wait for something other than an agent is over; no failure is counted.

    Also returns the step as it will be, and its result if it is completed.
    """
    assert declared.waits_for is not None
    assert not isinstance(declared.waits_for, Delay), "a delay has no complete-by"
    if goal == Goal.COMPENSATE:
        return Ruling.SETTLE, parking.end_wait(step), None
    result = declared.waits_for.default_result
    if result is not None:
        return Ruling.DEFAULT, parking.complete_wait(step), result
    failed = parking.fail_wait(step)
    return (Ruling.COMPENSATE if declared.remedy.then == "compensate" else Ruling.FAIL), failed, None


def _rule_on_compensation(
    step: StepRow, *, rules: RetryRules, now: datetime, jitter: Callable[[int], float]
) -> tuple[Ruling, StepRow]:
    failures = step.compensation_failure_count + 1
    counted = step._replace(compensation_failure_count=failures)
    if failures < rules.compensation_threshold:
        retried = counted._replace(not_before=now + timedelta(seconds=jitter(failures)))
        return Ruling.RETRY, parking.resume(retried, step.answered, now)
    return Ruling.FAIL, counted._replace(state=StepStatus.FAILED)
