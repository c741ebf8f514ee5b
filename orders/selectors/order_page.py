"""What the page of one order reads: more than the API shows, still nothing that is another's. Nothing here writes.

An order is an account's or a guest's. Whoever asks for a guest's order has shown a signed link to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.models import Event, Order, OrderProcess, SetAside, SubmissionMessage
from orders.selectors import order_view as order_views
from orders.selectors.order_view import OrderView
from orders.selectors.orders import LOOKS, client_of
from orders.vocabulary import EventKind, ProcessState

GUEST = "guest"
"""The name under which the submissions of all guests are posted."""
ADDRESS_PARTS = ("name", "street", "postal_code", "city", "country")
NOTED = (
    EventKind.CALL_FAILED,
    EventKind.COMPENSATION_REQUESTED,
    EventKind.STEP_COMPENSATED,
    EventKind.PAID_AGAIN,
    EventKind.PROCESSED,
    EventKind.COMPENSATED,
    EventKind.ERROR,
)
FINISHED_LOOKED_AT = 200
FEWEST_FINISHED = 20
"""Of fewer finished orders nothing is said about what is usual."""


@dataclass(frozen=True, kw_only=True)
class Noted:
    """The last time that something of one kind happened to a step of an order, or to the order."""

    at: datetime
    attempt: int
    detail: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TrackedOrder:
    """An order with all that its page tells. `noted` is by kind of event and step ("" is the order itself)."""

    order: OrderView
    email: str
    ship_to: Mapping[str, str]
    noted: Mapping[tuple[str, str], Noted] = field(default_factory=dict)


class GuestAddress(NamedTuple):
    """Where a guest's mail about an order goes, and when a link to it was last mailed there."""

    email: str
    link_mailed_at: datetime | None


def order_of_customer(*, order_id: UUID, customer_id: int) -> TrackedOrder | None:
    """An order of this customer's, wherever it is; None if there is none. At most nine statements."""
    return _tracked(order_id, customer_id, client_of(customer_id))


def order_of_guest(*, order_id: UUID) -> TrackedOrder | None:
    """An order that was placed without an account; None if there is none. For who has shown a signed link to it."""
    return _tracked(order_id, None, GUEST)


def _tracked(order_id: UUID, customer_id: int | None, client: str) -> TrackedOrder | None:
    for _ in range(LOOKS):
        # The version is read before what it stands for, as in `orders.selectors.orders.order`.
        events = order_views.last_events([order_id])
        stored = Order.objects.filter(pk=order_id, customer_id=customer_id).first()
        if stored and (views := order_views.stored([stored], events)):
            return TrackedOrder(
                order=views[0], email=stored.email, ship_to=_address(stored.ship_to), noted=_noted(order_id)
            )
        if message := SubmissionMessage.objects.filter(order_id=order_id, client=client).first():
            return _described(order_views.queued(message, events), message.body)
        aside = SetAside.objects.filter(order_id=order_id, client=client, replayed_at__isnull=True).first()
        if aside:
            return _described(order_views.set_aside(aside, events), aside.body)
    return None


def _described(order: OrderView, body: object) -> TrackedOrder:
    """An order that is a submission only. Its body may be anything, as anybody may post to the queue."""
    told = body if isinstance(body, Mapping) else {}
    email = told.get("email")
    return TrackedOrder(
        order=order, email=email if isinstance(email, str) else "", ship_to=_address(told.get("ship_to"))
    )


def _address(value: object) -> Mapping[str, str]:
    given = value if isinstance(value, Mapping) else {}
    return {part: given[part] for part in ADDRESS_PARTS if isinstance(given.get(part), str)}


def _noted(order_id: UUID) -> Mapping[tuple[str, str], Noted]:
    rows = (
        Event.objects.filter(order_id=order_id, kind__in=NOTED)
        .order_by("kind", "step", "-id")
        .distinct("kind", "step")
        .values_list("kind", "step", "at", "attempt", "detail")
    )
    return {
        (kind, step): Noted(at=at, attempt=attempt, detail=detail) for kind, step, at, attempt, detail in rows
    }


def usual_seconds() -> float | None:
    """How long nine of ten of the last orders took at most; None while too few have finished to say."""
    finished = OrderProcess.objects.filter(process_state=ProcessState.PROCESSED, finished_at__isnull=False)
    rows = finished.order_by("-order_id").values_list("created_at", "finished_at")[:FINISHED_LOOKED_AT]
    took: Sequence[float] = sorted((end - begin).total_seconds() for begin, end in rows if end)
    if len(took) < FEWEST_FINISHED:
        return None
    return took[int(len(took) * 0.9)]


def guest_address(order_id: UUID) -> GuestAddress | None:
    """The mail address that a guest gave with an order; None if there is no such order, or it has an account."""
    email = Order.objects.filter(pk=order_id, customer=None).values_list("email", flat=True).first()
    if email is None:  # perhaps it was placed this moment, and is still on the submission queue
        waiting = SubmissionMessage.objects.filter(order_id=order_id, client="guest")
        email = waiting.values_list("body__email", flat=True).first()
    if email is None:
        return None
    mailed = Event.objects.filter(order_id=order_id, kind=EventKind.LINK_MAILED).order_by("-id")
    return GuestAddress(email, mailed.values_list("at", flat=True).first())
