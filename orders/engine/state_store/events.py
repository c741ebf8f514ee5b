"""The events of orders: what happened to them, for their histories and for the feeds of changes."""

import json
import time
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from orders.engine.rows import EventRow, StepRow
from orders.engine.runtime.sql import fetch, recordset
from orders.engine.runtime.statements import send
from orders.engine.state_store.event_log import log_events
from orders.engine.state_store.event_spans import trace_events
from orders.engine.state_store.feed import POSITION

_RECORD = f"""
    INSERT INTO orders_event (order_id, kind, step, attempt, actor_kind, actor_name, detail, at, customer_id, position)
    SELECT v.order_id, v.kind, v.step, v.attempt, v.actor_kind, v.actor_name, v.detail,
           clock_timestamp() - make_interval(secs => v.age),
           coalesce(v.customer_id,
                    (SELECT customer_id FROM orders_orderprocess WHERE order_id = v.order_id),
                    (SELECT customer_id FROM orders_order WHERE id = v.order_id),
                    0),
           {POSITION}
      FROM json_to_recordset(%s::json)
        AS v(order_id uuid, kind text, step text, attempt int, actor_kind text, actor_name text, detail jsonb,
             customer_id int, age float8)
"""
"""An order from before there were feeds has no customer in its process. The database's clock says when an event
happened; this process's says only how long ago that was."""


def record_events(events: Iterable[EventRow]) -> None:
    """Appends events to the orders' histories, and logs those that are not ordinary."""
    events = list(events)
    rows = [
        {
            "order_id": event.order_id,
            "kind": event.kind,
            "step": event.step,
            "attempt": event.attempt,
            "actor_kind": event.actor.kind,
            "actor_name": event.actor.name,
            "detail": event.detail or {},
            "customer_id": event.customer_id,
            "age": 0.0 if event.happened is None else max(0.0, time.monotonic() - event.happened),
        }
        for event in events
    ]
    if rows:
        send(_RECORD, [recordset(rows)])
        log_events(events)
        trace_events(events)


def last_call_failures(steps: Collection[StepRow]) -> dict[tuple[UUID, str], dict[str, Any]]:
    """The detail of the last failed remote call in each step's present attempt, by order and step."""
    if not steps:
        return {}
    rows = fetch(
        """
        SELECT DISTINCT ON (e.order_id, e.step) e.order_id, e.step, e.detail
          FROM orders_event AS e
          JOIN json_to_recordset(%s::json) AS v(order_id uuid, name text, attempt int)
            ON e.order_id = v.order_id AND e.step = v.name AND e.attempt = v.attempt
         WHERE e.kind = 'call_failed'
         ORDER BY e.order_id, e.step, e.id DESC
        """,
        [recordset(step._asdict() for step in steps)],
    )
    return {(order_id, step): json.loads(detail) for order_id, step, detail in rows}
