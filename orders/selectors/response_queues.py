"""What customers' programs read from their response queues (Q3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.models import StatusMessage
from orders.selectors.orders import client_of
from orders.selectors.paging import Page, page_of

EMPTY, FILLED = "empty", "filled"
"""What distinguishes a response queue without messages from one with some."""


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


def versions(waiting: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """For each response queue and ID, whether the queue has any message with an ID above it: `EMPTY` if not. One
    statement, however many."""
    rows = fetch(
        """
        SELECT waiting.queue, waiting.after,
               EXISTS (SELECT FROM orders_statusmessage AS message
                        WHERE message.queue = waiting.queue AND message.id > waiting.after)
          FROM unnest(%s::text[], %s::bigint[]) AS waiting (queue, after)
        """,
        [[queue for queue, _ in waiting], [after for _, after in waiting]],
    )
    return {(queue, after): FILLED if is_filled else EMPTY for queue, after, is_filled in rows}


def _message(message: StatusMessage) -> MessageView:
    return MessageView(
        id=message.id,
        order_id=message.order_id,
        kind=message.kind,
        posted_at=message.posted_at,
        body=message.body,
    )
