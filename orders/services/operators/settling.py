"""Settles a step by hand: an operator states its unknown outcome, with proof. See `operators.orders`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from orders.business import editing
from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.results import find_gaps, say_gaps, types_of
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import database_now
from orders.engine.runtime.text import keepable_json, strict_json
from orders.engine.state_store.writes import StepWrite
from orders.services.act_results import Result
from orders.services.audit import Actor
from orders.services.operators.acts import (
    act_on,
    add_event,
    already,
    continue_order,
    done,
    find_step,
    refused,
)
from orders.vocabulary import EventKind, Goal, Outcome, ProcessState, StepStatus

LARGEST_RESULT = 4_000
"""The most characters of a result given by an operator, as JSON."""


def settle_done(*, order_id: UUID, step: str, result: Mapping[str, Any], actor: Actor, reason: str) -> Result:
    """Records that a step whose outcome is unknown did have its effect, with the remote service's answer.

    The step has failed, or waits for an answer that comes later, and need not wait any more.
    `reason` is the proof. Raises `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        failed = find_step(steps, step)
        if failed is not None and failed.state == StepStatus.COMPLETED:
            return already(f"Step {step} is already completed.")
        if refusal := _why_not_settle(row, failed, reason, may_wait=True):
            return refusal
        assert failed is not None
        answer = keepable_json(dict(result))
        if len(strict_json(answer)) > LARGEST_RESULT:
            return refused(f"The result is longer than {LARGEST_RESULT:,} characters.")
        fields = editing.result_fields(row.workflow, row.version, step)
        if gaps := find_gaps(answer, types_of(fields)):
            return refused(f"The result is incomplete: {say_gaps(gaps)}.")
        if not answer and editing.needed_by(row.workflow, row.version, step):
            return refused("Later steps need this step’s result. Give the remote service’s answer.")
        settled = failed._replace(
            state=StepStatus.COMPLETED,
            outcome=Outcome.DONE,
            error=None,
            complete_by=None,
            not_before=None,
            waiting_since=None,
            paused_since=None,
            answered=failed.attempt,
            next_request=None,
        )
        return continue_order(
            row,
            steps,
            settled,
            kind=EventKind.SETTLED_DONE,
            detail={"result": answer},
            actor=actor,
            reason=reason,
            message=f"Settled {step} as done",
            resolution="settled",
            result=strict_json(answer),
        )

    return act_on("settle", work, order_id=order_id, actor=actor, reason=reason, step=step)


def settle_not_done(*, order_id: UUID, step: str, actor: Actor, reason: str) -> Result:
    """Records that a failed step whose outcome is unknown did not have its effect, so its next try gets a new key.

    The step stays failed and can then be resubmitted, edited or skipped. `reason` is the proof. Raises
    `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        failed = find_step(steps, step)
        if failed is not None and failed.state == StepStatus.FAILED and failed.outcome == Outcome.NONE:
            return already(f"Step {step} is already settled as not done.")
        if refusal := _why_not_settle(row, failed, reason):
            return refusal
        assert failed is not None
        settled = failed.next_generation()._replace(answered=failed.attempt)
        state_store.write_steps([StepWrite(settled, failed.attempt)])
        add_event(row, EventKind.SETTLED_NOT_DONE, failed, actor, reason, {"generation": settled.generation})
        wake(Topic.PROGRESS)
        return done(f"Settled {step} as not done. Now resubmit, edit or skip it.")

    return act_on("settle", work, order_id=order_id, actor=actor, reason=reason, step=step)


def settle_compensated(*, order_id: UUID, step: str, actor: Actor, reason: str) -> Result:
    """Records that a step whose compensation failed was compensated outside the system.

    `reason` is the proof. Raises `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        failed = find_step(steps, step)
        if failed is not None and failed.state == StepStatus.COMPENSATED:
            return already(f"Step {step} is already reversed.")
        if not reason.strip():
            return refused("Give proof that it was reversed. It is kept in the order’s history.")
        if row.goal != Goal.COMPENSATE or row.process_state != ProcessState.ERROR:
            return refused(
                "Only a cancellation that failed can be settled like this, and that of this order has not."
            )
        if (
            failed is None
            or failed.state != StepStatus.FAILED
            or failed.outcome not in (Outcome.DONE, Outcome.UNKNOWN)
        ):
            return refused(f"No reversal of {step!r} has failed.")
        compensated = failed._replace(
            state=StepStatus.COMPENSATED,
            error=None,
            not_before=None,
            answered=failed.attempt,
            next_request=None,
        )
        return continue_order(
            row,
            steps,
            compensated,
            kind=EventKind.SETTLED_COMPENSATED,
            detail={},
            actor=actor,
            reason=reason,
            message=f"Settled {step} as reversed outside the system",
            resolution="settled",
        )

    return act_on("settle", work, order_id=order_id, actor=actor, reason=reason, step=step)


def _why_not_settle(
    row: ProcessRow, step: StepRow | None, reason: str, *, may_wait: bool = False
) -> Result | None:
    if not reason.strip():
        return refused("Give proof. It is kept in the order’s history.")
    if may_wait and row.goal == Goal.COMPLETE and step is not None and _waits_for_answer(step):
        return None
    if row.goal == Goal.COMPENSATE or row.process_state != ProcessState.ERROR:
        return refused(
            "Only a step of an order in error can be settled by hand, and not while the order is being cancelled."
        )
    if step is None or step.state != StepStatus.FAILED:
        return refused("Only a step that failed can be settled by hand.")
    if step.is_reversed_first and step.settles_at is not None and step.settles_at > database_now():
        return refused(
            f"What was sent to reverse {step.name} may still take effect until {step.settles_at:%H:%M:%S} UTC. Look "
            "again after that."
        )
    if step.outcome != Outcome.UNKNOWN:
        return refused(f"The outcome of {step.name} is known ({step.outcome}). Resubmit, edit or skip it.")
    return None


def _waits_for_answer(step: StepRow) -> bool:
    """Whether the remote service has taken the step's call, and has yet to answer."""
    return step.state == StepStatus.AWAITING and step.outcome == Outcome.UNKNOWN
