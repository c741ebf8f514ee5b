"""Whether a step that is ready may be dispatched, and what happens if it may not: pure decisions."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeAlias

from orders.engine import reversing
from orders.engine.contracts import Step
from orders.engine.rows import StepRow
from orders.vocabulary import Goal, Outcome, StepStatus

TakeCredit: TypeAlias = Callable[[str, bool], bool]
"""Takes credit for one request to this agent, which may be a retry; False if there is none."""


def unlimited(agent: str, is_retry: bool) -> bool:
    """Credit without limit."""
    return True


def is_retry(step: StepRow, goal: str) -> bool:
    """Whether the step has failed before in the same direction, so that its dispatch draws on the retry budget."""
    return (step.compensation_failure_count if step.goes_back(goal) else step.failure_count) > 0


def reset_unanswered(step: StepRow, *, was_begun: bool) -> StepRow:
    """A forward step whose last attempt ended without an answer, ready to be dispatched again."""
    if was_begun or step.attempt > 1:  # this attempt, or an earlier one, may have had its effect
        return step._replace(state=StepStatus.NOT_STARTED, outcome=Outcome.UNKNOWN)
    return step._replace(state=StepStatus.NOT_STARTED, outcome=Outcome.NONE, sent_at=None)


def is_repeat(step: StepRow, goal: str) -> bool:
    """Whether an earlier attempt may have had the effect that is wanted now."""
    if step.goes_back(goal):
        return step.compensation_sent_at is not None
    return step.outcome == Outcome.UNKNOWN


def is_key_known(step: StepRow, declared: Step, goal: str, now: datetime) -> bool:
    return reversing.recognises(
        declared, step.compensation_sent_at if step.goes_back(goal) else step.sent_at, now
    )


def settles_at(step: StepRow, declared: Step, goal: str, now: datetime) -> datetime | None:
    """Until when a repeated call must wait, because its earlier call may still take effect; None if it need not.

    It need not while the remote service recognises the key.
    """
    if not is_repeat(step, goal) or is_key_known(step, declared, goal, now):
        return None
    return step.settles_at


def compensation_due_at(step: StepRow, declared: Step, now: datetime) -> datetime | None:
    """When the compensation may start: after its own wait, and once an unanswered call can no longer take effect."""
    wait = step.not_before if step.state == StepStatus.COMPENSATING else None
    if step.outcome == Outcome.UNKNOWN and step.compensation_sent_at is None:
        return latest(wait, step.settles_at)
    return latest(wait, settles_at(step, declared, Goal.COMPENSATE, now))


def latest(*moments: datetime | None) -> datetime | None:
    """The latest of these moments; None if there is none."""
    return max((moment for moment in moments if moment is not None), default=None)


def key_expiry_error(step: StepRow, declared: Step, goal: str, now: datetime) -> dict[str, Any] | None:
    """The error of a step whose key the remote service may have forgotten; None if it may be sent.

    An earlier call may have had the effect, so another might have it twice (P2, F14). A service that can be asked is
    asked first, by the agent host.
    """
    if (
        step.is_reversed_first
        and goal == Goal.COMPLETE
        and not reversing.can_be_reversed(declared, step.sent_at, now)
    ):
        return {
            "code": "key_expired",
            "message": f"{step.agent} may have forgotten the key of the call that is to be reversed, so it could no "
            "longer say whether anything of it stands: look it up there, and settle the step by hand",
        }
    if declared.can_be_asked or not is_repeat(step, goal) or is_key_known(step, declared, goal, now):
        return None
    return {
        "code": "key_expired",
        "message": f"{step.agent} may have forgotten the key of this call by now, and it is unknown whether it was "
        "done: look it up there, and settle the step by hand",
    }


def patience_error(step: StepRow, declared: Step) -> dict[str, Any]:
    """The error of a step that has waited for its agent as long as its patience allows."""
    return {
        "code": "agent_unavailable",
        "message": f"{step.agent} could not take this step for {declared.patience:.0f} s",
    }
