"""Stores orders in every state for `scale`, and moves finished ones through all of them once more."""

from typing import Any, TypeAlias

from orders.engine.runtime.sql import fetch, run

ACTIVE = 1_000
"""Orders in each of the states that claims and sweeps look for."""
CHUNK = 1_000
"""Orders moved by one statement."""
NEW_ORDERS = """
    INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                     priority, reply_to, announced, created_at, not_before, complete_by, locked_by,
                                     started_at, finished_at)
    SELECT (%(era)s::text || lpad(to_hex(n / 65536), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
           'four-steps', 1, 'complete', %(state)s::text, 0, 0, 5, '', true, clock_timestamp(),
           clock_timestamp() + %(not_before)s::float8 * interval '1 second',
           CASE WHEN %(state)s::text = 'processing'
                THEN clock_timestamp() + %(complete_by)s::float8 * interval '1 second' END,
           CASE WHEN %(state)s::text = 'processing' THEN 'scheduler:bench' END,
           CASE WHEN %(state)s::text <> 'pending' THEN clock_timestamp() END,
           CASE WHEN %(state)s::text = 'processed' THEN clock_timestamp() END
      FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
 RETURNING order_id
"""
NEW_STEPS = """
    INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                  compensation_generation, outcome, failure_count, compensation_failure_count,
                                  extended_waits, priority, result, complete_by, waiting_since)
    SELECT o.order_id, s.name, s.position, 'noop', '{"n": 1}', v.state, v.attempt, v.answered, 1, 1, v.outcome,
           0, 0, 0, 5, CASE WHEN v.state = 'completed' THEN '{"ok": true}'::jsonb END,
           CASE WHEN v.state = 'running' THEN clock_timestamp() + %(complete_by)s::float8 * interval '1 second' END,
           CASE WHEN v.waits THEN clock_timestamp() END
      FROM created AS o
     CROSS JOIN (VALUES ('first', 0), ('second', 1), ('third', 2), ('fourth', 3)) AS s(name, position)
     CROSS JOIN LATERAL (
           SELECT CASE WHEN %(state)s::text = 'processed' THEN 'completed'
                       WHEN %(state)s::text = 'processing' AND s.position = 0 THEN 'running'
                       ELSE 'not_started' END AS state,
                  CASE WHEN %(state)s::text = 'processed' OR (%(state)s::text = 'processing' AND s.position = 0)
                       THEN 1 ELSE 0 END AS attempt,
                  CASE WHEN %(state)s::text = 'processed' THEN 1 ELSE 0 END AS answered,
                  CASE WHEN %(state)s::text = 'processed' THEN 'done'
                       WHEN %(state)s::text = 'processing' AND s.position = 0 THEN 'unknown' ELSE 'none' END AS outcome,
                  %(waits)s::boolean AND s.position = 0 AS waits) AS v
"""
ASKED = """
    INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                     body, complete_by, priority, deliveries)
    SELECT order_id, id, name, agent, name, 1, false, order_id || '/' || name || '/1', '',
           '{"data": {}, "results": {}}', clock_timestamp() + interval '1 hour', 5, 0
      FROM orders_stepstate WHERE state = 'running' AND order_id = ANY(%s::uuid[])
"""
ANSWERED = """
    INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
    SELECT order_id, id, 1, false, 'done', '{}', 1, 'bench' FROM orders_stepstate
     WHERE state = 'running' AND order_id = ANY(%s::uuid[])
"""
POSTED = """
    INSERT INTO orders_submissionmessage (order_id, client, body) SELECT unnest(%s::uuid[]), 'guest', '{"lines": []}'
"""
QUEUES = {"submissionmessage": POSTED, "agentrequest": ASKED, "agentreply": ANSWERED}
Posted: TypeAlias = dict[str, list[int]]
"""The ids of messages, by the queue that they are in."""


