"""The response queues of the submitting applications (Q2, Q3)."""

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import recordset, run
from orders.engine.runtime.statements import send


class Status(NamedTuple):
    """A message for an application's own queue. The order id correlates it with the application's submission.

    `kind` is a `StatusKind`, or the word that a step has for being declined (`Step.declined_as`).
    """

    queue: str
    order_id: UUID
    kind: str
    body: dict[str, Any] | None = None


def post(messages: Iterable[Status]) -> None:
    """Posts messages to response queues. Leaves out those of orders that named no queue."""
    rows = [{**message._asdict(), "body": message.body or {}} for message in messages if message.queue]
    if rows:
        send(
            """
            INSERT INTO orders_statusmessage (queue, order_id, kind, body)
            SELECT queue, order_id, kind, body
              FROM json_to_recordset(%s::json)
                AS message(queue text, order_id uuid, kind text, body jsonb)
            """,
            [recordset(rows)],
        )


def delete(*, queue: str, message_id: int) -> bool:
    """Deletes a message of a response queue. Returns False if the queue has no such message."""
    return run("DELETE FROM orders_statusmessage WHERE queue = %s AND id = %s", [queue, message_id]) > 0
