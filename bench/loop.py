"""A bare psycopg loop that makes the engine's claims and writes for `bench.noop`'s orders, in batches of 100.

python -m bench.loop URL

No Python program can be faster on this database: the loop uses the same tables, rows and transactions as a scheduler
and an agent host, but makes no decisions and has no fences, no wake-ups and no JSON. It ends when nothing is left to
do.
"""

import sys
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psycopg

BATCH = 100
STEPS = 4
ME = "loop"
DETAIL = '{"calls": 1, "waited": 0.0, "seconds": 0.0, "instance": "loop"}'

READY = """
    SELECT order_id FROM orders_orderprocess WHERE process_state = 'pending' AND not_before IS NULL
     ORDER BY priority DESC, order_id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
"""
LOCK = """
    SELECT order_id FROM orders_orderprocess WHERE order_id = ANY(%s) ORDER BY order_id FOR NO KEY UPDATE SKIP LOCKED
"""
STEPS_OF = "SELECT id, order_id, position, state FROM orders_stepstate WHERE order_id = ANY(%s)"
BEGIN_ORDERS = """
    UPDATE orders_orderprocess SET process_state = 'processing', locked_by = %s, started_at = clock_timestamp(),
           complete_by = clock_timestamp() + interval '10 minutes' WHERE order_id = ANY(%s)
"""
END_ORDERS = """
    UPDATE orders_orderprocess SET process_state = 'processed', locked_by = NULL, finished_at = clock_timestamp()
     WHERE order_id = ANY(%s)
"""
START = """
    UPDATE orders_stepstate SET state = 'running', attempt = attempt + 1, outcome = 'unknown',
           complete_by = clock_timestamp() + interval '30 seconds', started_at = clock_timestamp(),
           settles_at = clock_timestamp() + interval '35 seconds' WHERE id = ANY(%s)
"""
COMPLETE = """
    UPDATE orders_stepstate SET state = 'completed', answered = attempt, outcome = 'done', complete_by = NULL,
           result = '{"ok": true}', completed_at = clock_timestamp() WHERE id = ANY(%s)
"""
ASK = """
    INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                     body, complete_by, priority, deliveries)
    SELECT order_id, id, name, agent, name, attempt, false, order_id || '/' || name || '/1', '',
           jsonb_build_object('data', request, 'results', '{}'::jsonb), complete_by, 5, 0
      FROM orders_stepstate WHERE id = ANY(%s)
"""
TAKE = "DELETE FROM orders_agentreply WHERE id = ANY(%s) RETURNING step_id"
RECORD = """
    INSERT INTO orders_event (order_id, kind, step, attempt, actor_kind, actor_name, detail, at)
    SELECT order_id, kind, '', 1, 'scheduler', %s, %s, clock_timestamp()
      FROM unnest(%s::uuid[], %s::text[]) AS v(order_id, kind)
"""
ANSWER = """
    WITH answered AS (
        DELETE FROM orders_agentrequest WHERE id = ANY(%s) RETURNING order_id, step_id, attempt, compensates
    )
    INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance, seconds,
                                   waited)
    SELECT order_id, step_id, attempt, compensates, 'done', '{"ok": true}', 1, %s, 0, 0 FROM answered
"""
FREE = """
    SELECT id FROM orders_agentrequest WHERE agent = 'noop' AND leased_until IS NULL
     ORDER BY priority DESC, id LIMIT %s FOR UPDATE SKIP LOCKED
"""
LEASE = """
    UPDATE orders_agentrequest SET leased_by = %s, leased_until = clock_timestamp() + interval '8 seconds',
           deliveries = deliveries + 1 WHERE id = ANY(%s) RETURNING id, order_id, step_id, body
"""


def schedule(connection: psycopg.Connection[Any]) -> int:
    """Writes what a scheduler's pass writes, for orders with replies and for new ones. Returns their number."""
    with connection.transaction():
        replies = connection.execute(
            "SELECT id, order_id FROM orders_agentreply ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED", [BATCH]
        ).fetchall()
        answered = _ids(connection.execute(LOCK, [[order_id for _, order_id in replies]]))
        locked_orders = set(answered)
        done = _ids(
            connection.execute(TAKE, [[reply for reply, order_id in replies if order_id in locked_orders]])
        )
        new = _ids(connection.execute(READY, [BATCH - len(answered)])) if len(answered) < BATCH else []
        steps = connection.execute(STEPS_OF, [answered + new]).fetchall()
        _write(connection, steps, done=set(done), new=new)
    return len(answered) + len(new)


def _write(
    connection: psycopg.Connection[Any], steps: Sequence[tuple[Any, ...]], *, done: set[int], new: list[UUID]
) -> None:
    by_place = {(order_id, position): step_id for step_id, order_id, position, _ in steps}
    answered = [(order_id, position) for step_id, order_id, position, _ in steps if step_id in done]
    starting = [(order_id, 0) for order_id in new]
    starting += [(order_id, position + 1) for order_id, position in answered if position + 1 < STEPS]
    ended = [order_id for order_id, position in answered if position + 1 == STEPS]
    begun = [by_place[place] for place in starting]
    events = [(order_id, "claimed") for order_id in new]
    events += [(order_id, "step_completed") for order_id, _ in answered]
    events += [(order_id, "step_started") for order_id, _ in starting]
    events += [(order_id, "processed") for order_id in ended]
    connection.execute(COMPLETE, [list(done)])
    connection.execute(START, [begun])
    connection.execute(BEGIN_ORDERS, [ME, new])
    connection.execute(END_ORDERS, [ended])
    connection.execute(ASK, [begun])
    connection.execute(
        RECORD, [ME, DETAIL, [order_id for order_id, _ in events], [kind for _, kind in events]]
    )


def answer(connection: psycopg.Connection[Any], held: list[int]) -> list[int]:
    """Writes what a host's exchange writes: replies to the leased requests, and the next leases. Returns those
    leases."""
    with connection.transaction():
        connection.execute(ANSWER, [held, ME])
        free = _ids(connection.execute(FREE, [BATCH]))
        return _ids(connection.execute(LEASE, [ME, free]))


def _ids(cursor: psycopg.Cursor[Any]) -> list[Any]:
    return [row[0] for row in cursor.fetchall()]


def main(url: str) -> None:
    """Runs until nothing is left to do."""
    with psycopg.connect(url, autocommit=True) as connection:
        held: list[int] = []
        while schedule(connection) or held or (held := answer(connection, [])):
            held = answer(connection, held)


if __name__ == "__main__":
    main(sys.argv[1])