class Store:
    """Fills the tables. Finished orders are older than the others, as in real life."""

    def __init__(self) -> None:
        self.finished = self._number = 0
        self._moved_count = 0
        self._under_way: list[Any] = []
        self._posted: Posted = {}

    def add(
        self,
        count: int,
        state: str,
        *,
        not_before: float | None = None,
        complete_by: float = 3_600,
        waits: bool = False,
    ) -> list[Any]:
        """Stores orders in a state, with their steps. Times are in seconds from now."""
        first, self._number = self._number, self._number + count
        parameters = {
            "era": "01990000-" if state == "processed" else "01990001-",
            "state": state,
            "not_before": not_before,
            "complete_by": complete_by,
            "waits": waits,
            "first": first,
            "last": first + count - 1,
        }
        return [
            row[0]
            for row in fetch(
                f"WITH created AS ({NEW_ORDERS}), steps AS ({NEW_STEPS}) SELECT order_id FROM created",
                parameters,
            )
        ]

    def grow(self, size: int) -> None:
        """Adds finished orders until `size` are stored."""
        while self.finished < size - 6 * ACTIVE:
            count = min(50_000, size - 6 * ACTIVE - self.finished)
            self.add(count, "processed")
            self.finished += count
        self._moved_count = self._moved_count or self.finished

    def add_active(self) -> None:
        """Adds the orders that claims and sweeps find, and the messages in the channels."""
        self.add(ACTIVE, "pending")
        self.add(ACTIVE, "pending", not_before=-1)
        self.add(ACTIVE, "pending", not_before=3_600)
        self.add(ACTIVE, "pending", not_before=3_600, waits=True)
        self.add(ACTIVE, "processing", complete_by=-1)
        self._under_way = self.add(ACTIVE, "processing")
        self._posted = _post(self._under_way)

    def churn(self, count: int) -> None:
        """Moves `count` finished orders through every state and queue once more, until they are finished again.

        They are the newest, and as many different ones as the smallest size has: more would leave their dead rows on
        more pages, so that the larger sizes would have more to read.
        """
        finished = fetch(
            "SELECT order_id FROM orders_orderprocess WHERE process_state = 'processed'"
            " ORDER BY order_id DESC LIMIT %s",
            [min(count, self._moved_count)],
        )
        for at in range(0, count, CHUNK):
            orders = [finished[n % len(finished)][0] for n in range(at, at + CHUNK)]
            _move(orders, "pending", "not_started")
            _move(orders, "processing", "running")
            posted = _post(orders)
            _move(orders, "processed", "completed")
            _take(posted)
        _take(self._posted)  # and posted again: a queue's dead rows are older than its live ones
        self._posted = _post(self._under_way)


def _post(orders: list[Any]) -> Posted:
    return {
        queue: [key for (key,) in fetch(f"{fill} RETURNING id", [orders])] for queue, fill in QUEUES.items()
    }


def _take(posted: Posted) -> None:
    for queue, ids in posted.items():
        run(f"DELETE FROM orders_{queue} WHERE id = ANY(%s::bigint[])", [ids])


def _move(orders: list[Any], state: str, step_state: str) -> None:
    """Moves orders and their first steps into a state in which they are overdue."""
    parameters = {"state": state, "step": step_state, "orders": orders}
    run(
        """
        UPDATE orders_stepstate SET state = %(step)s::text, attempt = 1, answered = (%(step)s::text = 'completed')::int,
               outcome = CASE %(step)s::text WHEN 'completed' THEN 'done' WHEN 'running' THEN 'unknown' ELSE 'none' END,
               complete_by = CASE WHEN %(step)s::text = 'running' THEN clock_timestamp() - interval '1 hour' END
         WHERE order_id = ANY(%(orders)s::uuid[]) AND position = 0
        """,
        parameters,
    )
    run(
        """
        UPDATE orders_orderprocess SET process_state = %(state)s::text,
               locked_by = CASE WHEN %(state)s::text = 'processing' THEN 'bench' END,
               complete_by = clock_timestamp() - interval '1 hour',
               not_before = CASE WHEN %(state)s::text = 'processing' THEN clock_timestamp() - interval '1 hour' END,
               finished_at = CASE WHEN %(state)s::text = 'processed' THEN clock_timestamp() END
         WHERE order_id = ANY(%(orders)s::uuid[])
        """,
        parameters,
    )
