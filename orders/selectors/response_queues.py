"""What customers' programs read from their response queues (Q3)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.models import StatusMessage
from orders.selectors.orders import client_of
from orders.selectors.paging import Page, page_of


@dataclass(frozen=True, kw_only=True)
class MessageView:
    """A message on a response queue."""

    id: int
    order_id: UUID
    kind: str
    posted_at: datetime
    body: Any


def queue_of(customer_id: int, name: str) -> str:
    """The full name of a customer's own response queue (Q2)."""
    return f"{client_of(customer_id)}/{name}"


def queue_messages(*, queue: str, after: int, limit: int) -> Page[MessageView]:
    """The messages of a response queue with ids above `after`, oldest first."""
    messages = StatusMessage.objects.filter(queue=queue, id__gt=after).order_by("id")[: limit + 1]
    return page_of([_message(message) for message in messages], limit)


def has_messages(*, queue: str, after: int) -> bool:
    """Whether a response queue has any message with an id above `after`."""
    return StatusMessage.objects.filter(queue=queue, id__gt=after).exists()


def _message(message: StatusMessage) -> MessageView:
    return MessageView(
        id=message.id,
        order_id=message.order_id,
        kind=message.kind,
        posted_at=message.posted_at,
        body=message.body,
    )
