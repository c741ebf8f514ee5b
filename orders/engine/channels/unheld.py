"""Requests that nobody holds any more: their leases have lapsed, or their complete-by has passed."""

from orders.engine.runtime.sql import run

BATCH = 500
"""Rows that one clean-up statement takes at most, so that its transaction stays short."""


def free_lapsed(*, start: int = 0) -> int:
    """Frees up to `BATCH` requests whose leases have lapsed, from the id `start` on. Returns how many.

    Safe beside other hosts: a request that its holder is renewing or completing is locked, so it is skipped.
    """
    return run(
        """
        UPDATE orders_agentrequest
           SET leased_by = NULL,
               leased_until = NULL,
               lapses = lapses + 1
         WHERE id = ANY(ARRAY(
                   SELECT id
                     FROM orders_agentrequest
                    WHERE id >= %s::bigint
                      AND leased_until < clock_timestamp()
                    ORDER BY id
                    LIMIT %s::int
                      FOR UPDATE SKIP LOCKED
               ))
        """,
        [start, BATCH],
    )


def delete_expired(*, start: int = 0) -> int:
    """Deletes up to `BATCH` requests that nobody holds and whose complete-by has passed, from the id `start` on.

    Returns how many.

    Safe beside other hosts: no claim takes a request past its complete-by, and locked requests are skipped.
    """
    return run(
        """
        DELETE FROM orders_agentrequest
         WHERE id = ANY(ARRAY(
                   SELECT id
                     FROM orders_agentrequest
                    WHERE id >= %s::bigint
                      AND leased_until IS NULL
                      AND complete_by < clock_timestamp() - interval '1 second'
                    ORDER BY id
                    LIMIT %s::int
                      FOR UPDATE SKIP LOCKED
               ))
        """,
        [start, BATCH],
    )
