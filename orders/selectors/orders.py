"""A customer's orders, wherever they are.

An order belongs to somebody: every function takes the customer, and reads nothing that belongs to anybody else. Where
she may be None, that is for operators, who read everybody's. An order is on the submission queue, in the orders
database, set aside, or archived. `order` and `orders` look in every place, in the order in which an order moves through
them, so that one that is moving is never missed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import BooleanField, Case, DateTimeField, F, Func, Model, Q, QuerySet, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from orders.engine.runtime.sql import fetch
from orders.models import ArchivedOrder, Event, Order, OrderProcess, SetAside, SubmissionMessage
from orders.selectors import archived_orders
from orders.selectors.customer_order import (
    CustomerOrder,
    last_events,
    public_error,
    queued_order,
    set_aside_order,
    stored_orders,
    version_of,
)
from orders.selectors.desk.history import moment
from orders.selectors.paging import Page, Position, older_than, page_of
from orders.vocabulary import EventKind, ProcessState

LOOKS = 2
"""How often the places are searched. The second search finds an order that moved during the first."""

MOMENT = r"^[12]\d{3}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$"
"""A time with an offset, as the shop writes it into a submission, between the years 1000 and 2999."""
WAITS: Mapping[str, str] = {
    EventKind.STEP_DECLINED: "waits_until",
    **dict.fromkeys((EventKind.AWAITING, EventKind.WAITING, EventKind.STEP_DEFERRED), "until"),
    **dict.fromkeys((EventKind.STEP_TIMED_OUT, EventKind.COMPENSATION_TIMED_OUT), "until"),
}
"""After which events an order waits, and where their detail says until when."""
_Submitted = TypeVar("_Submitted", SubmissionMessage, SetAside)


@dataclass(frozen=True, kw_only=True)
class EventView:
    """Something that happened to an order, as its customer may see it.

    `waiting_until` is until when it waits since then, if that has a deadline; `reason` is why it is cancelled.
    """

    id: int
    at: datetime
    kind: str
    step: str
    attempt: int
    error: Mapping[str, str] | None
    waiting_until: datetime | None
    reason: str | None


def client_of(customer_id: int) -> str:
    """The name under which a customer's submissions are posted."""
    return f"user:{customer_id}"


class Belonging(NamedTuple):
    """How rows say whose an order is: `inserted` in the orders database and the archive, `submitted` before that."""

    inserted: Mapping[str, Any]
    submitted: Mapping[str, Any]


ANYBODYS = Belonging({}, {})


def belonging_to(customer_id: int | None) -> Belonging:
    """Orders of this customer; everybody's without one."""
    return (
        ANYBODYS
        if customer_id is None
        else Belonging({"customer_id": customer_id}, {"client": client_of(customer_id)})
    )


def order(*, order_id: UUID, customer_id: int | None) -> CustomerOrder | None:
    """One of this customer's orders, or anybody's, wherever it is; None if there is none."""
    inserted, submitted = belonging_to(customer_id)
    for _ in range(LOOKS):
        # The version is read before the data that it describes: a change in between makes the next version differ.
        events = last_events([order_id])
        stored = list(Order.objects.filter(pk=order_id, **inserted))
        if views := stored_orders(stored, events):
            return views[0]
        if message := SubmissionMessage.objects.filter(order_id=order_id, **submitted).first():
            return queued_order(message, events)
        aside = SetAside.objects.filter(order_id=order_id, replayed_at__isnull=True, **submitted).first()
        if aside:
            return set_aside_order(aside, events)
        if archived := archived_orders.find(order_id, **inserted):
            return archived_orders.customer_order(archived)
    return None


def order_version(order_id: UUID) -> str:
    """The current version of an order that is known to exist; cheap enough to be polled."""
    return order_versions([order_id])[order_id]


