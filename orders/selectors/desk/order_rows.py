"""Orders as the rows of a list: where each stands, what it is worth, and what operators requested."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Max, Q

from orders.business.submissions import DEFAULT_PRIORITY
from orders.engine.rows import StepRow, is_paused
from orders.models import AgentRequest, Alert, BulkItem, Order, OrderProcess, StepState
from orders.selectors.archived_orders import Archived
from orders.selectors.desk.order_cause import edited_by
from orders.selectors.desk.standing import ProcessFacts, RetryLimits, Standing, StepFacts, order_standing
from orders.selectors.paging import Position
from orders.vocabulary import FINISHED_STATES, AlertKind, BulkItemState, BulkState, Goal, Outcome, StepStatus

STANDS = Q(
    Q(state__in=(StepStatus.RUNNING, StepStatus.AWAITING, StepStatus.FAILED, StepStatus.COMPENSATING))
    | Q(state=StepStatus.NOT_STARTED, attempt__gt=0)
    | Q(state=StepStatus.NOT_STARTED, outcome=Outcome.UNKNOWN)
    | Q(waiting_since__isnull=False)
    | Q(paused_since__isnull=False)
)
"""What is true of every step that an order can stand at. Most of its steps have ended or are still to come."""

_STEP = ["process_id" if name == "order_id" else name for name in StepRow._fields]

_SHOWN = ("subject", "title", "total", "currency", "email", "placed_at")
"""The columns of an order that its row has, and no more: its data may be long."""


@dataclass(frozen=True, kw_only=True)
class CurrentStep:
    """A step that an order is at. While it `goes_back`, its attempts include those that reverse it."""

    name: str
    agent: str
    attempt: int
    failures: int
    standing: Standing
    goes_back: bool = False


@dataclass(frozen=True, kw_only=True)
class OrderProgress:
    """Where an order stands. `seconds` is its age or, once it has ended, how long it took. `code` is the error of its
    open alert. While `is_paused`, no step of it begins, whatever its standing."""

    order_id: UUID
    workflow: str
    state: str
    standing: Standing
    seconds: float
    steps: list[CurrentStep]
    failure_count: int
    locked_by: str | None
    priority: int
    code: str
    created_at: datetime
    is_paused: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether `seconds` is how long it took, and not its age."""
        return self.state in FINISHED_STATES

    @property
    def has_other_priority(self) -> bool:
        """Whether its priority is another than that of an order for which nobody has said any."""
        return self.priority != DEFAULT_PRIORITY

    @property
    def position(self) -> Position:
        """Where the order is in a list."""
        return Position(self.created_at, self.order_id)


@dataclass(frozen=True, kw_only=True)
class PendingAct:
    """What an operator last requested for an order, with its result. `until` is when it begins, while it can be
    undone."""

    action: int
    kind: str
    by: str
    result: str
    state: str
    until: datetime | None


@dataclass(frozen=True, kw_only=True)
class OrderRow:
    """An order in a list. `title` is what it is, `total` is in minor units, `group` is the group of its open alert.

    `attempts` is the most that a step has needed, 1 if the order is being cancelled or was. `was_in_error` says that it
    has been in Error before. `edited_by` is who last had it tried again, if with an edit; empty otherwise.
    """

    order: OrderProgress
    workflow: str
    subject: str
    title: str
    total: int | None
    currency: str
    email: str
    group: int | None
    act: PendingAct | None
    placed_at: datetime
    attempts: int = 1
    was_in_error: bool = False
    edited_by: str = ""
    is_archived: bool = False

    @property
    def order_id(self) -> UUID:
        return self.order.order_id


def order_progress(
    processes: Sequence[OrderProcess], *, retry_limits: RetryLimits, now: datetime
) -> list[OrderProgress]:
    """Where these orders stand, without the codes of their alerts. Two queries, or none if all have ended: where such
    an order stands does not depend on its steps."""
    unfinished = [process.order_id for process in processes if process.process_state not in FINISHED_STATES]
    steps = steps_of(unfinished, now, STANDS) if unfinished else {}
    return [_progress(process, steps.get(process.order_id, []), retry_limits, now) for process in processes]


