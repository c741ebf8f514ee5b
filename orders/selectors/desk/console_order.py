"""The console's page of one order: its facts and history, and its steps' requests and results."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.business.editing import order_fields
from orders.fields.email import ERASED
from orders.models import Alert, StepState
from orders.selectors.desk.alert_groups import OpenAlerts, open_groups
from orders.selectors.desk.decisions import Choice, choices_of
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.order_detail import Detail, order_detail
from orders.selectors.desk.order_rows import PendingAct, acts_on
from orders.selectors.desk.standing import RetryLimits, Standing, StepFacts, step_standing
from orders.vocabulary import FINISHED_STATES, EventKind, Goal, Outcome, ProcessState, StepStatus, WaitKind

SKIPPABLE = (StepStatus.NOT_STARTED.value, StepStatus.AWAITING.value, StepStatus.FAILED.value)


@dataclass(frozen=True, kw_only=True)
class ConsoleStep:
    """A step with what an operator may do to it. `original` is its request before it was edited."""

    id: int
    facts: StepFacts
    standing: Standing | None
    request: Any
    original: Any
    result: Any
    can_edit: bool
    can_skip: bool
    can_settle: bool
    can_hurry: bool
    compensation_failed: bool
    """Whether an operator has to decide, because what it had done could not be compensated."""
    reversal_failed: bool
    """The same of what it may have done, which was to be reversed before it is done anew."""
    next_request: Any
    """What it asks for once what it may have done is reversed; None if that is not so."""
    choices: tuple[Choice, ...]
    """What a person may choose, if the step waits for a decision."""
    inquiry: EventFacts | None
    """The last time its remote service was asked, in the present attempt, what had become of it."""
    answer: Any
    """What its agent has answered in the present attempt, if that lacks what the result must hold; or None."""

    @property
    def plain_choices(self) -> list[Choice]:
        """Those with which the order continues."""
        return [choice for choice in self.choices if not choice.compensates]

    @property
    def compensating_choices(self) -> list[Choice]:
        """Those that have the order compensated."""
        return [choice for choice in self.choices if choice.compensates]


@dataclass(frozen=True, kw_only=True)
class ConsoleOrder:
    """One order."""

    detail: Detail
    steps: list[ConsoleStep]
    open_alerts: OpenAlerts | None
    """The open alerts with the cause of its own one."""
    act: PendingAct | None

    @property
    def group(self) -> int | None:
        """The group of its open alert."""
        return self.open_alerts.group.pk if self.open_alerts else None

    @property
    def can_resubmit(self) -> bool:
        """Whether it can be resubmitted and nobody has requested that yet."""
        order = self.detail.order
        in_error = order is not None and order.state == ProcessState.ERROR
        return in_error and (self.act is None or self.act.until is None)

    @property
    def can_hurry(self) -> bool:
        """Whether any of its steps waits for a retry."""
        return any(step.can_hurry for step in self.steps)

    @property
    def to_decide(self) -> list[ConsoleStep]:
        """Its steps that wait for a person's decision."""
        return [step for step in self.steps if step.choices]

    @property
    def can_compensate(self) -> bool:
        """Whether it is outside the archive, inserted or not, and is not being compensated yet."""
        detail = self.detail
        order = detail.order or detail.queued
        if order is not None:
            return order.goal != Goal.COMPENSATE and detail.archived is None
        return detail.set_aside is not None

    @property
    def can_edit(self) -> bool:
        """Whether fields of it may be edited: it is outside the archive, under way or in Error, and has such fields."""
        order = self.detail.order
        if order is None or self.has_ended or self.detail.archived is not None:
            return False
        return order.goal == Goal.COMPLETE and bool(order_fields(order.workflow))

    @property
    def is_certain(self) -> bool:
        """Whether the outcome of each of its steps is known, and none is under way."""
        under_way = (StepStatus.RUNNING, StepStatus.AWAITING, StepStatus.COMPENSATING)
        return not any(
            step.facts.outcome == Outcome.UNKNOWN or step.facts.state in under_way for step in self.steps
        )

    @property
    def can_pause(self) -> bool:
        """Whether the order goes forward and is not paused yet."""
        order = self.detail.order
        return order is not None and not self.has_ended and order.goal != Goal.COMPENSATE and not order.pause

    @property
    def has_ended(self) -> bool:
        """Whether it is processed or compensated."""
        return self.detail.order is not None and self.detail.order.state in FINISHED_STATES

    @property
    def can_erase(self) -> bool:
        """Whether its customer can be erased from its page: it has one, who is not erased, and it has ended."""
        order = self.detail.order
        return self.has_ended and order is not None and order.email not in (None, "", ERASED)