def order_versions(order_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The current versions of orders that are known to exist. One statement, however many."""
    rows = fetch(
        """
        SELECT ids.id, coalesce(archived.last_event,
                   (SELECT max(event.id) FROM orders_event AS event WHERE event.order_id = ids.id)),
               coalesce(process.process_state, archived.state),
               EXISTS (SELECT FROM orders_setaside AS aside
                        WHERE aside.order_id = ids.id AND aside.replayed_at IS NULL)
          FROM unnest(%s::uuid[]) AS ids (id)
          LEFT JOIN orders_orderprocess AS process ON process.order_id = ids.id
          LEFT JOIN orders_archivedorder AS archived ON archived.order_id = ids.id
        """,
        [list(order_ids)],
    )
    not_stored = {True: ProcessState.ERROR.value, False: ProcessState.PENDING.value}
    return {
        order_id: version_of(last or 0, state or not_stored[is_aside])
        for order_id, last, state, is_aside in rows
    }


def owns_order(*, order_id: UUID, customer_id: int) -> bool:
    """Whether an order belongs to this customer, wherever it is."""
    return _is_anywhere(order_id, belonging_to(customer_id))


def order_exists(order_id: UUID) -> bool:
    """Whether there is such an order, wherever it is."""
    return _is_anywhere(order_id, ANYBODYS)


def _is_anywhere(order_id: UUID, belonging: Belonging) -> bool:
    inserted, submitted = belonging
    return any(
        Order.objects.filter(pk=order_id, **inserted).exists()
        or SubmissionMessage.objects.filter(order_id=order_id, **submitted).exists()
        or SetAside.objects.filter(order_id=order_id, replayed_at__isnull=True, **submitted).exists()
        or ArchivedOrder.objects.filter(pk=order_id, **inserted).exists()
        for _ in range(LOOKS)
    )


def orders(
    *,
    customer_id: int,
    limit: int,
    before: Position | None = None,
    state: str | None = None,
    placed_after: datetime | None = None,
    subject: str = "",
) -> Page[CustomerOrder]:
    """A customer's orders before a position, or only those about a subject, newest first by the time they were placed.

    An order keeps that time wherever it moves. Eight statements, whatever the `limit`.
    """
    client = client_of(customer_id)
    queued: list[SubmissionMessage] = []
    aside: list[SetAside] = []
    if state in (None, ProcessState.PENDING):
        messages = SubmissionMessage.objects.filter(client=client)
        queued = list(_submitted(messages, before, placed_after, subject)[: limit + 1])
    if state in (None, ProcessState.ERROR):
        waiting = SetAside.objects.filter(client=client, replayed_at__isnull=True)
        aside = list(_submitted(waiting, before, placed_after, subject)[: limit + 1])
    stored = list(_stored(customer_id, before, state, placed_after, subject)[: limit + 1])
    ids = [*(row.order_id for row in queued), *(row.order_id for row in aside), *(row.pk for row in stored)]
    events = last_events(ids)
    views = {message.order_id: _as_placed(queued_order(message, events), message) for message in queued}
    views |= {row.order_id: _as_placed(set_aside_order(row, events), row) for row in aside}
    views |= {view.id: view for view in stored_orders(stored, events)}
    archived = _archived(customer_id, before, state, placed_after, subject)[: limit + 1]
    archived_views = (archived_orders.customer_order(archived_orders.opened(row)) for row in archived)
    views |= {view.id: view for view in archived_views if view is not None}
    return page_of(sorted(views.values(), key=position_of, reverse=True), limit)


def position_of(order: CustomerOrder) -> Position:
    """Where an order is in its customer's list."""
    return Position(order.placed_at, order.id)


class _IsMoment(Func):
    """Whether PostgreSQL can read a text as a time."""

    template = "pg_input_is_valid(%(expressions)s, 'timestamp with time zone')"
    output_field = BooleanField()


def _submitted(
    rows: QuerySet[_Submitted], before: Position | None, placed_after: datetime | None, subject: str
) -> QuerySet[_Submitted]:
    """Submissions with the time at which their order was placed, which is in their body if they are orders at all."""
    text = KT("body__placed_at")
    is_moment = Q(text__regex=MOMENT) & Q(_IsMoment(F("text")))
    placed_at = Case(When(is_moment, then=Cast(F("text"), DateTimeField())), default=F("posted_at"))
    rows = rows.annotate(text=text).annotate(placed_at=placed_at)
    if before:
        rows = rows.filter(older_than(before, time="placed_at", order_id="order_id"))
    if placed_after:
        rows = rows.filter(placed_at__gt=placed_after)
    if subject:
        rows = rows.filter(body__subject=subject)
    return rows.order_by("-placed_at", "-order_id")


def _as_placed(view: CustomerOrder, row: Model) -> CustomerOrder:
    """The view with the time that its row is listed by."""
    return replace(view, placed_at=getattr(row, "placed_at"))  # noqa: B009 - an annotation


def _stored(
    customer_id: int, before: Position | None, state: str | None, placed_after: datetime | None, subject: str
) -> QuerySet[Order]:
    orders = Order.objects.filter(customer_id=customer_id)
    if before:
        orders = orders.filter(older_than(before, time="placed_at", order_id="pk"))
    if placed_after:
        orders = orders.filter(placed_at__gt=placed_after)
    if subject:
        orders = orders.filter(subject=subject)
    if state:
        in_state = OrderProcess.objects.filter(process_state=state).values("order_id")
        orders = orders.filter(pk__in=in_state)
    return orders.order_by("-placed_at", "-pk")


def _archived(
    customer_id: int, before: Position | None, state: str | None, placed_after: datetime | None, subject: str
) -> QuerySet[ArchivedOrder]:
    rows = ArchivedOrder.objects.filter(customer_id=customer_id)
    if before:
        rows = rows.filter(older_than(before, time="placed_at", order_id="pk"))
    if placed_after:
        rows = rows.filter(placed_at__gt=placed_after)
    if subject:
        rows = rows.filter(subject=subject)
    return (rows.filter(state=state) if state else rows).order_by("-placed_at", "-pk")


def order_events(
    *, order_id: UUID, customer_id: int | None, after: int, limit: int
) -> Page[EventView] | None:
    """The events of this customer's or anybody's order with ids above `after`, oldest first; None if there is no such
    order."""
    belonging = belonging_to(customer_id)
    if not _is_anywhere(order_id, belonging):
        return None
    events = list(Event.objects.filter(order_id=order_id, id__gt=after).order_by("id")[: limit + 1])
    if not events and (archived := archived_orders.find(order_id, **belonging.inserted)):
        events = [event for event in archived.events if event.pk > after][: limit + 1]
    return page_of([_event(event) for event in events], limit)


def _event(event: Event) -> EventView:
    until = event.detail.get(WAITS[event.kind]) if event.kind in WAITS else None
    return EventView(
        id=event.id,
        at=event.at,
        kind=event.kind,
        step=event.step,
        attempt=event.attempt,
        error=public_error(event.detail.get("error")),
        waiting_until=moment(until),
        reason=event.detail.get("why"),
    )
