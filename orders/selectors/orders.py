"""A customer's orders, wherever they are.

An order belongs to somebody: every function takes the customer, and reads nothing that belongs to anybody else. Where
she may be None, that is for operators, who read everybody's. An order is on the submission queue, in the orders
database, set aside, or archived. `order` looks in every place, in the order in which an order moves through them, so
that one that is moving is never missed. An order moves back only from being set aside to the queue, so it looks twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.models import ArchivedOrder, Event, Order, SetAside, SubmissionMessage
from orders.selectors import archived_orders
from orders.selectors.customer_order import (
    CustomerOrder,
    last_events,
    public_error,
    queued_order,
    set_aside_order,
    version_of,
)
from orders.selectors.desk.history import moment
from orders.selectors.paging import Page, page_of
from orders.selectors.stored_orders import stored_order
from orders.vocabulary import EventKind, ProcessState

LOOKS = 2
"""How often the places are searched. The second search finds an order that moved during the first."""

WAITS: Mapping[str, str] = {
    EventKind.STEP_DECLINED: "waits_until",
    **dict.fromkeys((EventKind.AWAITING, EventKind.WAITING, EventKind.STEP_DEFERRED), "until"),
    EventKind.PAUSED: "until",
    **dict.fromkeys((EventKind.STEP_TIMED_OUT, EventKind.COMPENSATION_TIMED_OUT), "until"),
}
"""After which events an order waits, and where their detail says until when."""


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
        if stored := stored_order(order_id, inserted):
            return stored
        if submitted_order := find_submission(order_id, submitted):
            return submitted_order.order
        if archived := archived_orders.find(order_id, **inserted):
            return archived_orders.customer_order(archived)
    return None


class Submitted(NamedTuple):
    """An order that is on the queue or set aside, and what it was posted with, which may be anything."""

    order: CustomerOrder
    body: object


def find_submission(order_id: UUID, belonging: Mapping[str, Any]) -> Submitted | None:
    """An order on the queue or set aside, if its columns have the values of `belonging`; otherwise None."""
    # The version is read before the data that it describes: a change in between makes the next version differ.
    events = last_events([order_id])
    if message := SubmissionMessage.objects.filter(order_id=order_id, **belonging).first():
        return Submitted(queued_order(message, events), message.body)
    if aside := SetAside.objects.filter(order_id=order_id, replayed_at__isnull=True, **belonging).first():
        return Submitted(set_aside_order(aside, events), aside.body)
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
    return page_of([event_view(event) for event in events], limit)


def event_view(event: Event) -> EventView:
    """An event as the customer of its order may see it."""
    until = event.detail.get(WAITS[event.kind]) if event.kind in WAITS else None
    return EventView(
        id=event.id,
        at=event.at,
        kind=event.kind,
        step=event.step,
        attempt=event.attempt,
        error=_error_of(event),
        waiting_until=moment(until),
        reason=event.detail.get("why"),
    )


def _error_of(event: Event) -> Mapping[str, str] | None:
    """What went wrong. A failed call is an error itself."""
    if event.kind != EventKind.CALL_FAILED:
        return public_error(event.detail.get("error"))
    return public_error(event.detail) if "code" in event.detail else None
