"""What operators may do with one order. Each act is one transaction and returns what actually happened.

Every act locks the order first, and is recorded in the audit log even if it changed nothing. What it changes is also an
event in the order's history. Repeating an act changes nothing more. A step whose outcome is unknown is never edited or
started again with another key: it is resubmitted with the key it has, or settled by hand first (rule 5).

Settling is in `orders.services.operators.settling`, editing in `orders.services.operators.editing`.
"""

from contextlib import suppress
from uuid import UUID

from django.db import transaction

from orders.business import editing
from orders.engine import state_store
from orders.engine.channels import requests
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import database_now
from orders.engine.state_store.writes import StepWrite
from orders.selectors.desk.confirmation import confirms
from orders.selectors.desk.order_detail import submission_of
from orders.services import audit, order_changes
from orders.services.act_results import Result, ResultStatus, UnconfirmedError
from orders.services.audit import Actor
from orders.services.cancelling import LOOKS
from orders.services.operators.acts import (
    act_on,
    add_event,
    already,
    continue_order,
    done,
    find_step,
    refused,
    state_in_words,
)
from orders.services.order_lock import NoSuchOrderError
from orders.services.refund_approval import Approval
from orders.vocabulary import FINISHED_STATES, EventKind, Goal, ProcessState, StepStatus, WaitKind

UNCONFIRMED = (
    "The confirmation is missing or wrong. It is the order’s total in plain figures if money goes back to the customer,"
    " otherwise the word cancel."
)
"""Does not say which, or how much: somebody who repeats an answer without looking has confirmed nothing."""
WAITING = (StepStatus.NOT_STARTED.value, StepStatus.COMPENSATING.value, StepStatus.AWAITING.value)
"""The states in which a step can be waiting for its next try, for its time, or for its agent to ask again."""


def unconfirmed() -> Result:
    """Returns the result of a cancellation that was not confirmed."""
    return refused(UNCONFIRMED, cause=UnconfirmedError(UNCONFIRMED))


def resubmit(*, order_id: UUID, actor: Actor, reason: str = "", step: str | None = None) -> Result:
    """Resubmits the failed steps of an order, or only `step`, at once (O2). Raises `NoSuchOrderError`."""

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        return order_changes.resubmit_order(order_id=order_id, by=actor.name, reason=reason, step=step)

    return act_on("resubmit", work, order_id=order_id, actor=actor, reason=reason, step=step)


def compensate(
    *,
    order_id: UUID,
    actor: Actor,
    reason: str,
    typed: str | None = None,
    approval: Approval | None = None,
) -> Result:
    """Starts the compensation of the whole order, and also before it is inserted (C10). Raises `NoSuchOrderError`.

    A caller that asks for confirmation passes what was `typed`. It must be what `orders.selectors.desk.confirmation`
    asks for: the amount to be refunded, or a word. A refund may need an `approval`
    (`orders.services.refund_approval`).
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if typed is not None and row.goal != Goal.COMPENSATE and not confirms(typed, order_id):
            return unconfirmed()
        return order_changes.compensate_order(
            order_id=order_id, by=actor.name, reason=reason, approval=approval
        )

    for _ in range(LOOKS):
        with suppress(NoSuchOrderError):
            return act_on("compensate", work, order_id=order_id, actor=actor, reason=reason)
        result = _compensate_submission(
            order_id=order_id, actor=actor, reason=reason, typed=typed, approval=approval
        )
        if result is not None:
            return result
    raise NoSuchOrderError(f"Order {order_id} does not exist, or is archived.")


def _compensate_submission(
    *, order_id: UUID, actor: Actor, reason: str, typed: str | None, approval: Approval | None
) -> Result | None:
    """Compensates an order that is not inserted; None if there is none, perhaps because it has just been."""
    with transaction.atomic():
        if submission_of(order_id) == (None, None):
            return None
        if typed is not None and not confirms(typed, order_id):
            result = unconfirmed()
        else:
            result = order_changes.compensate_order(
                order_id=order_id, by=actor.name, reason=reason, approval=approval
            )
        audit.record(
            actor=actor,
            act="compensate",
            target=f"order {order_id}",
            result=result.message,
            reason=reason,
            allowed=result.status is not ResultStatus.REFUSED,
        )
    return result


def skip(*, order_id: UUID, step: str, actor: Actor, reason: str, typed: str | None = None) -> Result:
    """Lets the order continue without a step that is not in flight. Raises `NoSuchOrderError`.

    A caller that asks for confirmation passes what was `typed`, which must be the step's name. If the step's outcome is
    unknown, it is still compensated if the order is.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        target = find_step(steps, step)
        if target is None:
            return refused(f"The order has no step {step!r}.")
        if target.state == StepStatus.SKIPPED:
            return already(f"Step {step} is already skipped.")
        if typed is not None and typed.strip() != step:
            return refused(f"To confirm, type {step}.")
        if refusal := _why_not_skip(row, target, reason):
            return refusal
        skipped = target._replace(
            state=StepStatus.SKIPPED,
            not_before=None,
            waiting_since=None,
            paused_since=None,
            next_request=None,
        )
        if target.state == StepStatus.AWAITING:
            # An answer that no scheduler has read yet no longer counts.
            skipped = skipped._replace(complete_by=None, answered=target.attempt)
        return continue_order(
            row,
            steps,
            skipped,
            kind=EventKind.STEP_SKIPPED,
            detail={"was": target.state, "outcome": target.outcome},
            actor=actor,
            reason=reason,
            message=f"Skipped {step}",
            resolution="skipped",
        )

    return act_on("skip", work, order_id=order_id, actor=actor, reason=reason, step=step)


