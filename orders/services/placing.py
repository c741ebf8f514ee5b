"""Places orders of any kind for their clients (S1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Any
from uuid import UUID

from django.utils import timezone

from orders.business import registry
from orders.business.batch_placing import KeyedOrder, Outcome, post_orders
from orders.business.placing import NewOrder, PostedOrder, check_reference, message_today, post_order
from orders.fields.money import Money
from orders.models import SubmissionMessage
from orders.selectors import durations
from orders.selectors.customer_order import CustomerLine, CustomerOrder, queued_order


@dataclass(frozen=True, kw_only=True)
class PlacedOrder:
    """A placed order. `replayed` is true if an earlier call with the same key had already placed it.

    `view` is how its customer sees it, if it is known without looking: it is on the submission queue and nowhere else.
    """

    order_id: UUID
    replayed: bool
    view: CustomerOrder | None = field(default=None, compare=False)


def place_order(*, client: str, order: NewOrder, idempotency_key: str | None = None) -> PlacedOrder:
    """Posts an order to the submission queue: see `post_order`, which says what is raised."""
    posted = post_order(client=client, order=order, key=idempotency_key)
    return PlacedOrder(order_id=posted.order_id, replayed=posted.replayed, view=view_of(posted))


def place_orders(orders: Sequence[KeyedOrder], *, patience: float | None = None) -> list[Outcome]:
    """Posts many orders at once: see `post_orders`."""
    return post_orders(orders, patience=patience)


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What an order would be if it were placed now. `steps` are the names of the steps of its workflow, and
    `client_values` those of `OrderKind`.

    `usual_seconds` is how long nine in ten of the latest orders of that workflow took at most; None if too few have
    finished.
    """

    workflow: str
    title: str
    lines: Sequence[CustomerLine]
    total: Money | None
    promised_by: datetime | None
    usual_seconds: int | None
    steps: Sequence[str]
    client_values: Mapping[str, Any]


def quote_order(*, client: str, order: NewOrder) -> Quote:
    """Says what an order would be. Stores nothing. Raises what `post_order` raises for an order with a new key."""
    check_reference(client=client, order=order)
    message = SubmissionMessage(order_id=UUID(int=0), body=message_today(order), posted_at=timezone.now())
    view = queued_order(message, {})
    usual = durations.usual_seconds().get(view.workflow)
    return Quote(
        workflow=view.workflow,
        title=view.title,
        lines=view.lines,
        total=view.total,
        promised_by=view.promised_by,
        usual_seconds=None if usual is None else ceil(usual),
        steps=[step.name for step in registry.newest_workflows()[view.workflow].steps],
        client_values=view.client_values,
    )


def view_of(posted: PostedOrder) -> CustomerOrder | None:
    """How its customer sees an order that this call has put on the submission queue; None if it has not."""
    if posted.body is None or posted.posted_at is None:
        return None
    message = SubmissionMessage(order_id=posted.order_id, body=posted.body, posted_at=posted.posted_at)
    return queued_order(message, {})
