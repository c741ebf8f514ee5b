"""What customers' programs read of their response queues (Q3)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.engine.channels.status_leases import FREE
from orders.engine.runtime.sql import fetch
from orders.fields.money import Money
from orders.selectors.orders import client_of
from orders.selectors.paging import Page, page_of

EMPTY, FILLED = "empty", "filled"
"""What distinguishes a response queue without messages from one with some."""

Awaited = tuple[str, int | None]
"""A response queue, and the ID after which messages are awaited; None stands for messages that can be leased."""


@dataclass(frozen=True, kw_only=True)
class MessageBody:
    """What a message says beside its kind; None where that has no meaning, or is not known.

    `charged` and `refunded` are what has been taken and given back by then.
    """

    workflow: str | None = None
    total: Money | None = None
    charged: Money | None = None
    refunded: Money | None = None
    reason: str | None = None
    step: str | None = None
    code: str | None = None
    message: str | None = None
    waiting_until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class MessageView:
    """A message on a response queue."""

    id: int
    order_id: UUID
    sequence: int
    kind: str
    posted_at: datetime
    deliveries: int
    body: MessageBody


def queue_of(customer_id: int, name: str) -> str:
    """The full name of a customer's own response queue (Q2)."""
    return f"{client_of(customer_id)}/{name}"


_MESSAGES = """
    SELECT message.id, message.order_id, message.sequence, message.kind, message.posted_at, message.deliveries,
           message.body, process.workflow, purchase.total, purchase.currency
      FROM orders_statusmessage AS message
      LEFT JOIN orders_orderprocess AS process USING (order_id)
      LEFT JOIN orders_order AS purchase ON purchase.id = message.order_id
     WHERE message.queue = %(queue)s
"""


def queue_messages(*, queue: str, after: int, limit: int) -> Page[MessageView]:
    """The messages of a response queue with ids above `after`, oldest first."""
    rows = fetch(
        f"{_MESSAGES} AND message.id > %(after)s ORDER BY message.id LIMIT %(limit)s",
        {"queue": queue, "after": after, "limit": limit + 1},
    )
    return page_of([_message(*row) for row in rows], limit)


def leased_messages(*, queue: str, message_ids: Sequence[int]) -> list[MessageView]:
    """These messages of a response queue, as far as they are there, oldest first."""
    rows = fetch(
        f"{_MESSAGES} AND message.id = ANY(%(ids)s) ORDER BY message.id",
        {"queue": queue, "ids": list(message_ids)},
    )
    return [_message(*row) for row in rows]


def elsewhere(*, queue: str, message_ids: Sequence[int]) -> dict[int, str]:
    """Which of these messages are on another response queue of the same customer, with the name of that queue."""
    client, _, _ = queue.rpartition("/")
    rows = fetch(
        """
        SELECT id, queue FROM orders_statusmessage
         WHERE id = ANY(%(ids)s) AND queue <> %(queue)s AND starts_with(queue, %(prefix)s)
        """,
        {"ids": list(message_ids), "queue": queue, "prefix": f"{client}/"},
    )
    return {number: name.removeprefix(f"{client}/") for number, name in rows}


def versions(waiting: Sequence[Awaited]) -> dict[Awaited, str]:
    """For each of these, whether there is any such message: `EMPTY` if not. One statement, however many."""
    rows = fetch(
        f"""
        SELECT waiting.queue, waiting.after,
               CASE WHEN waiting.after IS NULL
                    THEN EXISTS (SELECT FROM orders_statusmessage AS message
                                  WHERE message.queue = waiting.queue AND {FREE})
                    ELSE EXISTS (SELECT FROM orders_statusmessage AS message
                                  WHERE message.queue = waiting.queue AND message.id > waiting.after) END
          FROM unnest(%s::text[], %s::bigint[]) AS waiting (queue, after)
        """,
        [[queue for queue, _ in waiting], [after for _, after in waiting]],
    )
    return {(queue, after): FILLED if is_filled else EMPTY for queue, after, is_filled in rows}


def _message(
    number: int,
    order_id: UUID,
    sequence: int,
    kind: str,
    posted_at: datetime,
    deliveries: int,
    body: str,
    workflow: str | None,
    total: int | None,
    currency: str | None,
) -> MessageView:
    value = None if total is None or not currency else Money(amount=total, currency=currency)
    return MessageView(
        id=number,
        order_id=order_id,
        sequence=sequence,
        kind=kind,
        posted_at=posted_at,
        deliveries=deliveries,
        body=_body(json.loads(body), workflow or None, value),
    )


def _body(stored: dict[str, Any], workflow: str | None, total: Money | None) -> MessageBody:
    """What was posted, which says whether money was taken, with how much that is."""

    def amount(name: str) -> Money | None:
        is_whole = stored.get(name)
        return None if is_whole is None or total is None else total if is_whole else replace(total, amount=0)

    until = stored.get("waiting_until")
    return MessageBody(
        workflow=workflow,
        total=total,
        charged=amount("charged"),
        refunded=amount("refunded"),
        waiting_until=datetime.fromisoformat(until) if until else None,
        **{name: stored.get(name) for name in ("reason", "step", "code", "message")},
    )
