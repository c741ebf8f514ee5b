"""Everything about one order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from orders.business import registry
from orders.engine.contracts import Compensation
from orders.engine.rows import is_paused
from orders.models import Alert, Event, Order, OrderLine, OrderProcess, SubmissionMessage
from orders.selectors import archived_orders
from orders.selectors.desk.bounds import bounded_count
from orders.selectors.desk.history import EventFacts, TimeSpent, moment, time_spent
from orders.selectors.desk.order_notes import Note, notes_of
from orders.selectors.desk.order_profile import OrderProfile, order_profile
from orders.selectors.desk.order_rows import process_facts, step_facts, steps_of
from orders.selectors.desk.set_aside import SetAsideSubmission, set_aside_submission
from orders.selectors.desk.standing import RetryLimits, Standing, StepFacts, order_standing
from orders.vocabulary import EventKind


@dataclass(frozen=True, kw_only=True)
class AlertFacts:
    """The open alert of an order."""

    kind: str
    step: str
    agent: str
    code: str
    message: str
    opened_at: datetime


@dataclass(frozen=True, kw_only=True)
class QueuedSubmission:
    """A submission that has not been inserted yet; `ahead` counts those before it, up to `MOST_COUNTED` + 1."""

    client: str
    goal: str
    posted_at: datetime
    ahead: int


@dataclass(frozen=True, kw_only=True)
class Pause:
    """A pause that an operator has set, `until` a time or until somebody resumes the order."""

    since: datetime
    until: datetime | None
    by: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class OrderFacts:
    """An order and its process as they are stored, and where the order stands.

    At `due_at` a scheduler turns to it again; None if it may at any time.
    """

    state: str
    goal: str
    standing: Standing
    workflow: str
    version: int
    priority: int
    reply_to: str
    locked_by: str | None
    complete_by: datetime | None
    due_at: datetime | None
    failure_count: int
    overruns: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    profile: OrderProfile
    email: str | None
    customer: str | None
    total: int | None
    currency: str | None
    placed_at: datetime | None
    pause: Pause | None = None


@dataclass(frozen=True, kw_only=True)
class Detail:
    """One order: `order` and `steps` once it is inserted, `queued` or `set_aside` before that.

    `notes` are the operators' on it, the newest first.
    """

    order_id: UUID
    order: OrderFacts | None
    steps: list[StepFacts]
    alert: AlertFacts | None
    queued: QueuedSubmission | None
    set_aside: SetAsideSubmission | None
    began: datetime
    events: list[EventFacts]
    spent: TimeSpent
    notes: Sequence[Note] = ()
    archived: archived_orders.Archived | None = None

    @property
    def notices(self) -> frozenset[str]:
        """The steps that are not reversed when the order is cancelled, but send a notice."""
        declared = registry.workflows().get((self.order.workflow, self.order.version)) if self.order else None
        steps = declared.steps if declared else ()
        return frozenset(step.name for step in steps if step.compensation is Compensation.NOTICE)

    @property
    def took(self) -> float | None:
        """How many seconds the order took; None if it has not ended."""
        finished_at = self.order.finished_at if self.order else None
        return (finished_at - self.began).total_seconds() if finished_at else None


def order_detail(order_id: UUID, *, retry_limits: RetryLimits, now: datetime) -> Detail | None:
    """Everything about the order or the submission with this id; None if there is none. Ten or eleven queries."""
    queued, set_aside = submission_of(order_id)
    process = OrderProcess.objects.filter(order_id=order_id).first()
    placed = Order.objects.select_related("customer").filter(pk=order_id).first()
    lines = list(OrderLine.objects.filter(order_id=order_id).order_by("pk"))
    steps = steps_of([order_id], now)[order_id]
    events = [_event(event) for event in Event.objects.filter(order_id=order_id).order_by("id")]
    if process is None and queued is None and set_aside is None:
        if archived := archived_orders.find(order_id):
            return _archived(archived, notes_of(order_id), retry_limits, now)
        if not events:
            return None
    began = _began(queued or set_aside, process, events, now)
    return Detail(
        order_id=order_id,
        order=None
        if process is None
        else _order(process, placed, lines, steps, retry_limits, now, _pause(process, events, now)),
        steps=steps,
        alert=_alert(order_id),
        queued=queued,
        set_aside=set_aside,
        began=began,
        events=events,
        spent=time_spent(events, began=began, now=now),
        notes=notes_of(order_id),
    )


def _order(
    process: OrderProcess,
    placed: Order | None,
    lines: Sequence[OrderLine],
    steps: list[StepFacts],
    retry_limits: RetryLimits,
    now: datetime,
    pause: Pause | None = None,
) -> OrderFacts:
    customer = placed.customer if placed else None
    return OrderFacts(
        state=process.process_state,
        goal=process.goal,
        standing=order_standing(process_facts(process), steps, retry_limits=retry_limits, now=now)[0],
        workflow=process.workflow,
        version=process.version,
        priority=process.priority,
        reply_to=process.reply_to,
        locked_by=process.locked_by,
        complete_by=process.complete_by,
        due_at=process.not_before,
        failure_count=process.failure_count,
        overruns=process.overruns,
        created_at=process.created_at,
        started_at=process.started_at,
        finished_at=process.finished_at,
        profile=order_profile(process.workflow, placed, lines),
        email=placed.email if placed else None,
        customer=customer.get_username() if customer else None,
        total=placed.total if placed else None,
        currency=placed.currency if placed else None,
        placed_at=placed.placed_at if placed else None,
        pause=pause,
    )


def _pause(process: OrderProcess, events: Sequence[EventFacts], now: datetime) -> Pause | None:
    """The pause that an order is in; None if it is in none, or the pause has ended by itself."""
    since, until = process.paused_at, process.paused_until
    if since is None or not is_paused(since, until, now):
        return None
    event = next(
        (event for event in reversed(events) if event.kind == EventKind.PAUSED and not event.step), None
    )
    reason = str(event.detail.get("reason", "")) if event else ""
    return Pause(since=since, until=until, by=event.actor_name if event else "", reason=reason)


def _archived(
    archived: archived_orders.Archived, notes: Sequence[Note], retry_limits: RetryLimits, now: datetime
) -> Detail:
    process = archived.process
    if archived.order is not None:
        archived.order.customer = archived.row.customer
    steps = [step_facts(step) for step in archived.steps]
    events = [_event(event) for event in archived.events]
    began = _began(None, process, events, now)
    return Detail(
        order_id=process.order_id,
        order=_order(process, archived.order, archived.lines, steps, retry_limits, now),
        steps=steps,
        alert=None,
        queued=None,
        set_aside=None,
        began=began,
        events=events,
        spent=time_spent(events, began=began, now=process.finished_at or now),
        notes=notes,
        archived=archived,
    )


def _event(event: Event) -> EventFacts:
    return EventFacts(
        at=event.at,
        kind=event.kind,
        step=event.step,
        attempt=event.attempt,
        actor_kind=event.actor_kind,
        actor_name=event.actor_name,
        detail=event.detail,
    )


def _began(
    submission: QueuedSubmission | SetAsideSubmission | None,
    process: OrderProcess | None,
    events: list[EventFacts],
    now: datetime,
) -> datetime:
    """The earliest known moment of an order: when its submission was posted."""
    moments = [event.at for event in events[:1]]
    moments += [
        posted_at
        for event in events
        if event.kind == EventKind.RECEIVED
        and (posted_at := moment(event.detail.get("posted_at"))) is not None
    ]
    moments += [process.created_at] if process else []
    moments += [submission.posted_at] if submission else []
    return min(moments, default=now)


def _alert(order_id: UUID) -> AlertFacts | None:
    alert = Alert.objects.filter(order_id=order_id, closed_at__isnull=True).first()
    if alert is None:
        return None
    return AlertFacts(
        kind=alert.kind,
        step=alert.step,
        agent=alert.agent,
        code=alert.code,
        message=alert.message,
        opened_at=alert.opened_at,
    )


def submission_of(order_id: UUID) -> tuple[QueuedSubmission | None, SetAsideSubmission | None]:
    """The submission with this id, queued or set aside, if it has not become an order. Two or three queries."""
    return _queued(order_id), set_aside_submission(order_id)


def _queued(order_id: UUID) -> QueuedSubmission | None:
    message = SubmissionMessage.objects.filter(order_id=order_id).order_by("id").first()
    if message is None:
        return None
    ahead = bounded_count(SubmissionMessage.objects.filter(id__lt=message.pk))
    return QueuedSubmission(
        client=message.client, goal=message.goal, posted_at=message.posted_at, ahead=ahead
    )
