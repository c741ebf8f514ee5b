"""What an operator may do with one order. Each act is one transaction, and says what really happened.

Every act locks the order first, is an event in the order's history and an entry of the audit log, also when it changed
nothing; done twice, it is done once. A step whose outcome is unknown is never edited or begun anew with another key
while nobody knows: it is resubmitted with the key it has, or settled by hand first (rule 5).

Settling is in `orders.services.operators.settling`, editing in `orders.services.operators.editing`.
"""

from uuid import UUID

from django.db import transaction

from orders.engine import state_store
from orders.engine.channels import requests
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import database_now
from orders.engine.state_store.writes import StepWrite
from orders.selectors.desk.confirmation import confirmation
from orders.services import audit
from orders.services import orders as services
from orders.services.audit import Actor
from orders.services.operators.acts import (
    ENDED,
    act_on,
    already,
    done,
    go_on,
    note,
    refused,
    step_named,
    words,
)
from orders.services.results import Result
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus
from orders.workflow import editing

WAITING = (StepStatus.NOT_STARTED.value, StepStatus.COMPENSATING.value)


def resubmit_now(*, order_id: UUID, actor: Actor, reason: str = "", step: str | None = None) -> Result:
    """Has what failed tried again at once (O2). Raises `NoSuchOrderError`."""

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        return services.resubmit(order_id=order_id, by=actor.name, reason=reason, step=step)

    return act_on("resubmit", work, order_id=order_id, actor=actor, reason=reason, step=step)


def compensate(*, order_id: UUID, actor: Actor, reason: str, typed: str | None = None) -> Result:
    """Has the whole order compensated (C10). Raises `NoSuchOrderError`.

    A face that asks for confirmation passes what was `typed`, which must be what `orders.selectors.desk.confirmation`
    asks for: the amount that goes back to the customer, or a word.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if typed is not None and row.goal != Goal.COMPENSATE:
            expected = confirmation(order_id).typed
            if typed.strip().replace(" ", "").lower() != expected:
                return refused(f"To confirm, type {expected}.")
        return services.compensate(order_id=order_id, by=actor.name, reason=reason)

    return act_on("compensate", work, order_id=order_id, actor=actor, reason=reason)


def skip(*, order_id: UUID, step: str, actor: Actor, reason: str, typed: str | None = None) -> Result:
    """Has the order go on without a step, of which nothing may be in flight. Raises `NoSuchOrderError`.

    Who has it confirmed gives what was `typed`, which must be the step's name. If nobody knows whether the
    step had its effect, it is still undone when the order is.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        one = step_named(steps, step)
        if one is None:
            return refused(f"The order has no step {step!r}.")
        if one.state == StepStatus.SKIPPED:
            return already(f"Step {step} is already skipped.")
        if typed is not None and typed.strip() != step:
            return refused(f"To confirm, type {step}.")
        if refusal := _why_not_skip(row, steps, one, reason):
            return refusal
        skipped = one._replace(state=StepStatus.SKIPPED, not_before=None, waiting_since=None)
        return go_on(
            row,
            steps,
            skipped,
            kind=EventKind.STEP_SKIPPED,
            detail={"was": one.state, "outcome": one.outcome},
            actor=actor,
            reason=reason,
            said=f"Skipped {step}",
            resolution="skipped",
        )

    return act_on("skip", work, order_id=order_id, actor=actor, reason=reason, step=step)


def _why_not_skip(row: ProcessRow, steps: list[StepRow], one: StepRow, reason: str) -> Result | None:
    if not reason.strip():
        return refused("Give a reason: it is kept in the order's history.")
    if row.process_state in ENDED or row.goal == Goal.COMPENSATE:
        return refused("The order has ended or is being cancelled and refunded, so there is nothing to skip.")
    if one.complete_by is not None:
        return refused(f"Step {one.name} is under way. Wait for its reply or its complete-by time.")
    if one.state not in (StepStatus.NOT_STARTED, StepStatus.FAILED):
        return refused(f"Step {one.name} is {words(one.state)}.")
    if needed := editing.needed_by(row.workflow, row.version, one.name):
        return refused(
            f"{', '.join(needed)} needs the result of {one.name}. Settle {one.name} by hand with its result instead."
        )
    return None


def retry_now(*, order_id: UUID, actor: Actor, step: str | None = None) -> Result:
    """Has what waits for its next try tried at once; what waits for a customer or an agent goes on waiting.

    Raises `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        now = database_now()
        waits = [
            one
            for one in steps
            if one.state in WAITING and one.complete_by is None and step in (None, one.name)
            if one.not_before is not None and one.not_before > now
        ]
        if row.process_state not in (ProcessState.PENDING, ProcessState.PROCESSING) or not waits:
            return already("Nothing is waiting for a retry.")
        state_store.write_steps([StepWrite(one._replace(not_before=None), one.attempt) for one in waits])
        # Due now, not without a wait: so it is claimed before those that have never been looked at.
        state_store.write_processes([row._replace(not_before=now)])
        for one in waits:
            note(row, EventKind.HURRIED, one, actor, "", {"until": one.not_before})
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        return done(f"Retrying {', '.join(one.name for one in waits)} now.")

    return act_on("retry now", work, order_id=order_id, actor=actor, step=step)


def set_priority(*, order_id: UUID, priority: int, actor: Actor, reason: str = "") -> Result:
    """Gives an order under way, its steps and its requests another priority, from 0 to 9. Raises `NoSuchOrderError`."""

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if not 0 <= priority <= 9:
            return refused("A priority is a number from 0 to 9.")
        if row.process_state in ENDED:
            return refused("The order has ended.")
        if row.priority == priority:
            return already(f"The priority is already {priority}.")
        state_store.write_processes([row._replace(priority=priority)])
        state_store.write_steps([StepWrite(one._replace(priority=priority), one.attempt) for one in steps])
        requests.set_priority(order_id, priority)
        note(row, EventKind.PRIORITY_SET, None, actor, reason, {"before": row.priority, "after": priority})
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        return done(f"The priority is now {priority}.")

    return act_on("set priority", work, order_id=order_id, actor=actor, reason=reason)


def replay_set_aside(*, set_aside_id: int, actor: Actor) -> Result:
    """Puts a submission that was set aside back on the queue (S3)."""
    with transaction.atomic():
        result = services.replay_set_aside(set_aside_id=set_aside_id, by=actor.name)
        audit.record(actor=actor, act="replay", target=f"submission {set_aside_id}", said=result.said)
    return result


def is_skippable(*, workflow: str, version: int, step: str) -> bool:
    """Whether an order can do without a step: no other step needs its result."""
    return not editing.needed_by(workflow, version, step)
