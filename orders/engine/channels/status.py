"""The response queues of the submitting applications (Q2, Q3)."""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.sql import columns, run


class StatusKind(StrEnum):
    """What an application is told of its order."""

    RECEIVED = "received"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    COMPENSATED = "compensated"


class Status(NamedTuple):
    """A message for the application's own queue, correlated with its request by the order id."""

    queue: str
    order_id: UUID
    kind: StatusKind
    body: dict[str, Any] | None = None


def post(messages: Iterable[Status]) -> None:
    """Posts messages to response queues; one for an order that named no queue is not sent."""
    rows = [
        (message.queue, message.order_id, message.kind.value, json.dumps(message.body or {}))
        for message in messages
        if message.queue
    ]
    if rows:
        run(
            """
            INSERT INTO orders_statusmessage (queue, order_id, kind, body)
            SELECT queue, order_id, kind, body::jsonb
              FROM unnest(%s::text[], %s::uuid[], %s::text[], %s::text[]) AS v(queue, order_id, kind, body)
            """,
            columns(rows, 4),
        )