def _progress(
    process: OrderProcess, steps: list[StepFacts], retry_limits: RetryLimits, now: datetime
) -> OrderProgress:
    standing, current = order_standing(process_facts(process), steps, retry_limits=retry_limits, now=now)
    return OrderProgress(
        order_id=process.order_id,
        workflow=process.workflow,
        state=process.process_state,
        standing=standing,
        seconds=((process.finished_at or now) - process.created_at).total_seconds(),
        steps=[
            CurrentStep(
                name=step.name,
                agent=step.agent,
                attempt=step.attempt,
                failures=step.failure_count + step.compensation_failure_count,
                standing=standing,
                goes_back=process.goal == Goal.COMPENSATE or step.is_reversed_first,
            )
            for step, standing in current
        ],
        failure_count=process.failure_count,
        locked_by=process.locked_by,
        priority=process.priority,
        code="",
        created_at=process.created_at,
        is_paused=is_paused(process.paused_at, process.paused_until, now),
    )


def order_rows(
    progress: Sequence[OrderProgress], *, now: datetime, counts_attempts: bool = True
) -> list[OrderRow]:
    """These orders with their totals and alerts, their attempts if these are counted, and what operators requested.
    Four queries, or three."""
    ids = [order.order_id for order in progress]
    placed = Order.objects.only(*_SHOWN).in_bulk(ids)
    alerts, acts = _alerts(ids), acts_on(ids, now)
    of_steps = [order.order_id for order in progress if counts_attempts and not order.standing.compensating]
    attempts = _attempts(of_steps) if of_steps else {}
    return [
        _row(
            order,
            placed.get(order.order_id),
            alerts.get(order.order_id, ()),
            acts.get(order.order_id),
            attempts.get(order.order_id, 1),
        )
        for order in progress
    ]


def _alerts(order_ids: Sequence[UUID]) -> dict[UUID, list[Alert]]:
    """The alerts about these orders, open and closed, without their messages."""
    alerts: defaultdict[UUID, list[Alert]] = defaultdict(list)
    for alert in Alert.objects.filter(order_id__in=order_ids).defer("message"):
        if alert.order_id is not None:
            alerts[alert.order_id].append(alert)
    return alerts


