"""How urgent the requests of one order are, after an operator changed it."""

from uuid import UUID

from orders.engine.runtime.sql import run


def set_priority(order_id: UUID, priority: int) -> int:
    """Gives the requests that no agent has in hand this priority; returns how many there were.

    Rows that an agent is claiming at this moment are passed over: they no longer wait.
    """
    return run(
        """
        WITH free AS MATERIALIZED (
            SELECT id FROM orders_agentrequest WHERE order_id = %s AND leased_until IS NULL
             ORDER BY id FOR UPDATE SKIP LOCKED
        )
        UPDATE orders_agentrequest SET priority = %s WHERE id IN (SELECT id FROM free)
        """,
        [order_id, priority],
    )
