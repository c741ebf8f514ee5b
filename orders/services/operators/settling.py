"""Settling a step by hand: an operator says what nobody knew, with the proof. See `operators.orders`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from orders.engine import state_store
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.text import keepable_json, strict_json
from orders.engine.state_store.writes import StepWrite
from orders.services.audit import Actor
from orders.services.operators.acts import act_on, already, done, go_on, note, refused, step_named
from orders.services.results import Result
from orders.vocabulary import EventKind, Goal, Outcome, ProcessState, StepStatus
from orders.workflow import editing

LARGEST_RESULT = 4_000
"""Characters of a result that an operator gives, as JSON."""


def settle_done(*, order_id: UUID, step: str, result: Mapping[str, Any], actor: Actor, reason: str) -> Result:
    """Records that a failed step whose outcome is unknown did have its effect, with the remote service's answer.

    `reason` is the proof. Raises `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        one = step_named(steps, step)
        if one is not None and one.state == StepStatus.COMPLETED:
            return already(f"Step {step} is already completed.")
        if refusal := _why_not_settle(row, one, reason):
            return refusal
        assert one is not None
        kept = keepable_json(dict(result))
        if len(strict_json(kept)) > LARGEST_RESULT:
            return refused(f"The result is longer than {LARGEST_RESULT:,} characters.")
        if not kept and editing.needed_by(row.workflow, row.version, step):
            return refused("Later steps need this step's result. Give the remote service's answer.")
        settled = one._replace(
            state=StepStatus.COMPLETED,
            outcome=Outcome.DONE,
            error=None,
            not_before=None,
            answered=one.attempt,
        )
        return go_on(
            row,
            steps,
            settled,
            kind=EventKind.SETTLED_DONE,
            detail={"result": kept},
            actor=actor,
            reason=reason,
            said=f"Settled {step} as done",
            resolution="settled",
            result=strict_json(kept),
        )

    return act_on("settle", work, order_id=order_id, actor=actor, reason=reason, step=step)


def settle_not_done(*, order_id: UUID, step: str, actor: Actor, reason: str) -> Result:
    """Records that a failed step whose outcome is unknown did not have its effect, so that its next try has a new key.

    The step stays failed, and can be resubmitted, edited or skipped then. Raises `NoSuchOrderError`.
    """

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        one = step_named(steps, step)
        if one is not None and one.state == StepStatus.FAILED and one.outcome == Outcome.NONE:
            return already(f"Step {step} is already settled as not done.")
        if refusal := _why_not_settle(row, one, reason):
            return refusal
        assert one is not None
        fresh = one._replace(
            outcome=Outcome.NONE, generation=one.generation + 1, sent_at=None, answered=one.attempt
        )
        state_store.write_steps([StepWrite(fresh, one.attempt)])
        note(row, EventKind.SETTLED_NOT_DONE, one, actor, reason, {"generation": fresh.generation})
        wake(Topic.PROGRESS)
        return done(f"Settled {step} as not done. Now resubmit, edit or skip it.")

    return act_on("settle", work, order_id=order_id, actor=actor, reason=reason, step=step)


def settle_undone(*, order_id: UUID, step: str, actor: Actor, reason: str) -> Result:
    """Records that a step whose undo failed was undone outside. `reason` is the proof. Raises `NoSuchOrderError`."""

    def work(row: ProcessRow, steps: list[StepRow]) -> Result:
        one = step_named(steps, step)
        if one is not None and one.state == StepStatus.COMPENSATED:
            return already(f"Step {step} is already compensated.")
        if not reason.strip():
            return refused("Give the proof that it was compensated: it is kept in the order's history.")
        if row.goal != Goal.COMPENSATE or row.process_state != ProcessState.ERROR:
            return refused(
                "Only a compensation that failed can be settled like this, and none of this order's has."
            )
        if (
            one is None
            or one.state != StepStatus.FAILED
            or one.outcome not in (Outcome.DONE, Outcome.UNKNOWN)
        ):
            return refused(f"No compensation of {step!r} has failed.")
        undone = one._replace(state=StepStatus.COMPENSATED, error=None, not_before=None, answered=one.attempt)
        return go_on(
            row,
            steps,
            undone,
            kind=EventKind.SETTLED_COMPENSATED,
            detail={},
            actor=actor,
            reason=reason,
            said=f"Settled {step} as compensated outside",
            resolution="settled",
        )

    return act_on("settle", work, order_id=order_id, actor=actor, reason=reason, step=step)


def _why_not_settle(row: ProcessRow, one: StepRow | None, reason: str) -> Result | None:
    if not reason.strip():
        return refused("Give the proof: it is kept in the order's history.")
    if row.goal == Goal.COMPENSATE or row.process_state != ProcessState.ERROR:
        return refused(
            "Only a step of an order in error can be settled by hand, and not while the order is being cancelled."
        )
    if one is None or one.state != StepStatus.FAILED:
        return refused("Only a step that failed can be settled by hand.")
    if one.outcome != Outcome.UNKNOWN:
        return refused(f"The outcome of {one.name} is known ({one.outcome}). Resubmit, edit or skip it.")
    return None
