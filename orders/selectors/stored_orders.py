"""Reads orders in the orders database, with all that their customers see of them, in one statement.

One statement sees one moment: the version of an order belongs to exactly the data that come with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from orders.business.own_words import NO_WORDS, OwnWords
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

STEP_TIMES = (
    *("complete_by", "started_at", "completed_at", "not_before", "awaits_until"),
    *("waiting_since", "compensation_sent_at"),
)
STEP_COLUMNS = ("name", "state", "attempt", "error", "awaits", *STEP_TIMES)

# Only the orders of the page are completed: those that follow are never looked at. JSON makes one row of an order.
STATEMENT = f"""
    WITH page AS MATERIALIZED (
        SELECT stored.id, stored.subject, stored.title, stored.currency, stored.total, stored.placed_at,
               stored.inserted_at, stored.promised_by, process.workflow, process.version, process.process_state,
               process.goal, process.failure_count, process.complete_by, stored.reference, stored.metadata
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


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of a customer's orders are listed: those before a position, placed after a time, in a state, about a
    subject and with their client's words, where these are given."""

    customer_id: int
    limit: int
    before: Position | None = None
    placed_after: datetime | None = None
    state: str | None = None
    subject: str = ""
    words: OwnWords = NO_WORDS

    @property
    def values(self) -> dict[str, Any]:
        """What the conditions name."""
        return {
            **vars(self),
            "at": self.before and self.before.at,
            "id": self.before and self.before.order_id,
            "reference": self.words.reference,
            "metadata": orjson.dumps(dict(self.words.metadata)).decode(),
        }

    def conditions(self, *, order_id: str, subject: str, state: str = "") -> str:
        """The conditions in SQL, but for whose the orders are. `order_id` and `state` are columns, and `subject` is the
        condition itself."""
        conditions = ["true"]
        if self.before:  # the first condition alone is what an index of the time can use
            conditions.append("placed_at <= %(at)s::timestamptz")
            conditions.append(f"(placed_at, {order_id}) < (%(at)s::timestamptz, %(id)s::uuid)")
        if self.placed_after:
            conditions.append("placed_at > %(placed_after)s::timestamptz")
        if self.subject:
            conditions.append(subject)
        if self.words.reference:
            conditions.append("reference = %(reference)s::text")
        if self.words.metadata:
            conditions.append("metadata @> %(metadata)s::jsonb")
        if self.state and state:
            conditions.append(f"{state} = %(state)s::text")
        return " AND ".join(conditions)


def stored_order(order_id: UUID, belonging: Mapping[str, Any]) -> CustomerOrder | None:
    """An order, if its columns have the values of `belonging`; otherwise None."""
    conditions = ["stored.id = %(order_id)s::uuid"]
    if "customer_id" in belonging:
        conditions.append("stored.customer_id IS NOT DISTINCT FROM %(customer_id)s::int")
    values = {**belonging, "order_id": order_id, "limit": 1}
    views = _read(" AND ".join(conditions), values)
    return views[0] if views else None


def stored_orders(selection: Selection) -> list[CustomerOrder]:
    """The orders of a selection, newest first."""
    conditions = selection.conditions(
        order_id="stored.id", subject="stored.subject = %(subject)s::text", state="process.process_state"
    )
    return _read(f"stored.customer_id = %(customer_id)s::int AND {conditions}", selection.values)


def _read(conditions: str, values: Mapping[str, Any]) -> list[CustomerOrder]:
    return [_view(*row) for row in fetch(STATEMENT.format(conditions=conditions), values)]


def _view(*columns: Any) -> CustomerOrder:
    """An order from a row of the statement."""
    *own, metadata, last_id, last_at, steps, lines = columns
    row = StoredRow._make([*own, metadata and orjson.loads(metadata)])
    return described_order(
        row,
        row,
        [customer_step(_with_times(step), row.goal) for step in orjson.loads(steps or "[]")],
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
