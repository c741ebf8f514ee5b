"""What the supervisor decides about a step that has passed its complete-by time: pure decisions (V2–V4)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import Enum, auto

from orders.engine.contracts import Step
from orders.engine.retry_rules import RetryRules
from orders.engine.rows import StepRow
from orders.vocabulary import Goal, Outcome, StepStatus


class Ruling(Enum):
    """What becomes of the order."""

    RETRY = auto()
    """The step will be tried again (V2)."""
    WAIT = auto()
    """The step will be tried again after an extended wait (V4)."""
    UNDO = auto()
    """The whole order is to be undone (V4)."""
    FAIL = auto()
    """The cause is taken to be nontransient: Error, and an alert (V3)."""
    DEFER = auto()
    """The agent cannot be used: the step waits for it, and no failure is counted."""
    SETTLE = auto()
    """The order is being undone: the forward call is given up, and is undone once it can no longer land."""


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
    """Decides about an overdue step; returns it as it is to be. `jitter` gives the backoff after so many failures;
    `is_available` says whether its agent is one that anything is sent to at present."""
    given_up = step._replace(complete_by=None, not_before=None)
    if not is_available and (goal == Goal.COMPLETE or step.state == StepStatus.COMPENSATING):
        undoing = step.state == StepStatus.COMPENSATING
        return Ruling.DEFER, given_up if undoing else given_up._replace(state=StepStatus.NOT_STARTED)
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
    return (Ruling.UNDO if declared.remedy.then == "compensate" else Ruling.FAIL), failed


def _rule_on_compensation(
    step: StepRow, *, rules: RetryRules, now: datetime, jitter: Callable[[int], float]
) -> tuple[Ruling, StepRow]:
    failures = step.undo_failure_count + 1
    counted = step._replace(undo_failure_count=failures)
    if failures < rules.compensation_threshold:
        return Ruling.RETRY, counted._replace(not_before=now + timedelta(seconds=jitter(failures)))
    return Ruling.FAIL, counted._replace(state=StepStatus.FAILED)
