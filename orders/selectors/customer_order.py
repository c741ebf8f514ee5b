"""An order as its customer sees it, whether it is queued, in the orders database, or set aside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from orders.business import registry
from orders.business.corrections import Correctable, open_steps
from orders.business.profiles import read_submitted
from orders.engine.intakes import public_reason
from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.models import Event, Order, OrderProcess, SetAside, SubmissionMessage
from orders.selectors.order_waits import Waiting, awaited, waiting_of_order, waiting_of_step
from orders.vocabulary import FINISHED_STATES, Goal, Outcome, ProcessState, StepStatus, WaitingFor, WaitKind

ENDED_STEPS = frozenset({StepStatus.COMPLETED, StepStatus.SKIPPED, StepStatus.COMPENSATED, StepStatus.FAILED})
PUBLIC_ERROR_FIELDS = ("code", "message", "waits_for")


@dataclass(frozen=True, kw_only=True)
class CustomerLine:
    """A line of an order, with the product's title and price when it was ordered."""

    sku: str
    title: str
    quantity: int
    unit_price: Money


@dataclass(frozen=True, kw_only=True)
class CustomerStep:
    """Where a step of an order stands. `not_before` is when a waiting step is tried again.

    `awaits` is what kind of answer from outside it waits for, also while its agent asks again whether there is one.
    `is_backward` says that what is under way, or awaited, is its compensation. `is_probing` says that what does it
    could not be used, and nothing has shown yet that it can be: a call under way may. `outcome` is what is known of its
    remote effect, whether or not that was reversed since. `result` is what its agent returned, if clients see something
    of it (`OrderKind.client_results`), and then whatever that is.
    """

    name: str
    state: str
    attempts: int
    complete_by: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    not_before: datetime | None
    error: Mapping[str, Any] | None
    awaits: WaitKind | None = None
    waiting: Waiting | None = None
    is_backward: bool = False
    is_probing: bool = False
    outcome: str = Outcome.NONE.value
    result: object = None


@dataclass(frozen=True, kw_only=True)
class CustomerOrder:
    """An order and its progress. `version` changes whenever something happens to it.

    `title`, `total`, `lines` and `promised_by` are what its kind says of it; a submission that was set aside may say
    nothing. `data` is what it was placed with, which may be anything while it is a submission, and is empty in a list.
    `workflow_version` is 0 before the order is inserted. `error` is why it was set aside; a step's error is on
    the step.
    """

    id: UUID
    workflow: str
    subject: str
    title: str
    version: str
    state: str
    placed_at: datetime
    updated_at: datetime
    total: Money | None
    lines: Sequence[CustomerLine]
    goal: str = Goal.COMPLETE.value
    failure_count: int = 0
    complete_by: datetime | None = None
    steps: Sequence[CustomerStep] = field(default_factory=tuple)
    error: Mapping[str, Any] | None = None
    is_archived: bool = False
    workflow_version: int = 0
    promised_by: datetime | None = None
    reference: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    pause: Waiting | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def number(self) -> str:
        """Its number as people say it."""
        return spoken_number(self.id)

    @cached_property
    def waiting(self) -> Waiting | None:
        """Whom or what it waits for, and until when; None if it is simply under way, or finished."""
        return waiting_of_order(self.state, [self.pause, *(step.waiting for step in self.steps)])

    @property
    def waiting_for(self) -> WaitingFor | None:
        """Whom or what it waits for; None if for nothing."""
        return self.waiting.kind if self.waiting else None

    @property
    def waiting_until(self) -> datetime | None:
        """The deadline of what it waits for; None if that has none."""
        return self.waiting.until if self.waiting else None

    @cached_property
    def open_steps(self) -> Mapping[str, frozenset[str]]:
        """The steps that its customer can resolve now, and the names of the fields that she may change for each."""
        return open_steps(
            self.workflow, self.workflow_version, goal=self.goal, state=self.state, steps=self.steps
        )

    @cached_property
    def correctable(self) -> Sequence[Correctable]:
        """What its customer can correct now."""
        steps = [step for step in self.steps if step.name in self.open_steps]
        return [
            Correctable(step.name, step.error or {}, sorted(self.open_steps[step.name]), step.not_before)
            for step in steps
        ]

    @property
    def correctable_fields(self) -> frozenset[str]:
        """The names of the fields that its customer may change now."""
        return frozenset(name for step in self.correctable for name in step.fields)

    @cached_property
    def client_values(self) -> Mapping[str, Any]:
        """What REST clients see of it beside what every order has, by the names of members."""
        kind = registry.find_kind(self.workflow)
        if kind is None:
            return {}
        results = {
            step.name: step.result
            for step in self.steps
            if step.name in kind.client_results
            and step.state == StepStatus.COMPLETED
            and isinstance(step.result, Mapping)
        }
        return kind.client_values(self.data, results)

    @property
    def is_finished(self) -> bool:
        """Whether nothing more is to happen to it by itself."""
        return self.is_archived or self.state in FINISHED_STATES


class StoredRow(NamedTuple):
    """The columns of an order and of its process."""

    pk: UUID
    subject: str
    title: str
    currency: str
    total: int | None
    placed_at: datetime
    inserted_at: datetime
    promised_by: datetime | None
    workflow: str
    version: int
    process_state: str
    goal: str
    failure_count: int
    complete_by: datetime | None
    paused_at: datetime | None
    paused_until: datetime | None
    reference: str
    metadata: Mapping[str, str] | None


class LastEvent(NamedTuple):
    """The id and the time of an order's last event."""

    id: int
    at: datetime


LastEvents = Mapping[UUID, LastEvent]


