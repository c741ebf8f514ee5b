"""What a customer's page of one order shows: more than the API shows, and nothing that belongs to anybody else.

An order belongs to an account or to a guest. Callers ask for a guest's order only for a visitor with a signed link.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.db.models import DateTimeField, Func
from django.utils import timezone

from orders.models import ArchivedOrder, Event, Order, StepState, SubmissionMessage
from orders.selectors import archived_orders, database_clock
from orders.selectors.customer_order import (
    CustomerOrder,
    order_data,
)
from orders.selectors.orders import LOOKS, Belonging, belonging_to, find_submission
from orders.selectors.stored_orders import stored_order
from orders.vocabulary import EventKind, Outcome, StepStatus

GUEST = "guest"
"""The name under which the submissions of all guests are posted."""
GUESTS = Belonging({"customer_id": None}, {"client": GUEST})
"""The orders of those who have no account."""
CLOCK = Func(function="clock_timestamp", output_field=DateTimeField())
PAGE_EVENTS = (
    EventKind.CALL_FAILED,
    EventKind.COMPENSATION_REQUESTED,
    EventKind.STEP_COMPLETED,
    EventKind.STEP_COMPENSATED,
    EventKind.COMPENSATION_FAILED,
    EventKind.COMPENSATION_TIMED_OUT,
    EventKind.SETTLED_DONE,
    EventKind.SETTLED_COMPENSATED,
    EventKind.STEP_RENEWED,
    EventKind.PAID_AGAIN,
    EventKind.CORRECTED,
    EventKind.PROCESSED,
    EventKind.COMPENSATED,
    EventKind.ERROR,
)


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """The latest event of one kind for a step of an order, or for the order itself."""

    at: datetime
    attempt: int
    detail: Mapping[str, Any]


Occurrences: TypeAlias = Mapping[tuple[str, str], Occurrence]
"""By kind of event and step; "" is the order itself."""


@dataclass(frozen=True, kw_only=True)
class TrackedOrder:
    """An order with all that its page shows. `data` is what it was placed with, and may be anything while it is a
    submission. `seen_at` is when it was read, by the database's clock."""

    order: CustomerOrder
    email: str
    data: Mapping[str, Any]
    occurrences: Occurrences = field(default_factory=dict)
    seen_at: datetime = field(default_factory=timezone.now)


class GuestAddress(NamedTuple):
    """Where a guest's emails about an order go, and when a link to the order was last emailed there."""

    email: str
    link_mailed_at: datetime | None


class Addressee(NamedTuple):
    """Who reads the emails about an order: a guest or an account, and whether she is told what becomes of it.

    `is_reachable_in_account` is whether the account has the same email. The email of an order that a REST client has
    placed may be its own customer's, who has no account here.
    """

    is_guest: bool
    is_told: bool
    is_reachable_in_account: bool

    def can_open_page(self, *, tells_customers_of_clients: bool) -> bool:
        """Whether a link leads her to the order. Of those who are told, only a kind that also tells clients' customers
        has some who did not order on pages of ours."""
        has_ordered_here = self.is_told and not tells_customers_of_clients
        return self.is_guest or self.is_reachable_in_account or has_ordered_here


class StepEnd(NamedTuple):
    """How far a step is: whether it is known to have been done, also if it was reversed since, and when it was
    completed; None if it is not."""

    was_done: bool = False
    completed_at: datetime | None = None


def addressee_of(order_id: UUID) -> Addressee | None:
    """Who reads the emails about an order; None if it is not among the stored ones, as before it is inserted and once
    it is archived."""
    fields = ("customer_id", "email", "tells_customer", "customer__email")
    row = Order.objects.filter(pk=order_id).values_list(*fields).first()
    if row is None:
        return None
    customer_id, email, tells_customer, account_email = row
    return Addressee(
        is_guest=customer_id is None,
        is_told=bool(tells_customer and email),
        is_reachable_in_account=bool(email) and email.casefold() == (account_email or "").casefold(),
    )


def order_of_customer(*, order_id: UUID, customer_id: int | None) -> TrackedOrder | None:
    """One of this customer's orders, wherever it is; None if there is none. At most nine statements.

    Without a customer it is anybody's, for operators.
    """
    return _tracked(order_id, belonging_to(customer_id))


