"""Whether a step that is ready may be asked for, and what becomes of one that was not: pure decisions."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from orders.engine.contracts import Step
from orders.engine.rows import StepRow
from orders.vocabulary import Goal, Outcome, StepStatus

TakeCredit: TypeAlias = Callable[[str, bool], bool]
"""Says whether a request may be sent to this agent now, and counts it; the flag says that it is a retry."""


def unlimited(agent: str, is_retry: bool) -> bool:
    """No limit to what is sent."""
    return True


def is_retry(step: StepRow, goal: str) -> bool:
    """Whether asking for the step follows a failure of the same direction: it comes out of the budget of retries."""
    return (step.undo_failure_count if goal == Goal.COMPENSATE else step.failure_count) > 0


def reset_unanswered(step: StepRow, *, was_begun: bool) -> StepRow:
    """A forward step whose present attempt ended without an answer, to be asked for again."""
    if was_begun or step.attempt > 1:  # this attempt, or an earlier one, may have had its effect
        return step._replace(state=StepStatus.NOT_STARTED, outcome=Outcome.UNKNOWN)
    return step._replace(state=StepStatus.NOT_STARTED, outcome=Outcome.NONE, sent_at=None)


def key_expiry_error(step: StepRow, declared: Step, goal: str, now: datetime) -> dict[str, Any] | None:
    """The error of a step whose key the remote service may have forgotten, or None.

    Nobody knows whether it was done, and sending it again might do it twice (P2, F14).
    """
    if goal == Goal.COMPENSATE or step.outcome != Outcome.UNKNOWN or step.sent_at is None:
        return None
    if now - step.sent_at <= timedelta(seconds=declared.key_retention):
        return None
    return {
        "code": "key_expired",
        "message": f"{step.agent} may have forgotten the key of this call by now, and it is unknown whether it was "
        "done: look it up there, and settle the step by hand",
    }


def patience_error(step: StepRow, declared: Step) -> dict[str, Any]:
    """The error of a step that has waited for its agent for as long as it may."""
    return {
        "code": "agent_unavailable",
        "message": f"{step.agent} could not take this step for {declared.patience:.0f} s",
    }
