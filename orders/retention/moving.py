"""Moves finished orders to the archive, and deletes those that have been there long enough."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from orders.engine.runtime.brief_batches import Chunk, Pace, Walk, in_batches
from orders.engine.runtime.sql import fetch, run
from orders.services.customer_terms import LOCK, forget_unused

FIRST = (datetime(1970, 1, 1, tzinfo=UTC), UUID(int=0))
MOVING = 40.0
"""Seconds of a pass in which orders move: most of them, because orders are the most rows."""

MOVE = """
    WITH process AS (DELETE FROM orders_orderprocess WHERE order_id = ANY(%(ids)s) RETURNING *),
         step AS (DELETE FROM orders_stepstate WHERE order_id = ANY(%(ids)s) RETURNING *),
         event AS (DELETE FROM orders_event WHERE order_id = ANY(%(ids)s) RETURNING *),
         status AS (DELETE FROM orders_statusmessage WHERE order_id = ANY(%(ids)s) RETURNING *),
         counts AS (DELETE FROM orders_statuscount WHERE order_id = ANY(%(ids)s)),
         alert AS (DELETE FROM orders_alert WHERE order_id = ANY(%(ids)s) RETURNING *),
         line AS (DELETE FROM orders_orderline WHERE order_id = ANY(%(ids)s) RETURNING *),
         purchase AS (DELETE FROM orders_order WHERE id = ANY(%(ids)s) RETURNING *),
         steps AS (SELECT order_id, jsonb_agg(to_jsonb(step) ORDER BY position, id) AS rows FROM step GROUP BY 1),
         events AS (SELECT order_id, jsonb_agg(to_jsonb(event) ORDER BY id) AS rows, max(id) AS last
                      FROM event GROUP BY 1),
         statuses AS (SELECT order_id, jsonb_agg(to_jsonb(status) ORDER BY id) AS rows FROM status GROUP BY 1),
         alerts AS (SELECT order_id, jsonb_agg(to_jsonb(alert) ORDER BY id) AS rows FROM alert GROUP BY 1),
         lines AS (SELECT order_id, jsonb_agg(to_jsonb(line) ORDER BY id) AS rows, array_agg(sku ORDER BY id) AS skus
                     FROM line GROUP BY 1)
    INSERT INTO orders_archivedorder (order_id, customer_id, email, state, total, currency, placed_at,
                                      finished_at, last_event, skus, subject, reference, metadata, attributes,
                                      document)
    SELECT process.order_id, purchase.customer_id, coalesce(purchase.email, ''), process.process_state,
           purchase.total, coalesce(purchase.currency, ''), coalesce(purchase.placed_at, process.created_at),
           process.finished_at, coalesce(events.last, 0), coalesce(lines.skus, '{}'),
           coalesce(purchase.subject, ''), coalesce(purchase.reference, ''), purchase.metadata,
           coalesce(purchase.attributes, '{}'),
           jsonb_build_object(
               'process', to_jsonb(process), 'order', to_jsonb(purchase), 'lines', coalesce(lines.rows, '[]'),
               'steps', coalesce(steps.rows, '[]'), 'events', coalesce(events.rows, '[]'),
               'statuses', coalesce(statuses.rows, '[]'), 'alerts', coalesce(alerts.rows, '[]'))
      FROM process
      LEFT JOIN purchase ON purchase.id = process.order_id
      LEFT JOIN lines USING (order_id)
      LEFT JOIN steps USING (order_id)
      LEFT JOIN events USING (order_id)
      LEFT JOIN statuses USING (order_id)
      LEFT JOIN alerts USING (order_id)
