"""What pages, commands and the API read. Nothing here writes or locks.

An order is somebody's: every question names the customer, and what is another's is not there. An order is on the
submission queue, in the orders database, or set aside; `order` and `orders` look in all three places, in the order in
which one moves through them, so that an order that is just moving is never missed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.fields.money import Money
from orders.models import (
    Event,
    LeaderLease,
    Order,
    OrderProcess,
    Product,
    SetAside,
    StatusMessage,
    SubmissionMessage,
)
from orders.selectors import order_view as order_views
from orders.selectors.order_view import OrderView
from orders.vocabulary import ProcessState

T = TypeVar("T")

LOOKS = 2
"""How often the three places are looked through. An order that moves during one look is found by the next."""


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """Some of many. `has_more`: there are others behind the last one."""

    items: Sequence[T]
    has_more: bool


@dataclass(frozen=True, kw_only=True)
class ProductView:
    """A product as it is for sale."""

    sku: str
    title: str
    artist: str
    description: str
    price: Money


@dataclass(frozen=True, kw_only=True)
class EventView:
    """One thing that happened to an order, as its customer may see it."""

    id: int
    at: datetime
    kind: str
    step: str
    attempt: int
    error: Mapping[str, str] | None


@dataclass(frozen=True, kw_only=True)
class MessageView:
    """A message on a response queue (Q3)."""

    id: int
    order_id: UUID
    kind: str
    posted_at: datetime
    body: Any


def client_of(customer_id: int) -> str:
    """The name under which a customer's submissions are posted."""
    return f"user:{customer_id}"


def queue_of(customer_id: int, name: str) -> str:
    """The full name of a customer's own response queue (Q2)."""
    return f"{client_of(customer_id)}/{name}"


def last_sweep_at() -> datetime | None:
    """When a supervisor last finished a sweep; None if none ever has."""
    return LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).values_list("swept_at", flat=True).first()


def product(sku: str) -> ProductView | None:
    """A product that is for sale."""
    found = Product.objects.filter(sku=sku, is_listed=True).first() if "\x00" not in sku else None
    return _product(found) if found else None


def products(*, after: str, limit: int) -> Page[ProductView]:
    """The posters for sale, by their SKUs, behind `after`. Their other sizes and editions are not listed."""
    posters = Product.objects.filter(is_listed=True, variant_of=None, sku__gt=after)
    found = posters.order_by("sku")[: limit + 1]
    return _page([_product(one) for one in found], limit)


def _product(found: Product) -> ProductView:
    return ProductView(
        sku=found.sku,
        title=found.title,
        artist=found.artist,
        description=found.description,
        price=Money(amount=found.price, currency=found.currency),
    )


def order(*, order_id: UUID, customer_id: int) -> OrderView | None:
    """An order of this customer's, wherever it is; None if there is none."""
    client = client_of(customer_id)
    for _ in range(LOOKS):
        # The version is read before what it stands for: a change in between makes the next version differ, not this.
        events = order_views.last_events([order_id])
        stored = list(Order.objects.filter(pk=order_id, customer_id=customer_id))
        if views := order_views.stored(stored, events):
            return views[0]
        if message := SubmissionMessage.objects.filter(order_id=order_id, client=client).first():
            return order_views.queued(message, events)
        aside = SetAside.objects.filter(order_id=order_id, client=client, replayed_at__isnull=True).first()
        if aside:
            return order_views.set_aside(aside, events)
    return None


def order_version(order_id: UUID) -> str:
    """The present version of an order that is known to exist; the cheap question that waiting asks again and again."""
    return order_versions([order_id])[order_id]