def order_of_guest(*, order_id: UUID) -> TrackedOrder | None:
    """An order that was placed without an account; None if there is none. Only for visitors with a signed link."""
    return _tracked(order_id, GUESTS)


def belongs_to_account(*, order_id: UUID) -> bool:
    """Whether an order that has been inserted is a customer's with an account."""
    return any(
        model.objects.filter(pk=order_id, customer__isnull=False).exists() for model in (Order, ArchivedOrder)
    )


def step_ends(order_id: UUID, steps: Collection[str]) -> Mapping[str, StepEnd]:
    """How far these steps of an order are; it has none of an order that is archived. One statement."""
    rows = StepState.objects.filter(process_id=order_id, name__in=steps)
    return {
        name: StepEnd(
            was_done=outcome == Outcome.DONE,
            completed_at=completed_at if state == StepStatus.COMPLETED else None,
        )
        for name, state, outcome, completed_at in rows.values_list("name", "state", "outcome", "completed_at")
    }


def result_of(order: CustomerOrder, step: str) -> Mapping[str, Any]:
    """What a step's agent answered when it was completed; empty if it is not. One statement."""
    if not any(done.name == step and done.state == StepStatus.COMPLETED for done in order.steps):
        return {}
    if order.is_archived:
        archived = archived_orders.find(order.id)
        results = [state.result for state in archived.steps if state.name == step] if archived else []
    else:
        results = list(StepState.objects.filter(process=order.id, name=step).values_list("result", flat=True))
    return results[0] or {} if results else {}


def _tracked(order_id: UUID, belonging: Belonging) -> TrackedOrder | None:
    inserted, submitted = belonging
    for _ in range(LOOKS):
        order = Order.objects.annotate(seen_at=CLOCK).filter(pk=order_id, **inserted).first()
        if order and (view := stored_order(order_id, inserted)):
            return TrackedOrder(
                order=view,
                email=order.email,
                data=order_data(order),
                occurrences=_occurrences(order_id),
                seen_at=order.seen_at,
            )
        if submitted_order := find_submission(order_id, submitted):
            return _described(*submitted_order)
        if archived := archived_orders.find(order_id, **inserted):
            return _archived(archived)
    return None


def _archived(archived: archived_orders.Archived) -> TrackedOrder | None:
    view = archived_orders.customer_order(archived)
    if view is None or archived.order is None:
        return None
    return TrackedOrder(
        order=view,
        email=archived.order.email,
        data=order_data(archived.order),
        seen_at=database_clock.now(),
        occurrences={
            (event.kind, event.step): Occurrence(at=event.at, attempt=event.attempt, detail=event.detail)
            for event in archived.events
            if event.kind in PAGE_EVENTS
        },
    )


def _described(order: CustomerOrder, body: object) -> TrackedOrder:
    """An order that is still a submission. Its body may be anything, because the queue checks nothing."""
    fields = body if isinstance(body, Mapping) else {}
    email = fields.get("email")
    return TrackedOrder(
        order=order,
        email=email if isinstance(email, str) else "",
        data=fields,
        occurrences=_occurrences(order.id),
        seen_at=database_clock.now(),
    )


def _occurrences(order_id: UUID) -> Occurrences:
    rows = (
        Event.objects.filter(order_id=order_id, kind__in=PAGE_EVENTS)
        .order_by("kind", "step", "-id")
        .distinct("kind", "step")
        .values_list("kind", "step", "at", "attempt", "detail")
    )
    return {
        (kind, step): Occurrence(at=at, attempt=attempt, detail=detail)
        for kind, step, at, attempt, detail in rows
    }


def guest_address(order_id: UUID) -> GuestAddress | None:
    """The email that a guest gave with an order; None if there is no such order, or it belongs to an account."""
    placed = Order.objects.filter(pk=order_id, customer=None).values_list("email", flat=True)
    waiting = SubmissionMessage.objects.filter(order_id=order_id, client="guest")
    email = placed.first()
    if email is None:  # it may have just been placed, and still be on the submission queue
        email = waiting.values_list("body__email", flat=True).first()
    if email is None:  # or have been taken from there between the two looks
        email = placed.first()
    if email is None:
        return None
    mailed = Event.objects.filter(order_id=order_id, kind=EventKind.LINK_MAILED).order_by("-id")
    return GuestAddress(email, mailed.values_list("at", flat=True).first())
