"""Bounds the log of clients' requests: of each account, only so many are kept."""

from collections.abc import Sequence

from orders.engine.runtime.brief_batches import Chunk, Pace, Walk, in_batches
from orders.engine.runtime.sql import fetch, run

MOST = 20_000
"""The newest requests of an account that are kept."""


def delete_beyond_most(*, most: int = MOST, after: int = 0) -> Walk:
    """Deletes the oldest requests of the accounts that have more than `most`."""
    bounds = _bounds(most)

    def choose(after: int, size: int) -> Chunk:
        rows = fetch(
            """
            SELECT request.id
              FROM unnest(%s::bigint[], %s::bigint[]) AS bound (customer_id, id)
              JOIN orders_loggedrequest AS request
                ON request.customer_id = bound.customer_id AND request.id <= bound.id
             WHERE request.id > %s
             ORDER BY request.id LIMIT %s
            """,
            [[customer for customer, _ in bounds], [request for _, request in bounds], after, size],
        )
        return Chunk(keys=[row[0] for row in rows], last=rows[-1][0] if len(rows) == size else None)

    def delete(keys: Sequence[int]) -> int:
        return run("DELETE FROM orders_loggedrequest WHERE id = ANY(%s)", [list(keys)])

    return in_batches(choose=choose, work=delete, start=after, pace=Pace(size=500, largest=5_000))


def _bounds(most: int) -> Sequence[tuple[int, int]]:
    """For each account that has more, the newest of its requests that go. Reads the accounts one by one off the index,
    not all requests."""
    return fetch(
        """
        WITH RECURSIVE account AS (
            SELECT min(customer_id) AS id FROM orders_loggedrequest
             UNION ALL
            SELECT (SELECT min(customer_id) FROM orders_loggedrequest WHERE customer_id > account.id)
              FROM account WHERE account.id IS NOT NULL
        )
        SELECT account.id, bound.id
          FROM account
         CROSS JOIN LATERAL (SELECT id FROM orders_loggedrequest WHERE customer_id = account.id
                              ORDER BY id DESC OFFSET %s LIMIT 1) AS bound
        """,
        [most],
    )
