"""What waits for a person's decision, the earliest deadline first."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from orders.business import editing
from orders.models import Order, StepState
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.paging import Page, Position, page_of
from orders.vocabulary import Goal, StepStatus, WaitKind

MOST_COUNTED = 1_000
"""Every page of the console counts them, up to one above this."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a person may choose, and whether that has the whole order compensated."""

    name: str
    compensates: bool


@dataclass(frozen=True, kw_only=True)
class OpenDecision:
    """A step that waits for a decision, `since` one time and `until` another."""

    step_id: int
    order_id: UUID
    workflow: str
    title: str
    subject: str
    step: str
    since: datetime | None
    until: datetime
    choices: tuple[Choice, ...]

    @property
    def position(self) -> Position:
        """Where it is in the list. One order may have two with the same deadline, so the step's id tells them apart."""
        return Position(self.until, UUID(int=self.step_id))


def open_decisions(
    *, subject: str = "", after: Position | None, limit: int, now: datetime
) -> Page[OpenDecision]:
    """The decisions that can still be taken, or only those in orders about a subject, behind the position `after`.

    Two queries.
    """
    waiting = _waiting(now).filter(process__goal=Goal.COMPLETE).select_related("process")
    if subject:
        waiting = waiting.filter(process_id__in=Order.objects.filter(subject=subject).values("id"))
    if after is not None:
        waiting = waiting.filter(
            Q(complete_by__gt=after.at) | Q(complete_by=after.at, id__gt=after.order_id.int),
            complete_by__gte=after.at,  # alone, it is what the index can use
        )
    page = page_of(list(waiting.order_by("complete_by", "id")[: limit + 1]), limit)
    orders = Order.objects.only("title", "subject").in_bulk([step.process_id for step in page.items])
    items = [_open_decision(step, orders.get(step.process_id)) for step in page.items]
    return Page(items=items, has_more=page.has_more)


def count_open_decisions(*, now: datetime) -> int:
    """How many decisions can still be taken, counted up to `MOST_COUNTED` + 1. One query."""
    return bounded_count(_waiting(now), MOST_COUNTED)


def choices_of(
    step: StepState, *, workflow: str, version: int, goal: str, now: datetime
) -> tuple[Choice, ...]:
    """What a person may choose for this step now; nothing unless it waits for a decision that can still be taken."""
    awaits = step.awaits or {}
    if step.state != StepStatus.AWAITING or awaits.get("kind") != WaitKind.DECISION or goal != Goal.COMPLETE:
        return ()
    if step.complete_by is None or step.complete_by <= now:
        return ()
    return _choices(step, workflow, version)


def has_order_compensated(*, order_id: UUID, step: str, choice: str) -> bool:
    """Whether this choice has the whole order compensated. One query."""
    row = StepState.objects.filter(process_id=order_id, name=step).select_related("process").first()
    declared = editing.decision(row.process.workflow, row.process.version, step) if row else None
    return declared is not None and choice in declared.compensates


def _waiting(now: datetime) -> QuerySet[StepState, StepState]:
    return StepState.objects.filter(
        state=StepStatus.AWAITING.value, awaits__kind=WaitKind.DECISION.value, complete_by__gt=now
    )


def _open_decision(step: StepState, order: Order | None) -> OpenDecision:
    assert step.complete_by is not None
    process = step.process
    return OpenDecision(
        step_id=step.pk,
        order_id=step.process_id,
        workflow=process.workflow,
        title=order.title if order else "",
        subject=order.subject if order else "",
        step=step.name,
        since=step.started_at,
        until=step.complete_by,
        choices=_choices(step, process.workflow, process.version),
    )


def _choices(step: StepState, workflow: str, version: int) -> tuple[Choice, ...]:
    declared = editing.decision(workflow, version, step.name)
    compensates = declared.compensates if declared else ()
    return tuple(
        Choice(name=name, compensates=name in compensates) for name in (step.awaits or {}).get("choices", ())
    )
