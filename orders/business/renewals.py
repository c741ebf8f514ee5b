"""Which steps a customer's correction has reversed before they are done anew: what is reserved, and what may be. Pure.

An operator names the steps that she has read about. A customer knows of none, so for her it follows from the declared
steps: one that reserves the order's value, and one that she may have resubmitted. Money that is taken stays taken.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from orders.engine import reversing
from orders.engine.contracts import Compensation, Step, Workflow
from orders.engine.moving import HAS_BEGUN
from orders.vocabulary import Outcome, StepStatus


class Stored(Protocol):
    """A step as it is stored."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def state(self) -> str:
        """Its state."""

    @property
    def outcome(self) -> str:
        """What is known of its effect."""

    @property
    def sent_at(self) -> datetime | None:
        """When its present generation was first sent."""


class Renewals(frozenset[str]):
    """The names of the steps that a customer's correction has reversed. No operator can name them (ADR 70)."""


def renewed(steps: Sequence[Stored], workflow: Workflow, now: datetime) -> Renewals:
    """The steps that a customer's correction has reversed first if they ask for something else. What comes after such
    a step must not have begun, since nothing else is reversed with it."""
    begun = {step.name for step in steps if step.outcome in HAS_BEGUN}
    return Renewals(
        step.name
        for step in steps
        if (declared := workflow.by_name.get(step.name))
        and is_renewed(step, declared, now)
        and not begun & {*workflow.dependents[step.name]}
    )


def is_renewed(step: Stored, declared: Step, now: datetime) -> bool:
    """Whether what a step has done, or may have done, is reversed, so that it can be done anew.

    One that is under way is not: whoever corrects the order waits for its answer.
    """
    if declared.takes_value or declared.compensation is not Compensation.REVERSE:
        return False
    is_reserved = declared.reserves_value and step.state == StepStatus.COMPLETED
    may_be_done = step.state == StepStatus.FAILED and step.outcome == Outcome.UNKNOWN
    may_be_reversed = declared.reserves_value or declared.customer_resubmits
    if not (is_reserved or (may_be_done and may_be_reversed)):
        return False
    return reversing.can_be_reversed(declared, step.sent_at, now)
