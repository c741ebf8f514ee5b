"""The reply queue: the agents' answers, taken by whichever scheduler comes first."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from orders.engine.rows import ReplyRow, StepRow
from orders.engine.runtime.sql import run
from orders.engine.runtime.statements import Cursor, Sent, array, known, rows_of, send
from orders.vocabulary import ReplyOutcome

BATCH = 500
"""Replies that `delete_orphans` examines in one statement, so that its transaction stays short."""
LONGEST_INSTANCE = 80
"""Characters of the name of who replies; the width of its column."""
_COLUMNS = ", ".join(ReplyRow._fields)


def peek(limit: int, *, start: int = 0) -> list[tuple[int, UUID]]:
    """Locks up to `limit` replies with an id of at least `start`, oldest first. Returns their ids and orders.

    `SKIP LOCKED` gives every scheduler different replies. They stay in the queue until `delete`, because another
    scheduler may turn out to hold the order.
    """
    return send_peek(limit, start=start).result()


def send_peek(limit: int, *, start: int = 0) -> Sent[list[tuple[int, UUID]]]:
    """The same, without waiting for what it finds."""
    if limit <= 0:
        return known([])
    return send(
        """
        SELECT id, order_id
          FROM orders_agentreply
         WHERE id >= %s::bigint
         ORDER BY id
         LIMIT %s::int
           FOR UPDATE SKIP LOCKED
        """,
        [start, limit],
        lambda cursor: cast(list[tuple[int, UUID]], rows_of(cursor)),
    )


def send_read(reply_ids: Sequence[int]) -> Sent[list[ReplyRow]]:
    """Reads replies that this transaction has locked, oldest first."""
    if not reply_ids:
        return known([])
    return send(
        f"SELECT {_COLUMNS} FROM orders_agentreply WHERE id = ANY(%s::bigint[]) ORDER BY id",
        [array(reply_ids)],
        _replies_of,
    )


def post_from_outside(step: StepRow, *, compensates: bool, outcome: ReplyOutcome, body: str, by: str) -> None:
    """Posts an answer to the step's present attempt that no agent host gives: a person's, or a remote service's.

    The caller has locked the order, and has seen that the answer is still waited for. It wakes the schedulers.
    """
    send(
        """
        INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
        VALUES (%s, %s, %s, %s, %s, %s::jsonb, 0, %s)
        """,
        [step.order_id, step.id, step.attempt, compensates, outcome.value, body, by[:LONGEST_INSTANCE]],
    )


def delete(reply_ids: Sequence[int]) -> None:
    """Deletes replies that this transaction has dealt with. Their orders are locked."""
    if reply_ids:
        send("DELETE FROM orders_agentreply WHERE id = ANY(%s::bigint[])", [array(reply_ids)])


def _replies_of(cursor: Cursor) -> list[ReplyRow]:
    return [ReplyRow._make(row) for row in rows_of(cursor)]


def take_all_of(order_ids: Sequence[UUID]) -> list[ReplyRow]:
    """Deletes every reply about these orders, which must be locked. Returns them, oldest first.

    A reply that another scheduler is reading is waited for: it cannot take it, because we have locked its order.
    """
    taken = send(
        f"""
        DELETE FROM orders_agentreply
         WHERE order_id = ANY(%s::uuid[])
     RETURNING {_COLUMNS}
        """,
        [array(order_ids)],
        _replies_of,
    ).result()
    return sorted(taken, key=lambda reply: reply.id)


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
                    WHERE id >= %s::bigint
                    ORDER BY id
                    LIMIT %s::int
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
