"""Who or what an order waits for, as its client sees it, and until when. Pure.

It follows from the order's rows alone, and each change of it has an event, so it never changes under the same version
of the order. That is why no clock is asked: a step that is tried again at noon waits for that until it is sent.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from orders.business.corrections import is_declined as is_declined
from orders.vocabulary import FINISHED_STATES, Goal, ProcessState, StepStatus, WaitingFor, WaitKind

URGENCY: Mapping[WaitingFor, int] = {kind: place for place, kind in enumerate(WaitingFor)}
OUTSIDE: Mapping[WaitKind, WaitingFor] = {
    WaitKind.DECISION: WaitingFor.OPERATOR,
    WaitKind.EVENT: WaitingFor.OUTSIDE,
    WaitKind.ANSWER: WaitingFor.OUTSIDE,
    WaitKind.DELAY: WaitingFor.DELAY,
}
"""Who can end the wait of a parked step, by what it waits for."""
NEVER = datetime.max.replace(tzinfo=UTC)


class Waiting(NamedTuple):
    """Whom or what an order or a step waits for, and until when: None if that has no deadline."""

    kind: WaitingFor
    until: datetime | None = None


def waiting_of_step(step: Mapping[str, Any], goal: str) -> Waiting | None:
    """Whom or what a step from its columns waits for, in an unfinished order with this goal; None if for nothing."""
    is_forward = goal == Goal.COMPLETE
    if kind := awaited(step):
        # What was awaited on the way forward ends as soon as a scheduler turns to the order.
        is_over = not is_forward and step["compensation_sent_at"] is None
        return None if is_over else Waiting(OUTSIDE[kind], _parked_until(step, kind))
    if step["state"] == StepStatus.FAILED and is_forward and is_declined(step["error"]):
        return Waiting(WaitingFor.CUSTOMER, step["not_before"])
    if step.get("paused_since") is not None:
        return Waiting(WaitingFor.OPERATOR)
    if step["waiting_since"] is not None:
        return Waiting(WaitingFor.AGENT)
    # A step may also be reversed on its order's way forward, before it asks for something else.
    can_wait = (StepStatus.COMPENSATING, StepStatus.NOT_STARTED) if is_forward else (StepStatus.COMPENSATING,)
    if step["state"] in can_wait and step["complete_by"] is None and step["not_before"] is not None:
        return Waiting(WaitingFor.RETRY, step["not_before"])
    return None


def waiting_of_order(state: str, steps: Iterable[Waiting | None]) -> Waiting | None:
    """Whom or what an order waits for, given its state and what each step waits for; None if for nothing.

    Of several steps the most urgent counts, and of those that wait alike the one whose time ends first.
    """
    if state == ProcessState.ERROR:
        return Waiting(WaitingFor.OPERATOR)
    if state in FINISHED_STATES:
        return None
    waits = [wait for wait in steps if wait is not None]
    return min(waits, key=lambda wait: (URGENCY[wait.kind], wait.until or NEVER), default=None)


def awaited(step: Mapping[str, Any]) -> WaitKind | None:
    """What a step from its columns waits for from outside. One that joins its items does not.

    It does so also while its agent asks again whether there is an answer.
    """
    kind = (step["awaits"] or {}).get("kind")
    if kind == WaitKind.ITEMS:
        return None
    is_asked_again = (
        step["state"] == StepStatus.RUNNING and kind == WaitKind.ANSWER and step["awaits_until"] is not None
    )
    if not kind or not (step["state"] == StepStatus.AWAITING or is_asked_again):
        return None
    # What only a newer release knows is something from outside all the same.
    return WaitKind(kind) if kind in list(WaitKind) else WaitKind.EVENT


def _parked_until(step: Mapping[str, Any], kind: WaitKind) -> datetime | None:
    """Until when what a parked step waits for may come."""
    columns = {WaitKind.ANSWER: "awaits_until", WaitKind.DELAY: "not_before"}
    until: datetime | None = step[columns.get(kind, "complete_by")]
    return until
