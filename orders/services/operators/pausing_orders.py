"""Pauses one order, and resumes it. See docs/adr/0065.

A paused order starts no step and no further try of one. What an agent host has begun is finished, and its answer is
recorded. Whatever ends the order, such as cancelling it, ends the pause, too.
"""

from datetime import datetime
from uuid import UUID

from orders.engine import state_store
from orders.engine.channels import requests
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import database_now
from orders.services.act_results import EndsTooEarlyError, Result
from orders.services.audit import Actor
from orders.services.operators.acts import Values, act_on, add_event, already, done, refused
from orders.vocabulary import FINISHED_STATES, EventKind, Goal, ProcessState
from orders.wording.pauses import until_in_words

NEEDS_REASON = "Give a reason. It is kept in the order’s history."
ENDS_TOO_EARLY = "The pause must end later than now."


def ends_too_early() -> Result:
    """Returns the result of a pause that is to end in the past."""
    return refused(ENDS_TOO_EARLY, cause=EndsTooEarlyError(ENDS_TOO_EARLY))


def pause_order(*, order_id: UUID, actor: Actor, reason: str, until: datetime | None = None) -> Result:
    """Pauses an order, until that time or until it is resumed. Raises `NoSuchOrderError`.

    Its requests that no agent host has begun are taken back at once.
    """
    values = Values()

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        now = database_now()
        if refusal := _why_not(row, reason, until, now):
            return refusal
        if row.is_paused(now):
            return already("The order is already paused.")
        paused = row._replace(paused_at=now, paused_until=until)
        if row.process_state == ProcessState.PENDING:
            paused = paused._replace(not_before=paused.rest_until(now))
        state_store.write_processes([paused])
        state_store.stop_waiting([order_id])
        requests.hand_back_of(order_id, by=actor.name)
        add_event(row, EventKind.PAUSED, None, actor, reason, {"until": until} if until else {})
        values.after = {"paused_until": until.isoformat() if until else None}
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        return done(f"The order is paused {until_in_words(until)}. Calls under way continue.")

    return act_on("pause", work, order_id=order_id, actor=actor, reason=reason, values=values)


def _why_not(row: ProcessRow, reason: str, until: datetime | None, now: datetime) -> Result | None:
    if not reason.strip():
        return refused(NEEDS_REASON)
    if until is not None and until <= now:
        return ends_too_early()
    if row.process_state in FINISHED_STATES:
        return refused("The order has ended.")
    if row.goal == Goal.COMPENSATE:
        return refused("The order is being cancelled, and a cancellation cannot be paused.")
    return None


def resume_order(*, order_id: UUID, actor: Actor, reason: str = "") -> Result:
    """Lets a paused order continue at once. Raises `NoSuchOrderError`.

    The complete-by of an order under way moves by as long as the pause has lasted.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if row.paused_at is None:
            return already("The order is not paused.")
        now = database_now()
        resumed = row._replace(paused_at=None, paused_until=None)
        if row.process_state == ProcessState.PENDING:
            resumed = resumed._replace(not_before=None)
        elif row.process_state == ProcessState.PROCESSING and row.complete_by is not None:
            resumed = resumed._replace(not_before=now, complete_by=row.complete_by + (now - row.paused_at))
        state_store.write_processes([resumed])
        add_event(row, EventKind.RESUMED, None, actor, reason, {})
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        waits = row.process_state == ProcessState.ERROR
        return done(
            "The order is no longer paused. It is in Error, and continues once it is resubmitted."
            if waits
            else "The order has been resumed."
        )

    return act_on("resume", work, order_id=order_id, actor=actor, reason=reason)
