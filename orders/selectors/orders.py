"""A customer's orders, wherever they are.

An order belongs to somebody: every function takes the customer, and reads nothing that belongs to anybody else. Where
she may be None, that is for operators, who read everybody's. An order is on the submission queue, in the orders
database, set aside, or archived. `order` and `orders` look in every place, in the order in which an order moves through
them, so that one that is moving is never missed. An order moves back only from being set aside to the queue: `order`
looks twice, and `orders` looks into both at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.business.own_words import NO_WORDS, OwnWords
from orders.engine.runtime.sql import fetch
from orders.models import ArchivedOrder, Event, Order, SetAside, SubmissionMessage
from orders.selectors import archived_orders
from orders.selectors.customer_order import (
    CustomerOrder,
    LastEvent,
    last_events,
    public_error,
    queued_order,
    set_aside_order,
    version_of,
)
from orders.selectors.desk.history import moment
from orders.selectors.paging import Page, Position, page_of
from orders.selectors.stored_orders import Selection, stored_order, stored_orders
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
_NEWEST = "ORDER BY placed_at DESC, order_id DESC LIMIT %(limit)s::bigint"
OWN = "body ->> 'reference' AS reference, body -> 'metadata' AS metadata"
QUEUED = f"""
    (SELECT order_id, body, posted_at, goal, NULL AS reason, NULL AS set_aside_at, placed_at
       FROM (SELECT *, {{placed_at}}, {OWN} FROM orders_submissionmessage WHERE client = %(client)s::text) AS queued
      WHERE {{conditions}} {_NEWEST})
"""
ASIDE = f"""
    (SELECT order_id, body, posted_at, NULL, reason, set_aside_at, placed_at
       FROM (SELECT *, {{placed_at}}, {OWN} FROM orders_setaside
              WHERE client = %(client)s::text AND replayed_at IS NULL) AS aside
      WHERE {{conditions}} {_NEWEST})
"""
SUBMITTED = """
    SELECT submitted.*, last.id, last.at
      FROM ({places}) AS submitted (order_id, body, posted_at, goal, reason, set_aside_at, placed_at)
      LEFT JOIN LATERAL (
           SELECT id, at FROM orders_event AS event WHERE event.order_id = submitted.order_id ORDER BY id DESC LIMIT 1
           ) AS last ON true
"""
ARCHIVED = f"""
    SELECT * FROM orders_archivedorder WHERE customer_id = %(customer_id)s::int AND {{conditions}} {_NEWEST}
"""


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


def orders(
    *,
    customer_id: int,
    limit: int,
    before: Position | None = None,
    state: str | None = None,
    placed_after: datetime | None = None,
    subject: str = "",
    words: OwnWords = NO_WORDS,
) -> Page[CustomerOrder]:
    """A customer's orders before a position, or only those that are selected so, newest first.

    What counts is when an order was placed, which stays the same wherever it moves. Three statements, whatever the
    `limit`.
    """
    selection = Selection(
        customer_id=customer_id,
        limit=limit + 1,
        before=before,
        placed_after=placed_after,
        state=state,
        subject=subject,
        words=words,
    )
    values = {**selection.values, "client": client_of(customer_id)}
    views = {view.id: view for view in _submitted_orders(selection, values)}
    views |= {view.id: view for view in stored_orders(selection)}
    conditions = selection.conditions(
        order_id="order_id", subject="subject = %(subject)s::text", state="state"
    )
    archived = ArchivedOrder.objects.raw(ARCHIVED.format(conditions=conditions), values)
    archived_views = (archived_orders.customer_order(archived_orders.opened(row)) for row in archived)
    views |= {view.id: view for view in archived_views if view is not None}
    return page_of(sorted(views.values(), key=position_of, reverse=True), limit)


def position_of(order: CustomerOrder) -> Position:
    """Where an order is in its customer's list."""
    return Position(order.placed_at, order.id)


def _submitted_orders(selection: Selection, values: Mapping[str, Any]) -> list[CustomerOrder]:
    """The orders on the queue, and those that were set aside.

    Both places are read in one statement, because an order moves between them in both directions.
    """
    places = {QUEUED: ProcessState.PENDING, ASIDE: ProcessState.ERROR}
    parts = _submitted(selection)
    reads = [place.format(**parts) for place, state in places.items() if selection.state in (None, state)]
    if not reads:
        return []
    views = []
    for order_id, body, posted_at, goal, reason, set_aside_at, placed_at, *last in fetch(
        SUBMITTED.format(places=" UNION ALL ".join(reads)), values
    ):
        events = {} if last[0] is None else {order_id: LastEvent(*last)}
        common = {"order_id": order_id, "body": json.loads(body), "posted_at": posted_at}
        if goal is None:
            view = set_aside_order(SetAside(**common, reason=reason, set_aside_at=set_aside_at), events)
        else:
            view = queued_order(SubmissionMessage(**common, goal=goal), events)
        views.append(replace(view, placed_at=placed_at))
    return views


def _submitted(selection: Selection) -> Mapping[str, str]:
    """The parts of a statement that reads submissions. The time at which an order was placed is in their body, if they
    are orders at all."""
    text = "body ->> 'placed_at'"
    is_moment = f"{text} ~ '{MOMENT}' AND pg_input_is_valid({text}, 'timestamp with time zone')"
    return {
        "placed_at": f"CASE WHEN {is_moment} THEN ({text})::timestamptz ELSE posted_at END AS placed_at",
        "conditions": selection.conditions(
            order_id="order_id", subject="body -> 'subject' = to_jsonb(%(subject)s::text)"
        ),
    }


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
