"""The reply queue: the agents' answers, taken by whichever scheduler comes first."""

from collections.abc import Sequence
from uuid import UUID

from orders.engine.rows import ReplyRow
from orders.engine.runtime.sql import fetch, run
from orders.models import AgentReply

BATCH = 500
"""Replies that `delete_orphans` examines in one statement, so that its transaction stays short."""
_COLUMNS = ", ".join(ReplyRow._fields)


def peek(limit: int, *, start: int = 0) -> list[tuple[int, UUID]]:
    """Locks up to `limit` replies with an id of at least `start`, oldest first. Returns their ids and orders.

    `skip_locked` gives every scheduler different replies. They stay in the queue until `take`, because another
    scheduler may turn out to hold the order.
    """
    rows = (
        AgentReply.objects.select_for_update(skip_locked=True)
        .filter(id__gte=start)
        .order_by("id")
        .values_list("id", "order_id")[:limit]
    )
    return list(rows)


def take(reply_ids: Sequence[int]) -> list[ReplyRow]:
    """Deletes replies and returns them, oldest first. Their orders must be locked."""
    if not reply_ids:
        return []
    rows = fetch(
        f"""
        DELETE FROM orders_agentreply
         WHERE id = ANY(%s)
     RETURNING {_COLUMNS}
        """,
        [list(reply_ids)],
    )
    return sorted((ReplyRow._make(row) for row in rows), key=lambda reply: reply.id)


def take_all_of(order_ids: Sequence[UUID]) -> list[ReplyRow]:
    """Deletes every reply about these orders, which must be locked. Returns them, oldest first.

    A reply that another scheduler is reading is waited for: it cannot take it, because we have locked its order.
    """
    rows = fetch(
        f"""
        DELETE FROM orders_agentreply
         WHERE order_id = ANY(%s)
     RETURNING {_COLUMNS}
        """,
        [list(order_ids)],
    )
    return sorted((ReplyRow._make(row) for row in rows), key=lambda reply: reply.id)


def delete_orphans(*, start: int = 0) -> int:
    """Deletes replies about orders that are no longer in the state store, from the id `start` on. Returns how many.

    Safe beside schedulers: replies that one of them is reading are locked, so they are skipped.
    """
    return run(
        """
        DELETE FROM orders_agentreply AS reply
         WHERE reply.id = ANY(ARRAY(
                   SELECT id
                     FROM orders_agentreply
                    WHERE id >= %s
                    ORDER BY id
                    LIMIT %s
                      FOR UPDATE SKIP LOCKED
               ))
           AND NOT EXISTS (
                   SELECT 1
                     FROM orders_orderprocess AS process
                    WHERE process.order_id = reply.order_id
               )
        """,
        [start, BATCH],
    )
