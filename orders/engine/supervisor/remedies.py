"""What the supervisor decides about a step that is past its complete-by time: pure decisions (V2–V4)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum, auto

from orders.engine.contracts import Step
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
    given_up = step._replace(complete_by=None, not_before=None)
    if not is_available and (goal == Goal.COMPLETE or step.state == StepStatus.COMPENSATING):
        compensating = step.state == StepStatus.COMPENSATING
        return Ruling.DEFER, given_up if compensating else given_up._replace(state=StepStatus.NOT_STARTED)
    given_up = given_up._replace(wanted_since=None)
    if step.state == StepStatus.COMPENSATING:
        return _rule_on_compensation(given_up, rules=rules, now=now, jitter=jitter)
    again = given_up._replace(state=StepStatus.NOT_STARTED)
    if goal == Goal.COMPENSATE:
        return Ruling.SETTLE, again
    failures = step.failure_count + 1
    again = again._replace(failure_count=failures)
    if failures < rules.threshold:
        return Ruling.RETRY, again._replace(not_before=now + timedelta(seconds=jitter(failures)))
    if step.extended_waits < declared.remedy.extended_waits:
        not_before = now + timedelta(seconds=declared.remedy.wait)
        return Ruling.WAIT, again._replace(not_before=not_before, extended_waits=step.extended_waits + 1)
    failed = given_up._replace(state=StepStatus.FAILED, failure_count=failures, outcome=Outcome.UNKNOWN)
    return (Ruling.COMPENSATE if declared.remedy.then == "compensate" else Ruling.FAIL), failed


def _rule_on_compensation(
    step: StepRow, *, rules: RetryRules, now: datetime, jitter: Callable[[int], float]
) -> tuple[Ruling, StepRow]:
    failures = step.compensation_failure_count + 1
    counted = step._replace(compensation_failure_count=failures)
    if failures < rules.compensation_threshold:
        return Ruling.RETRY, counted._replace(not_before=now + timedelta(seconds=jitter(failures)))
    return Ruling.FAIL, counted._replace(state=StepStatus.FAILED)
