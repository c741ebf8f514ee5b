"""The reply queue: what agents answered, read by whichever scheduler comes first."""

from collections.abc import Sequence
from uuid import UUID

from orders.engine.rows import ReplyRow
from orders.engine.runtime.sql import fetch, run
from orders.models import AgentReply


def peek(limit: int, *, after: int = 0) -> list[tuple[int, UUID]]:
    """Locks up to `limit` replies with a number above `after`, oldest first, and says which orders they are about.

    `skip_locked` gives every scheduler replies of its own. They stay in the queue until `take`, because an order may
    turn out to be in somebody else's hands.
    """
    rows = (
        AgentReply.objects.select_for_update(skip_locked=True)
        .filter(id__gt=after)
        .order_by("id")
        .values_list("id", "order_id")[:limit]
    )
    return list(rows)


def take(reply_ids: Sequence[int]) -> list[ReplyRow]:
    """Deletes replies, oldest first, and returns them. Their orders must be locked."""
    if not reply_ids:
        return []
    rows = fetch(
        f"DELETE FROM orders_agentreply WHERE id = ANY(%s) RETURNING {', '.join(ReplyRow._fields)}",
        [list(reply_ids)],
    )
    return sorted((ReplyRow._make(row) for row in rows), key=lambda reply: reply.id)


def take_all_of(order_id: UUID) -> list[ReplyRow]:
    """Deletes and returns every reply about one order, which must be locked."""
    rows = fetch(
        f"DELETE FROM orders_agentreply WHERE order_id = %s RETURNING {', '.join(ReplyRow._fields)}",
        [order_id],
    )
    return [ReplyRow._make(row) for row in rows]


def delete_orphans() -> int:
    """Deletes replies about orders that are in the state store no more; returns how many."""
    return run(
        """
        DELETE FROM orders_agentreply AS r
         WHERE r.id = ANY(ARRAY(SELECT id FROM orders_agentreply ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED))
           AND NOT EXISTS (SELECT 1 FROM orders_orderprocess AS p WHERE p.order_id = r.order_id)
        """
    )