def console_order(order_id: UUID, *, retry_limits: RetryLimits, now: datetime) -> ConsoleOrder | None:
    """Everything about the order or the submission with this id; None if there is none. About twelve queries."""
    detail = order_detail(order_id, retry_limits=retry_limits, now=now)
    if detail is None:
        return None
    stored = StepState.objects.filter(process_id=order_id)
    rows = {step.name: step for step in (detail.archived.steps if detail.archived else stored)}
    alert = (
        Alert.objects.filter(order_id=order_id, closed_at__isnull=True).select_related("group__owner").first()
        if detail.alert
        else None
    )
    return ConsoleOrder(
        detail=detail,
        steps=[_step(detail, facts, rows[facts.name], retry_limits, now) for facts in detail.steps],
        open_alerts=next(iter(open_groups(now=now, group=alert.group)), None) if alert else None,
        act=acts_on([order_id], now).get(order_id),
    )


def _step(
    detail: Detail, facts: StepFacts, row: StepState, retry_limits: RetryLimits, now: datetime
) -> ConsoleStep:
    order = detail.order
    assert order is not None
    forward, failed = order.goal == Goal.COMPLETE, facts.state == StepStatus.FAILED
    in_error, open_ = order.state == ProcessState.ERROR, order.state not in FINISHED_STATES
    parked = facts.state == StepStatus.AWAITING
    joins = parked and facts.awaits == WaitKind.ITEMS
    idle = facts.complete_by is None or parked
    unknown = facts.outcome == Outcome.UNKNOWN
    to_compensate = not forward and facts.outcome in (Outcome.DONE, Outcome.UNKNOWN)
    put_off = (StepStatus.NOT_STARTED, StepStatus.COMPENSATING, StepStatus.AWAITING)
    waits = facts.state in put_off and facts.not_before is not None
    return ConsoleStep(
        id=row.pk,
        facts=facts,
        standing=step_standing(facts, order.goal, due_at=order.due_at, retry_limits=retry_limits, now=now)
        if open_ and not in_error
        else None,
        request=row.request,
        original=row.original,
        result=row.result,
        can_edit=forward and failed and not unknown,
        can_skip=forward and open_ and idle and not joins and facts.state in SKIPPABLE,
        can_settle=(in_error and failed and ((forward and unknown) or to_compensate))
        or (open_ and parked and forward and unknown),
        can_hurry=bool(waits and idle and not in_error and facts.not_before and facts.not_before > now),
        reversal_failed=in_error and failed and forward and facts.is_reversed_first,
        next_request=row.next_request,
        compensation_failed=in_error and failed and to_compensate and _fails_to_compensate(detail, facts),
        choices=choices_of(row, workflow=order.workflow, version=order.version, goal=order.goal, now=now),
        inquiry=next(_events(detail, facts, EventKind.INQUIRED), None),
        answer=next(
            (
                event.detail["answer"]
                for event in _events(detail, facts, EventKind.CALL_FAILED)
                if "answer" in event.detail
            ),
            None,
        ),
    )


def _fails_to_compensate(detail: Detail, facts: StepFacts) -> bool:
    """Whether the present attempt of a failed step, or an earlier one that counts, was to compensate it."""
    if facts.compensation_failure_count:
        return True
    return next(_events(detail, facts, EventKind.COMPENSATION_FAILED), None) is not None


def _events(detail: Detail, facts: StepFacts, kind: EventKind) -> Iterator[EventFacts]:
    """The events of this kind in the step's present attempt, the last one first."""
    return (
        event
        for event in reversed(detail.events)
        if event.kind == kind and event.step == facts.name and event.attempt == facts.attempt
    )
