"""Compares one effect at a remote service with what the database says of its step: pure decisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from orders.engine.contracts import Effect
from orders.engine.rows import EffectKey
from orders.selectors.desk.reconciliation import KnownStep
from orders.vocabulary import DiscrepancyKind, Goal, Outcome, ProcessState, StepStatus

UNDER_WAY = (ProcessState.PENDING, ProcessState.PROCESSING)
OPEN = (StepStatus.NOT_STARTED, StepStatus.RUNNING, StepStatus.AWAITING, StepStatus.FAILED)
"""The states from which a step may get to a later generation."""


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """An effect about which a remote service and the database disagree. `at` is when it was done, or completed here."""

    kind: DiscrepancyKind
    agent: str
    order_id: UUID
    step: str
    key: str
    operation: str
    at: datetime


def compare(effect: Effect, key: EffectKey, steps: Mapping[str, KnownStep] | None) -> DiscrepancyKind | None:
    """How an effect and its order disagree; None if they agree. `steps` is None if there is no such order.

    A reversal is no effect of its own: it matters only to an order that goes on.
    """
    if steps is None:
        is_over = key.compensates or effect.is_reversed
        return None if is_over else DiscrepancyKind.ORDER_UNKNOWN
    step = steps.get(key.step)
    if step is None:
        is_over = key.compensates or effect.is_reversed or not steps  # a submission has no steps yet
        return None if is_over else DiscrepancyKind.NOT_RECORDED
    if key.compensates:
        is_known = step.goal == Goal.COMPENSATE or step.is_reversed_first or key.generation < step.generation
        return None if is_known else DiscrepancyKind.REVERSED_THERE
    if effect.is_reversed:
        return DiscrepancyKind.REVERSED_THERE if is_still_completed(step, key.generation) else None
    if is_awaited(effect, key, steps):
        return None
    return _compare_standing(key, step)


def _compare_standing(key: EffectKey, step: KnownStep) -> DiscrepancyKind | None:
    """Compares a forward effect that has not been reversed."""
    if key.generation < step.generation:
        return DiscrepancyKind.NOT_RECORDED
    if step.state == StepStatus.COMPENSATED:
        return DiscrepancyKind.NOT_REVERSED_THERE
    if key.generation == step.generation and step.outcome in (Outcome.DONE, Outcome.UNKNOWN):
        return None
    is_next = (
        step.state in OPEN
        if key.generation > step.generation
        else step.state == StepStatus.FAILED and step.outcome == Outcome.NONE
    )
    is_behind = step.goal == Goal.COMPLETE and is_next
    return DiscrepancyKind.STEP_BEHIND if is_behind else DiscrepancyKind.NOT_RECORDED


def is_awaited(effect: Effect, key: EffectKey, steps: Mapping[str, KnownStep] | None) -> bool:
    """Whether the order is on its way to this very effect: it will send the key, and be answered with what was done."""
    step = (steps or {}).get(key.step)
    return (
        step is not None
        and not key.compensates
        and not effect.is_reversed
        and step.goal == Goal.COMPLETE
        and step.process_state in UNDER_WAY
        and step.state == StepStatus.NOT_STARTED
        and step.outcome == Outcome.NONE
        and key.generation == step.generation
    )


def is_still_completed(step: KnownStep | None, generation: int) -> bool:
    """Whether a step, read again, still counts as done under the key of this generation."""
    return (
        step is not None
        and step.goal == Goal.COMPLETE
        and step.state == StepStatus.COMPLETED
        and step.generation == generation
    )