def _attempts(order_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The most attempts that a step has needed, for those of these orders of which one has needed several."""
    again = StepState.objects.filter(process_id__in=order_ids, attempt__gt=1)
    return dict(
        again.order_by().values("process_id").annotate(most=Max("attempt")).values_list("process_id", "most")
    )


def _row(
    progress: OrderProgress,
    placed: Order | None,
    alerts: Collection[Alert],
    act: PendingAct | None,
    attempts: int,
) -> OrderRow:
    alert = next((alert for alert in alerts if alert.closed_at is None), None)
    since_placed = (progress.created_at - placed.placed_at).total_seconds() if placed else 0.0
    return OrderRow(
        order=replace(
            progress,
            code=alert.code if alert else "",
            seconds=progress.seconds
            + max(0.0, since_placed),  # as on its page: it may have waited in the queue
        ),
        workflow=progress.workflow,
        subject=placed.subject if placed else "",
        title=placed.title if placed else "",
        total=placed.total if placed else None,
        currency=placed.currency if placed else "",
        email=placed.email if placed else "",
        group=alert.group_id if alert else None,
        act=act,
        placed_at=placed.placed_at if placed else progress.created_at,
        attempts=attempts,
        was_in_error=any(each is not alert and each.kind != AlertKind.SET_ASIDE for each in alerts),
        edited_by=edited_by(alerts),
    )


def acts_on(order_ids: Sequence[UUID], now: datetime) -> dict[UUID, PendingAct]:
    """What operators last requested for each of these orders, in bulk or with time to undo it. One query."""
    items = (
        BulkItem.objects.filter(order_id__in=order_ids)
        .select_related("action")
        .order_by("order_id", "-id")
        .distinct("order_id")
    )
    return {
        item.order_id: PendingAct(
            action=item.action_id,
            kind=item.action.kind,
            by=item.action.by,
            result=item.result or item.get_state_display(),
            state=item.state if item.action.state != BulkState.UNDONE else BulkState.UNDONE,
            until=item.action.starts_at if _can_undo(item, now) else None,
        )
        for item in items
    }


def _can_undo(item: BulkItem, now: datetime) -> bool:
    return (
        item.state == BulkItemState.WAITING
        and item.action.state == BulkState.RUNNING
        and item.action.starts_at > now
    )


def steps_of(
    order_ids: Collection[UUID], now: datetime, which: Q | None = None
) -> dict[UUID, list[StepFacts]]:
    """The steps of these orders, or `which` of them, in their workflow's order, each with its outstanding request. Two
    queries."""
    requests: dict[int, dict[str, Any]] = {
        request["step_id"]: dict(request)
        for request in AgentRequest.objects.filter(order_id__in=order_ids).values(
            "step_id", "attempt", "posted_at", "leased_by", "leased_until"
        )
    }
    steps: dict[UUID, list[StepFacts]] = {order_id: [] for order_id in order_ids}
    rows = (
        StepState.objects.filter(which or Q(), process_id__in=order_ids)
        .order_by("process_id", "position", "id")
        .values_list(*_STEP, "started_at", "completed_at")
    )
    for *fields, started_at, completed_at in rows:
        row = StepRow._make(fields)
        facts = _step(row, requests.get(row.id, {}), now, started_at, completed_at)
        steps[row.order_id].append(facts)
    return steps


def step_facts(step: StepState) -> StepFacts:
    """The facts of a step without an outstanding request."""
    row = StepRow._make(getattr(step, name) for name in _STEP)
    return _step(row, {}, None, step.started_at, step.completed_at)


def archived_order_row(archived: Archived, *, retry_limits: RetryLimits, now: datetime) -> OrderRow:
    """An archived order as a row of a list."""
    steps = [step_facts(step) for step in archived.steps]
    progress = _progress(archived.process, steps, retry_limits, now)
    attempts = 1 if progress.standing.compensating else max((step.attempt for step in steps), default=1)
    return _row(progress, archived.order, (), None, max(1, attempts))


def _step(
    row: StepRow,
    request: dict[str, Any],
    now: datetime | None,
    started_at: datetime | None,
    completed_at: datetime | None,
) -> StepFacts:
    outstanding = request.get("attempt") == row.attempt
    leased_until = request.get("leased_until")
    return StepFacts(
        name=row.name,
        agent=row.agent,
        state=row.state,
        outcome=row.outcome,
        attempt=row.attempt,
        generation=row.generation,
        failure_count=row.failure_count,
        compensation_failure_count=row.compensation_failure_count,
        extended_waits=row.extended_waits,
        complete_by=row.complete_by,
        settles_at=row.settles_at,
        not_before=row.not_before,
        key=row.compensation_key() if row.is_backward else row.key(),
        error=row.error,
        started_at=started_at,
        completed_at=completed_at,
        asked_at=request["posted_at"] if outstanding else None,
        waiting_since=row.waiting_since,
        wanted_since=row.wanted_since,
        paused_since=row.paused_since,
        awaits=(row.awaits or {}).get("kind", ""),
        is_reversed_first=row.is_reversed_first,
        held_by=request["leased_by"] if outstanding and leased_until and now and leased_until > now else None,
    )


def process_facts(process: OrderProcess) -> ProcessFacts:
    """The facts about a process that decide where its order stands."""
    return ProcessFacts(
        state=process.process_state,
        goal=process.goal,
        complete_by=process.complete_by,
        not_before=process.not_before,
        created_at=process.created_at,
        started_at=process.started_at,
    )


def find_step(step_id: int) -> tuple[UUID, str] | None:
    """The order and the name of a step."""
    return StepState.objects.filter(pk=step_id).values_list("process_id", "name").first()
