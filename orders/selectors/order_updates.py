"""What customers are told of their orders by email: the few events that say so, and the orders that are late.

Events are read in the order of their positions in the feed of changes, and only as far as that is settled, so that
nothing is missed (docs/adr/0045). An index has just these events.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.business.updates import OrderUpdate
from orders.engine.runtime.sql import fetch
from orders.engine.state_store.feed import advance, look
from orders.vocabulary import EventKind, Goal


class Place(NamedTuple):
    """Where a reader of the events is: after the one with this position and this id."""

    position: int
    event_id: int


@dataclass(frozen=True, kw_only=True)
class Telling:
    """Something that an order's customer is to be told, and to which email, in which language. `key` is the same
    however often it is found."""

    order_id: UUID
    workflow: str
    update: OrderUpdate
    key: str
    email: str
    language: str


def key_of(order_id: UUID, update: OrderUpdate, occurrence: str = "") -> str:
    """What distinguishes an update from all others. `occurrence` tells apart what may happen to an order repeatedly."""
    return f"update/{order_id.hex}/{update}/{occurrence}"[:120]


def of_declined(step: str, attempt: int) -> str:
    """The occurrence of a step that was declined."""
    return f"{step}:{attempt}"


def of_moment(at: datetime) -> str:
    """The occurrence of something that happened at a moment."""
    return at.astimezone(UTC).isoformat()


def first_place() -> Place:
    """Where a new reader begins: before the events of the last ten minutes, since orders may be placed before a new
    shop reads for the first time, and after all earlier ones."""
    rows = fetch(
        """
        SELECT position, id
          FROM orders_event
         WHERE kind IN ('step_declined', 'error', 'compensated') AND position > 0
           AND at < now() - interval '10 minutes'
         ORDER BY position DESC, id DESC
         LIMIT 1
        """
    )
    return Place(*rows[0]) if rows else Place(0, 0)


def tellings_after(place: Place, *, limit: int) -> tuple[Sequence[Telling], Place]:
    """What customers are to be told of the settled events after a place, and the place after those. At most `limit`
    events, and all that a kind of order may tell."""
    mark, rows = look().position, _events(place, limit)
    if rows and rows[-1][0] >= mark:
        advance()
        mark, rows = look().position, _events(place, limit)
    settled = [row for row in rows if row[0] < mark]
    until = Place(*settled[-1][:2]) if settled else place
    return [telling for row in settled if (telling := _telling(*row[2:]))], until


def _events(place: Place, limit: int) -> list[tuple[Any, ...]]:
    return fetch(
        """
        SELECT event.position, event.id, event.order_id, event.kind, event.step, event.attempt, event.at,
               process.workflow, process.goal, placed.email, placed.data ->> 'language', placed.tells_customer
          FROM orders_event AS event
          LEFT JOIN orders_order AS placed ON placed.id = event.order_id
          LEFT JOIN orders_orderprocess AS process ON process.order_id = event.order_id
         WHERE event.kind IN ('step_declined', 'error', 'compensated') AND (event.position, event.id) > (%s, %s)
         ORDER BY event.position, event.id
         LIMIT %s
        """,
        [*place, limit],
    )


def _telling(order_id: UUID, kind: str, step: str, attempt: int, at: datetime, *order: Any) -> Telling | None:
    workflow, goal, email, language, is_told = order
    if not is_told or not email or workflow is None:
        return None
    match kind:
        case EventKind.STEP_DECLINED:
            update, occurrence = OrderUpdate.DECLINED, of_declined(step, attempt)
        case EventKind.COMPENSATED:
            update, occurrence = OrderUpdate.CANCELLED, ""
        case _:
            stopped = OrderUpdate.CANCEL_STUCK if goal == Goal.COMPENSATE else OrderUpdate.STOPPED
            update, occurrence = stopped, of_moment(at)
    return Telling(
        order_id=order_id,
        workflow=workflow,
        update=update,
        key=key_of(order_id, update, occurrence),
        email=email,
        language=language or "",
    )


def late_orders(workflows: Collection[str], *, now: datetime, limit: int) -> Sequence[Telling]:
    """Orders of these workflows that are under way after they were promised, and whose customers were not told so yet.

    The time of a promise begins anew when the customer changes something, as on the order's page.
    """
    rows = fetch(
        """
        SELECT placed.id, process.workflow, placed.email, placed.data ->> 'language'
          FROM orders_orderprocess AS process
          JOIN orders_order AS placed ON placed.id = process.order_id
         WHERE process.process_state IN ('pending', 'processing') AND process.goal = 'complete'
           AND process.workflow = ANY(%(workflows)s)
           AND placed.tells_customer AND placed.email <> '' AND placed.promised_by < %(now)s
           AND NOT EXISTS (
               SELECT FROM orders_outgoingmessage
                WHERE key = 'update/' || replace(placed.id::text, '-', '') || '/late/')
           AND NOT EXISTS (
               SELECT FROM orders_stepstate AS step WHERE step.order_id = placed.id AND step.state = 'failed')
           AND NOT EXISTS (
               SELECT FROM orders_event AS event
                WHERE event.order_id = placed.id AND event.kind = 'paid_again'
                  AND event.at + (placed.promised_by - placed.placed_at) >= %(now)s)
         LIMIT %(limit)s
        """,
        {"workflows": list(workflows), "now": now, "limit": limit},
    )
    return [
        Telling(
            order_id=order_id,
            workflow=workflow,
            update=OrderUpdate.LATE,
            key=key_of(order_id, OrderUpdate.LATE),
            email=email,
            language=language or "",
        )
        for order_id, workflow, email, language in rows
    ]