def order_versions(order_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The present versions of orders that are known to exist. One statement, however many."""
    rows = fetch(
        """
        SELECT asked.id, (SELECT max(event.id) FROM orders_event AS event WHERE event.order_id = asked.id),
               process.process_state,
               EXISTS (SELECT FROM orders_setaside AS aside
                        WHERE aside.order_id = asked.id AND aside.replayed_at IS NULL)
          FROM unnest(%s::uuid[]) AS asked (id)
          LEFT JOIN orders_orderprocess AS process ON process.order_id = asked.id
        """,
        [list(order_ids)],
    )
    not_stored = {True: ProcessState.ERROR.value, False: ProcessState.PENDING.value}
    return {
        order_id: order_views.version_of(last or 0, state or not_stored[is_aside])
        for order_id, last, state, is_aside in rows
    }


def owns_order(*, order_id: UUID, customer_id: int) -> bool:
    """Whether an order is this customer's, wherever it is."""
    return _is_anywhere(order_id, {"customer_id": customer_id}, {"client": client_of(customer_id)})


def order_exists(order_id: UUID) -> bool:
    """Whether there is such an order, wherever it is."""
    return _is_anywhere(order_id, {}, {})


def _is_anywhere(order_id: UUID, inserted: Mapping[str, Any], posted: Mapping[str, Any]) -> bool:
    return any(
        Order.objects.filter(pk=order_id, **inserted).exists()
        or SubmissionMessage.objects.filter(order_id=order_id, **posted).exists()
        or SetAside.objects.filter(order_id=order_id, replayed_at__isnull=True, **posted).exists()
        for _ in range(LOOKS)
    )


def orders(
    *,
    customer_id: int,
    limit: int,
    before: UUID | None = None,
    state: str | None = None,
    placed_after: datetime | None = None,
) -> Page[OrderView]:
    """A customer's orders, newest first, those before the order `before`. Seven statements, whatever `limit`."""
    mine: dict[str, Any] = {"client": client_of(customer_id)}
    mine |= {"order_id__lt": before} if before else {}
    mine |= {"posted_at__gt": placed_after} if placed_after else {}
    waiting: list[SubmissionMessage] = []
    aside: list[SetAside] = []
    if state in (None, ProcessState.PENDING):
        waiting = list(SubmissionMessage.objects.filter(**mine).order_by("-order_id")[: limit + 1])
    if state in (None, ProcessState.ERROR):
        unanswered = SetAside.objects.filter(replayed_at__isnull=True, **mine)
        aside = list(unanswered.order_by("-order_id")[: limit + 1])
    inserted = Order.objects.filter(customer_id=customer_id)
    if before:
        inserted = inserted.filter(pk__lt=before)
    if placed_after:
        inserted = inserted.filter(placed_at__gt=placed_after)
    if state:
        in_state = OrderProcess.objects.filter(process_state=state).values("order_id")
        inserted = inserted.filter(pk__in=in_state)
    stored = list(inserted.order_by("-pk")[: limit + 1])
    ids = [one.order_id for one in (*waiting, *aside)] + [one.pk for one in stored]
    events = order_views.last_events(ids)
    views = {one.order_id: order_views.queued(one, events) for one in waiting}
    views |= {one.order_id: order_views.set_aside(one, events) for one in aside}
    views |= {view.id: view for view in order_views.stored(stored, events)}
    return _page(sorted(views.values(), key=lambda view: view.id, reverse=True), limit)


def order_events(*, order_id: UUID, customer_id: int, after: int, limit: int) -> Page[EventView] | None:
    """What has happened to an order since the event `after`, oldest first; None if it is not this customer's."""
    if order(order_id=order_id, customer_id=customer_id) is None:
        return None
    found = Event.objects.filter(order_id=order_id, id__gt=after).order_by("id")[: limit + 1]
    return _page(
        [
            EventView(
                id=one.id,
                at=one.at,
                kind=one.kind,
                step=one.step,
                attempt=one.attempt,
                error=order_views.told_error(one.detail.get("error")),
            )
            for one in found
        ],
        limit,
    )


def queue_messages(*, queue: str, after: int, limit: int) -> Page[MessageView]:
    """The messages of a response queue behind `after`, oldest first (Q3)."""
    found = StatusMessage.objects.filter(queue=queue, id__gt=after).order_by("id")[: limit + 1]
    return _page(
        [
            MessageView(
                id=one.id, order_id=one.order_id, kind=one.kind, posted_at=one.posted_at, body=one.body
            )
            for one in found
        ],
        limit,
    )


def has_messages(*, queue: str, after: int) -> bool:
    """Whether a response queue has any message behind `after`."""
    return StatusMessage.objects.filter(queue=queue, id__gt=after).exists()


def _page(found: Sequence[T], limit: int) -> Page[T]:
    return Page(items=found[:limit], has_more=len(found) > limit)
