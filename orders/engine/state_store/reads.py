"""Reading the rows that a transaction decides on, without locking them."""

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.engine.rows import StepRow
from orders.engine.runtime.sql import fetch
from orders.engine.runtime.statements import Cursor, Sent, array, known, rows_of, send


def known_orders(order_ids: Collection[UUID]) -> dict[UUID, bool]:
    """Those of these orders that are there, and whether each is archived.

    One statement has one snapshot, so an order that is just being archived is not missed.
    """
    return dict(
        fetch(
            """
            SELECT order_id, false FROM orders_orderprocess WHERE order_id = ANY(%(ids)s::uuid[])
             UNION ALL
            SELECT order_id, true FROM orders_archivedorder WHERE order_id = ANY(%(ids)s::uuid[])
            """,
            {"ids": array(order_ids)},
        )
    )


def compensation_reasons(order_ids: Collection[UUID]) -> dict[UUID, str]:
    """Why each of these orders is compensated, as its history says (`Reason`)."""
    if not order_ids:
        return {}
    return dict(
        fetch(
            """
            SELECT DISTINCT ON (e.order_id) e.order_id, e.detail->>'why'
              FROM unnest(%(ids)s::uuid[]) AS asked (order_id)
              JOIN orders_event AS e USING (order_id)
             WHERE e.kind = 'compensation_requested' AND e.detail->>'why' IS NOT NULL
             ORDER BY e.order_id, e.id
            """,
            {"ids": array(order_ids)},
        )
    )


def overdue(
    limit: int, now: datetime, *, passed_over: Collection[UUID] = (), since: datetime | None = None
) -> list[UUID]:
    """Up to `limit` orders past their own complete-by time or a step's (V1), the longest overdue first.

    Nothing is locked yet. `passed_over` are orders that the caller could not lock before, and leaves out. If `since` is
    given, only those whose time was up then or later.
    """
    began = "" if since is None else "AND complete_by >= %(since)s::timestamptz"
    late = fetch(
        f"""
        SELECT order_id
          FROM (
               (SELECT order_id, complete_by
                  FROM orders_stepstate
                 WHERE complete_by <= %(now)s::timestamptz {began}
                   AND order_id <> ALL(%(passed_over)s::uuid[])
                 ORDER BY complete_by
                 LIMIT %(limit)s::int)
                UNION ALL
               (SELECT order_id, complete_by
                  FROM orders_orderprocess
                 WHERE process_state = 'processing'
                   AND complete_by <= %(now)s::timestamptz {began}
                   AND order_id <> ALL(%(passed_over)s::uuid[])
                 ORDER BY complete_by
                 LIMIT %(limit)s::int)
               ) AS late
         GROUP BY order_id
         ORDER BY min(complete_by)
         LIMIT %(limit)s::int
        """,
        {"now": now, "limit": limit, "passed_over": array(passed_over), "since": since},
    )
    return [order_id for (order_id,) in late]


def steps_of(order_ids: Iterable[UUID]) -> dict[UUID, list[StepRow]]:
    """The steps of these orders, each in the order of its workflow. The caller has locked the processes."""
    return send_steps_of(order_ids).result()


def send_steps_of(order_ids: Iterable[UUID]) -> Sent[dict[UUID, list[StepRow]]]:
    """The same, without waiting. The server reads them after what was sent before, such as the lock."""
    steps: dict[UUID, list[StepRow]] = {order_id: [] for order_id in order_ids}

    def read(cursor: Cursor) -> dict[UUID, list[StepRow]]:
        for row in rows_of(cursor):
            step = StepRow._make(row)
            if step.error is not None:
                step = step._replace(error=json.loads(str(step.error)))
            if step.awaits is not None:
                step = step._replace(awaits=json.loads(str(step.awaits)))
            if step.next_request is not None:
                step = step._replace(next_request=json.loads(str(step.next_request)))
            steps[step.order_id].append(step)
        return steps

    return send(_STEPS, [array(steps)], read) if steps else known(steps)


def send_last_sweep() -> Sent[datetime | None]:
    """When the supervisor last completed a sweep, without waiting for it; None if it never has."""
    return send("SELECT max(swept_at) FROM orders_leaderlease", [], lambda cursor: rows_of(cursor)[0][0])


_STEPS = f"""
        SELECT {", ".join(StepRow._fields)}
          FROM orders_stepstate
         WHERE order_id = ANY(%s::uuid[])
         ORDER BY order_id, position, id
"""


def request_of(step: StepRow) -> dict[str, Any]:
    """What a step sends its agent. The caller has locked its process."""
    ((text,),) = fetch("SELECT request::text FROM orders_stepstate WHERE id = %s", [step.id])
    request: dict[str, Any] = json.loads(text)
    return request
