"""The response queues of the submitting applications (Q2, Q3)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.contracts import ANNOUNCEMENTS
from orders.engine.runtime.sql import recordset
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
    """Posts messages to response queues, in this order. Leaves out those of orders that named no queue.

    Those on an order's own queue are numbered. Whoever posts has locked the order, or its submission, so that the
    numbers are those of the commits.
    """
    rows = _rows([message for message in messages if message.queue])
    if rows:
        send(
            """
            WITH message AS MATERIALIZED (
                SELECT *
                  FROM json_to_recordset(%s::json)
                    AS message(queue text, order_id uuid, kind text, body jsonb, position int, later int)
            ), counted AS (
                INSERT INTO orders_statuscount AS earlier (order_id, posted)
                SELECT order_id, count(*)
                  FROM message
                 WHERE later IS NOT NULL
                 GROUP BY order_id
                 ORDER BY order_id
                    ON CONFLICT (order_id) DO UPDATE SET posted = earlier.posted + excluded.posted
             RETURNING order_id, posted
            )
            INSERT INTO orders_statusmessage (queue, order_id, kind, body, sequence)
            SELECT queue, order_id, kind, body, coalesce(counted.posted - message.later, 0)
              FROM message
              LEFT JOIN counted USING (order_id)
             ORDER BY position
            """,
            [recordset(rows)],
        )


def _rows(messages: Sequence[Status]) -> list[dict[str, Any]]:
    """The messages with their positions, and how many later ones there are on their orders' own queues. What is on a
    business's queue has no such number."""
    rows: list[dict[str, Any]] = []
    later: Counter[UUID] = Counter()
    for position, message in reversed(list(enumerate(messages))):
        row = {**message._asdict(), "body": message.body or {}, "position": position, "later": None}
        if not message.queue.startswith(ANNOUNCEMENTS):
            row["later"] = later[message.order_id]
            later[message.order_id] += 1
        rows.append(row)
    return rows
