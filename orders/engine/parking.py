"""How a step is parked while it waits for an answer from outside or for a time, and how its wait ends: pure decisions.

A parked step is `awaiting`. Its `complete_by` is when the wait is over; without one it is a delay, or its answer has
been given and a scheduler is about to take it. `not_before` is when a scheduler turns to it by itself.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from orders.engine.contracts import Step
from orders.engine.rows import StepRow
from orders.engine.waits import Delay
from orders.vocabulary import Outcome, StepStatus, WaitKind

LEFT_TO_SUPERVISOR = timedelta(hours=1)
"""How long after a wait is over a scheduler looks at the order again. By then a supervisor has ended the wait, so in
practice no scheduler ever claims an order only to park it again."""


def is_due(step: StepRow, now: datetime) -> bool:
    """Whether a scheduler is to turn to an awaiting step now: its delay is over, or its agent is to ask again."""
    return step.not_before is not None and step.not_before <= now


def parked_until(step: StepRow, now: datetime) -> datetime:
    """When a scheduler is to look at an awaiting step again, if nothing happens before."""
    over = max(step.complete_by or now, now) + LEFT_TO_SUPERVISOR
    return over if step.not_before is None else min(step.not_before, over)


def fixed_moment(declared: Step, request: Mapping[str, Any]) -> datetime | None:
    """Until when a step with this request is declared to wait, if that is known from the start."""
    if isinstance(declared.waits_for, Delay) and declared.waits_for.until is not None:
        return declared.waits_for.until(request)
    return None


def begin_wait(step: StepRow, declared: Step, now: datetime) -> StepRow:
    """The step as it begins the wait that it is declared with. The wait takes an attempt, which its answer names."""
    assert declared.waits_for is not None
    wait = declared.waits_for
    parked = step._replace(
        state=StepStatus.AWAITING,
        attempt=step.attempt + 1,
        outcome=Outcome.NONE,
        awaits=wait.stored,
        not_before=None,
        error=None,
    )
    if isinstance(wait, Delay):
        moment = step.awaits_until or now + timedelta(seconds=wait.seconds or 0.0)
        return parked._replace(not_before=moment, awaits_until=moment)
    return parked._replace(complete_by=now + timedelta(seconds=wait.within))


def park(step: StepRow, pending: Mapping[str, Any], now: datetime) -> StepRow:
    """The step whose remote service has taken the call. Its attempt stays unanswered, for the answer to come.

    `pending` is what the agent's `Pending` says. The time for the answer counts from the first one.
    """
    until = step.awaits_until or now + timedelta(seconds=pending["within"])
    poll = pending.get("poll_after")
    return step._replace(
        state=StepStatus.AWAITING,
        complete_by=until,
        awaits={"kind": WaitKind.ANSWER.value, "reference": pending.get("reference", "")},
        awaits_until=until,
        not_before=None if poll is None else now + timedelta(seconds=poll),
        settles_at=None,  # the service has answered the call, so none is under way
        waiting_since=None,
        wanted_since=None,
    )


def resume(step: StepRow, answered: int, now: datetime) -> StepRow:
    """A step whose attempt has brought nothing new, parked again if the time for its answer is not over.

    So a callback still finds it. `answered` is what was answered before that attempt. If the attempt itself has been
    answered, no other answer to it counts, and the step is not parked.
    """
    if step.awaits_until is None or step.awaits_until <= now or answered >= step.attempt:
        return step
    return step._replace(
        state=StepStatus.AWAITING,
        complete_by=step.awaits_until,
        not_before=step.not_before or now,
        answered=answered,
    )


def parked_detail(step: StepRow) -> dict[str, Any]:
    """What the history keeps of a step that was parked again."""
    return {"parked_until": step.complete_by} if step.state == StepStatus.AWAITING else {}


def end_wait(step: StepRow) -> StepRow:
    """A forward step that no longer waits, because the order is being compensated. What the remote service has taken
    may happen, and is compensated at once: the call itself is over."""
    return step._replace(
        state=StepStatus.NOT_STARTED, complete_by=None, not_before=None, awaits_until=None, settles_at=None
    )


def complete_wait(step: StepRow) -> StepRow:
    """A step that completes without an answer, which no longer counts from now on."""
    return step._replace(
        state=StepStatus.COMPLETED,
        outcome=Outcome.DONE,
        answered=step.attempt,
        complete_by=None,
        not_before=None,
        error=None,
    )


def fail_wait(step: StepRow) -> StepRow:
    """A step whose answer did not come in time, and no longer counts."""
    error = {"code": "no_answer", "message": "what it waited for did not come in time"}
    return complete_wait(step)._replace(state=StepStatus.FAILED, outcome=Outcome.NONE, error=error)
