"""Reads orders in the orders database, with all that their customers see of them, in one statement.

One statement sees one moment: the version of an order belongs to exactly the data that come with it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from orders.engine.runtime.sql import fetch
from orders.selectors.customer_order import (
    CustomerOrder,
    LastEvent,
    StoredRow,
    customer_line,
    customer_step,
    described_order,
)
from orders.selectors.paging import Position

STEP_TIMES = ("complete_by", "started_at", "completed_at", "not_before", "awaits_until")
STEP_COLUMNS = ("name", "state", "attempt", "error", "awaits", *STEP_TIMES)

# Only the orders of the page are completed: those that follow are never looked at. JSON makes one row of an order.
STATEMENT = f"""
    WITH page AS MATERIALIZED (
        SELECT stored.id, stored.subject, stored.title, stored.currency, stored.total, stored.placed_at,
               stored.inserted_at, stored.promised_by, process.workflow, process.version, process.process_state,
               process.goal, process.failure_count, process.complete_by
          FROM orders_order AS stored
          JOIN orders_orderprocess AS process ON process.order_id = stored.id
         WHERE {{conditions}}
         ORDER BY stored.placed_at DESC, stored.id DESC
         LIMIT %(limit)s::bigint
    )
    SELECT page.*, last.id, last.at,
           (SELECT json_agg(step)::text
              FROM (SELECT {", ".join(STEP_COLUMNS)} FROM orders_stepstate AS state
                     WHERE state.order_id = page.id ORDER BY state.position, state.id) AS step),
           (SELECT json_agg(json_build_array(sku, title, quantity, unit_price) ORDER BY line.id)::text
              FROM orders_orderline AS line WHERE line.order_id = page.id)
      FROM page
      LEFT JOIN LATERAL (
           SELECT id, at FROM orders_event AS event WHERE event.order_id = page.id ORDER BY id DESC LIMIT 1
           ) AS last ON true
     ORDER BY page.placed_at DESC, page.id DESC
"""


def stored_order(order_id: UUID, *, customer_id: int | None) -> CustomerOrder | None:
    """An order of this customer, or of a guest if that is None; None if there is none."""
    belongs = "IS NULL" if customer_id is None else "= %(customer)s::int"
    conditions = ["stored.id = %(order)s::uuid", f"stored.customer_id {belongs}"]
    views = _read(conditions, {"order": order_id, "customer": customer_id, "limit": 1})
    return views[0] if views else None


def stored_orders(
    *,
    customer_id: int,
    limit: int,
    before: Position | None,
    state: str | None,
    placed_after: datetime | None,
    subject: str,
) -> list[CustomerOrder]:
    """A customer's orders before a position, newest first."""
    conditions = ["stored.customer_id = %(customer)s::int"]
    if before:
        conditions += [
            "stored.placed_at <= %(at)s::timestamptz",
            "(stored.placed_at, stored.id) < (%(at)s::timestamptz, %(id)s::uuid)",
        ]
    if placed_after:
        conditions.append("stored.placed_at > %(after)s::timestamptz")
    if subject:
        conditions.append("stored.subject = %(subject)s::text")
    if state:
        conditions.append("process.process_state = %(state)s::text")
    values = {
        "customer": customer_id,
        "limit": limit,
        "at": before and before.at,
        "id": before and before.order_id,
        "after": placed_after,
        "subject": subject,
        "state": state,
    }
    return _read(conditions, values)


def _read(conditions: Sequence[str], values: Mapping[str, Any]) -> list[CustomerOrder]:
    return [_view(*row) for row in fetch(STATEMENT.format(conditions=" AND ".join(conditions)), values)]


def _view(*columns: Any) -> CustomerOrder:
    """An order from a row of the statement."""
    *own, last_id, last_at, steps, lines = columns
    row = StoredRow(*own)
    return described_order(
        row,
        row,
        [customer_step(_with_times(step)) for step in orjson.loads(steps or "[]")],
        [
            customer_line(sku, title, quantity, price, row.currency)
            for sku, title, quantity, price in orjson.loads(lines or "[]")
        ],
        {row.pk: LastEvent(last_id, last_at)} if last_id else {},
    )


def _with_times(step: dict[str, Any]) -> dict[str, Any]:
    for name in STEP_TIMES:
        if step[name] is not None:
            step[name] = datetime.fromisoformat(step[name])
    return step