def last_events(order_ids: Sequence[UUID]) -> LastEvents:
    """The last event of each order that has any."""
    rows = Event.objects.filter(order_id__in=order_ids).order_by("order_id", "-id").distinct("order_id")
    return {
        order_id: LastEvent(number, at) for order_id, number, at in rows.values_list("order_id", "id", "at")
    }


def version(order_id: UUID, state: str, events: LastEvents) -> str:
    """What distinguishes this state of an order from earlier and later ones."""
    last = events.get(order_id)
    return version_of(last.id if last else 0, state)


def version_of(last_event: int, state: str) -> str:
    """The version of an order in a state after the event with this id; 0 is no event."""
    return f"{last_event}-{state}"


def described_order(
    order: Order | StoredRow,
    process: OrderProcess | StoredRow,
    steps: Sequence[CustomerStep],
    lines: Sequence[CustomerLine],
    events: LastEvents,
) -> CustomerOrder:
    """An order made of its rows, wherever they were read."""
    last = events.get(order.pk)
    return CustomerOrder(
        id=order.pk,
        workflow=process.workflow,
        subject=order.subject,
        title=order.title,
        version=version(order.pk, process.process_state, events),
        state=process.process_state,
        goal=process.goal,
        failure_count=process.failure_count,
        complete_by=process.complete_by,
        placed_at=order.placed_at,
        updated_at=last.at if last else order.inserted_at,
        total=None if order.total is None else Money(amount=order.total, currency=order.currency),
        lines=lines,
        steps=steps,
        workflow_version=process.version,
        promised_by=order.promised_by,
        reference=order.reference,
        metadata=order.metadata or {},
        pause=Waiting(WaitingFor.OPERATOR, process.paused_until) if process.paused_at else None,
    )


def customer_line(sku: str, title: str, quantity: int, price: int, currency: str) -> CustomerLine:
    """A line from its columns."""
    unit_price = Money(amount=price, currency=currency)
    return CustomerLine(sku=sku, title=title, quantity=quantity, unit_price=unit_price)


def customer_step(step: Mapping[str, Any], goal: str) -> CustomerStep:
    """A step from its columns, of an order with this goal."""
    waiting = waiting_of_step(step, goal)
    return CustomerStep(
        name=step["name"],
        state=step["state"],
        attempts=step["attempt"],
        complete_by=step["complete_by"],
        started_at=step["started_at"],
        completed_at=step["completed_at"],
        not_before=step["not_before"],
        error=public_error(step["error"]),
        awaits=awaited(step),
        waiting=waiting,
        is_backward=_is_backward(step),
        is_probing=waiting is None
        and step.get("wanted_since") is not None
        and step["state"] not in ENDED_STEPS,
        outcome=step["outcome"] or Outcome.NONE.value,
        result=step.get("result"),
    )


def _is_backward(step: Mapping[str, Any]) -> bool:
    if step["state"] == StepStatus.AWAITING:
        return step["compensation_sent_at"] is not None
    return bool(step["state"] == StepStatus.COMPENSATING)


def queued_order(message: SubmissionMessage, events: LastEvents) -> CustomerOrder:
    """An order on the submission queue: its customer sees it as Pending, also if it was cancelled there."""
    view = _described(
        message.order_id, message.body, ProcessState.PENDING, message.posted_at, message.posted_at, events
    )
    return replace(view, goal=message.goal)


def set_aside_order(submission: SetAside, events: LastEvents) -> CustomerOrder:
    """An order that could not be inserted: its customer sees it in Error, with the reason."""
    return _described(
        submission.order_id,
        submission.body,
        ProcessState.ERROR,
        submission.posted_at,
        submission.set_aside_at,
        events,
        error={"code": "set_aside", "message": public_reason(submission.reason)},
    )


def _described(
    order_id: UUID,
    body: object,
    state: ProcessState,
    posted_at: datetime,
    changed_at: datetime,
    events: LastEvents,
    error: Mapping[str, str] | None = None,
) -> CustomerOrder:
    """An order as its submission describes it. The submission may contain anything, because the queue checks
    nothing."""
    last = events.get(order_id)
    submitted = read_submitted(body, placed_at=posted_at, order_id=order_id)
    value = submitted.profile.value
    return CustomerOrder(
        id=order_id,
        workflow=submitted.workflow,
        subject=submitted.subject,
        title=submitted.profile.title,
        version=version(order_id, state.value, events),
        state=state.value,
        placed_at=submitted.placed_at,
        updated_at=last.at if last else changed_at,
        total=value,
        lines=[
            customer_line(line.sku, line.title, line.quantity, line.unit_price, value.currency)
            for line in submitted.profile.lines
            if value is not None
        ],
        promised_by=submitted.profile.promised_by,
        reference=submitted.words.reference,
        metadata=submitted.words.metadata,
        error=error,
        data=submitted.data,
    )


def public_error(error: object) -> Mapping[str, Any] | None:
    """The part of an error that its customer may see: its code, its message, and who has to act on which detail."""
    if not isinstance(error, Mapping) or not error:
        return None
    detail = error.get("detail")
    public: dict[str, Any] = {key: str(error[key]) for key in PUBLIC_ERROR_FIELDS if key in error}
    # What a remote service says beside its message is meant for whoever can resolve it.
    if "waits_for" in public and isinstance(detail, Mapping) and detail:
        public["detail"] = detail
    return public


def order_data(order: Order) -> Mapping[str, Any]:
    """What an order was placed with. One from before orders kept that has its address and payment method."""
    if order.data is not None:
        data: Mapping[str, Any] = order.data
        return data
    return {"ship_to": order.ship_to or {}, "payment_method": order.payment_method, "email": order.email}