"""


def archive_finished(*, before: datetime, after: Any = FIRST, pace: Pace | None = None) -> Walk:
    """Moves the orders that finished before that time to the archive.

    What failed, is being compensated, or has an open alert or an outstanding request stays.
    """

    def choose(after: tuple[datetime, UUID], size: int) -> Chunk:
        rows = fetch(
            """
            SELECT order_id, finished_at
              FROM orders_orderprocess
             WHERE finished_at IS NOT NULL AND finished_at < %s
               AND (finished_at, order_id) > (%s, %s) AND finished_at >= %s
             ORDER BY finished_at, order_id
             LIMIT %s
            """,
            [before, *after, after[0], size],
        )
        return Chunk(keys=[row[0] for row in rows], last=_position(rows, size))

    def move(ids: Sequence[UUID]) -> int:
        movable = _lock_movable(ids, before)
        if movable:
            run(MOVE, {"ids": movable})
        return len(movable)

    return in_batches(choose=choose, work=move, start=after, pace=pace, seconds=MOVING)


def _position(rows: Sequence[tuple[UUID, datetime]], size: int) -> tuple[datetime, UUID] | None:
    """Where to continue after these rows, of at most `size`; None if they are the last."""
    return (rows[-1][1], rows[-1][0]) if len(rows) == size else None


def _lock_movable(ids: Sequence[UUID], before: datetime) -> list[UUID]:
    """Locks those of these orders that may move, in key order, and looks again at what they are now.

    An order that somebody holds is left for the next pass. Whoever writes a step has locked its process row, so what
    is read after the lock stays true. A step that was refused stays failed in an order that was compensated; one that
    failed and may have had its effect keeps its order here, and so does what its business has not been told yet.
    """
    locked = fetch(
        """
        SELECT order_id
          FROM orders_orderprocess
         WHERE order_id = ANY(%s)
           AND process_state IN ('processed', 'compensated')
           AND finished_at < %s
         ORDER BY order_id
           FOR UPDATE SKIP LOCKED
        """,
        [list(ids), before],
    )
    movable = fetch(
        """
        SELECT ids.id
          FROM unnest(%s::uuid[]) AS ids (id)
         WHERE NOT EXISTS (SELECT FROM orders_alert WHERE order_id = ids.id AND closed_at IS NULL)
           AND NOT EXISTS (SELECT FROM orders_statusmessage WHERE order_id = ids.id AND starts_with(queue, 'workflow:'))
           AND NOT EXISTS (SELECT FROM orders_stepstate
                            WHERE order_id = ids.id
                              AND ((state = 'failed' AND outcome IN ('done', 'unknown')) OR complete_by IS NOT NULL))
        """,
        [[row[0] for row in locked]],
    )
    return [row[0] for row in movable]


def delete_archived(*, before: datetime, after: Any = FIRST) -> Walk:
    """Deletes the orders that were archived before that time, with their idempotency keys, references and notes."""

    def choose(after: tuple[datetime, UUID], size: int) -> Chunk:
        rows = fetch(
            """
            SELECT order_id, archived_at
              FROM orders_archivedorder
             WHERE archived_at < %s AND (archived_at, order_id) > (%s, %s) AND archived_at >= %s
             ORDER BY archived_at, order_id
             LIMIT %s
            """,
            [before, *after, after[0], size],
        )
        return Chunk(keys=[row[0] for row in rows], last=_position(rows, size))

    return in_batches(choose=choose, work=_delete_archived, start=after)


def _delete_archived(ids: Sequence[UUID]) -> int:
    fetch(LOCK)  # before the orders' rows, as an erasure takes them
    deleted = fetch(
        """
        WITH old AS (
            SELECT order_id FROM orders_archivedorder
             WHERE order_id = ANY(%s) ORDER BY order_id FOR UPDATE SKIP LOCKED
        ), keys AS (
            DELETE FROM orders_submissionkey WHERE order_id IN (SELECT order_id FROM old)
        ), notes AS (
            DELETE FROM orders_ordernote WHERE order_id IN (SELECT order_id FROM old)
        )
        DELETE FROM orders_archivedorder WHERE order_id IN (SELECT order_id FROM old) RETURNING lower(email)
        """,
        [list(ids)],
    )
    forget_unused(sorted({email for (email,) in deleted if email}))
    return len(deleted)
