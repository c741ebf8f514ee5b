"""The request queue, as the scheduler uses it: posting requests, and recalling those that no agent has begun.

Whoever takes several requests locks them in the order of their ids first: no deadlocks.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch, recordset, run


class NewRequest(NamedTuple):
    """A request for a step that has just been written as running or compensating."""

    step_id: int
    operation: str
    needs: str
    """The names of the steps whose results travel with the request, separated by commas."""
    undo: bool
    key: str
    reverses: str
    priority: int


def post(new_requests: Sequence[NewRequest]) -> None:
    """Posts requests. Attempt, data and complete-by are copied from the step's row, so they cannot differ from it."""
    if not new_requests:
        return
    run(
        """
        INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, undo, key, reverses,
                                         body, complete_by, priority, deliveries)
        SELECT s.order_id, s.id, s.name, s.agent, v.operation, s.attempt, v.undo, v.key, v.reverses,
               jsonb_build_object(
                   'data', s.request,
                   'results', CASE WHEN v.needs = '' THEN '{}'::jsonb ELSE (
                       SELECT coalesce(jsonb_object_agg(n.name, n.result), '{}'::jsonb)
                         FROM orders_stepstate AS n
                        WHERE n.order_id = s.order_id AND n.name = ANY(string_to_array(v.needs, ','))
                   ) END
               ),
               s.complete_by, v.priority, 0
          FROM json_to_recordset(%s::json)
            AS v(step_id bigint, operation text, needs text, undo boolean, key text, reverses text,
                 priority smallint)
          JOIN orders_stepstate AS s ON s.id = v.step_id
        """,
        [recordset(new._asdict() for new in new_requests)],
    )


def discard(step_ids: Sequence[int]) -> None:
    """Deletes what is left of these steps' earlier requests, before new ones are posted."""
    if step_ids:
        run(
            """
            WITH old AS MATERIALIZED (
                SELECT id
                  FROM orders_agentrequest
                 WHERE step_id = ANY(%s)
                 ORDER BY id
                   FOR UPDATE
            )
            DELETE FROM orders_agentrequest
             WHERE id IN (SELECT id FROM old)
            """,
            [list(step_ids)],
        )


def recall(step_ids: Sequence[int]) -> set[int]:
    """Deletes the requests that no agent host has ever claimed; returns the steps that were thus never begun.

    A request that a host is claiming at this moment is locked, so it is skipped and counts as begun.
    """
    if not step_ids:
        return set()
    free = fetch(
        """
        SELECT id
          FROM orders_agentrequest
         WHERE step_id = ANY(%s) AND deliveries = 0
         ORDER BY id
           FOR UPDATE SKIP LOCKED
        """,
        [list(step_ids)],
    )
    rows = fetch(
        "DELETE FROM orders_agentrequest WHERE id = ANY(%s) RETURNING step_id",
        [[row_id for (row_id,) in free]],
    )
    return {step_id for (step_id,) in rows}


def set_priority(order_id: UUID, priority: int) -> int:
    """Changes the priority of an order's requests that no agent host holds; returns how many there were.

    Requests that a host is claiming at this moment are skipped: they no longer wait.
    """
    return run(
        """
        WITH free AS MATERIALIZED (
            SELECT id
              FROM orders_agentrequest
             WHERE order_id = %s AND leased_until IS NULL
             ORDER BY id
               FOR UPDATE SKIP LOCKED
        )
        UPDATE orders_agentrequest
           SET priority = %s
         WHERE id IN (SELECT id FROM free)
        """,
        [order_id, priority],
    )