def _why_not_skip(row: ProcessRow, step: StepRow, reason: str) -> Result | None:
    if not reason.strip():
        return refused("Give a reason. It is kept in the order’s history.")
    if row.process_state in FINISHED_STATES or row.goal == Goal.COMPENSATE:
        return refused("The order has ended or is being cancelled, so there is nothing to skip.")
    if step.complete_by is not None and step.state != StepStatus.AWAITING:
        return refused(f"Step {step.name} is under way. Wait for its reply or its complete-by time.")
    if step.state not in (StepStatus.NOT_STARTED, StepStatus.AWAITING, StepStatus.FAILED):
        return refused(f"Step {step.name} is {state_in_words(step.state)}.")
    if step.state == StepStatus.AWAITING and (step.awaits or {}).get("kind") == WaitKind.ITEMS:
        return refused(f"Step {step.name} waits for its items. Skip those that the order can do without.")
    if needed := editing.needed_by(row.workflow, row.version, step.name):
        return refused(
            f"{', '.join(needed)} needs the result of {step.name}. Settle {step.name} by hand with its result instead."
        )
    return None


def retry_now(*, order_id: UUID, actor: Actor, step: str | None = None, reason: str = "") -> Result:
    """Retries at once the steps that wait for their next try. Those that wait for a customer or an agent keep waiting.

    Raises `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if step is not None and find_step(steps, step) is None:
            return refused(f"The order has no step {step!r}.")
        now = database_now()
        if row.is_paused(now):
            return refused("The order is paused. Resume it first.")
        waits = [
            candidate
            for candidate in steps
            if candidate.state in WAITING and step in (None, candidate.name)
            if candidate.complete_by is None or candidate.state == StepStatus.AWAITING
            if candidate.not_before is not None and candidate.not_before > now
        ]
        if row.process_state not in (ProcessState.PENDING, ProcessState.PROCESSING) or not waits:
            return already("Nothing is waiting for a retry.")
        hurried = [
            candidate._replace(not_before=now if candidate.state == StepStatus.AWAITING else None)
            for candidate in waits
        ]
        state_store.write_steps([StepWrite(candidate, candidate.attempt) for candidate in hurried])
        # Due now rather than without a time, so that it is claimed before the orders that nobody has claimed yet.
        state_store.write_processes([row._replace(not_before=now)])
        for candidate in waits:
            add_event(row, EventKind.HURRIED, candidate, actor, reason, {"until": candidate.not_before})
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        return done(f"Retrying {', '.join(candidate.name for candidate in waits)} now.")

    return act_on("retry now", work, order_id=order_id, actor=actor, reason=reason, step=step)


def set_priority(*, order_id: UUID, priority: int, actor: Actor, reason: str = "") -> Result:
    """Sets the priority, from 0 to 9, of an order under way, its steps and its requests. Raises `NoSuchOrderError`."""

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        if not 0 <= priority <= 9:
            return refused("A priority is a number from 0 to 9.")
        if row.process_state in FINISHED_STATES:
            return refused("The order has ended.")
        if row.priority == priority:
            return already(f"The priority is already {priority}.")
        state_store.write_processes([row._replace(priority=priority)])
        state_store.write_steps([StepWrite(step._replace(priority=priority), step.attempt) for step in steps])
        requests.set_priority(order_id, priority)
        add_event(
            row, EventKind.PRIORITY_SET, None, actor, reason, {"before": row.priority, "after": priority}
        )
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        return done(f"The priority is now {priority}.")

    return act_on("set priority", work, order_id=order_id, actor=actor, reason=reason)


def replay_set_aside(*, set_aside_id: int, actor: Actor, reason: str = "") -> Result:
    """Puts a submission that was set aside back on the queue (S3)."""
    with transaction.atomic():
        result = order_changes.replay_submission(set_aside_id=set_aside_id, by=actor.name)
        audit.record(
            actor=actor,
            act="replay",
            target=f"submission {set_aside_id}",
            result=result.message,
            reason=reason,
        )
    return result


def is_skippable(*, workflow: str, version: int, step: str) -> bool:
    """Whether an order can continue without a step, because no other step needs its result."""
    return not editing.needed_by(workflow, version, step)
