"""Reads an order in the orders database, with all that its customer sees of it, in one statement.

One statement sees one moment: the version of an order belongs to exactly the data that come with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from orders.business import registry
from orders.engine.runtime.sql import fetch
from orders.selectors.customer_order import (
    CustomerLine,
    CustomerOrder,
    CustomerStep,
    LastEvent,
    StoredRow,
    customer_line,
    customer_step,
    described_order,
)

STEP_TIMES = (
    *("complete_by", "started_at", "completed_at", "not_before", "awaits_until"),
    *("waiting_since", "wanted_since", "paused_since", "compensation_sent_at"),
)
STEP_COLUMNS = ("name", "state", "attempt", "outcome", "error", "awaits", *STEP_TIMES)

STEPS = f"""
    (SELECT json_agg(step)::text
       FROM (SELECT {", ".join(STEP_COLUMNS)}{{result}} FROM orders_stepstate AS state
              WHERE state.order_id = {{order_id}} ORDER BY state.position, state.id) AS step)
"""
RESULT = ", CASE WHEN state.name = ANY (%(with_results)s::text[]) THEN state.result END AS result"
"""The column of the results that clients see something of."""
LINES = """
    (SELECT json_agg(json_build_array(sku, title, quantity, unit_price) ORDER BY line.id)::text
       FROM orders_orderline AS line WHERE line.order_id = {order_id})
"""
# JSON makes one row of an order.
STATEMENT = f"""
    SELECT stored.id, stored.subject, stored.title, stored.currency, stored.total, stored.placed_at,
           stored.inserted_at, stored.promised_by, process.workflow, process.version, process.process_state,
           process.goal, process.failure_count, process.complete_by, process.paused_at, process.paused_until,
           stored.reference, stored.metadata::text,
           last.id, last.at, stored.data::text,
           {STEPS.format(order_id="stored.id", result=RESULT)}, {LINES.format(order_id="stored.id")}
      FROM orders_order AS stored
      JOIN orders_orderprocess AS process ON process.order_id = stored.id
      LEFT JOIN LATERAL (
           SELECT id, at FROM orders_event AS event WHERE event.order_id = stored.id ORDER BY id DESC LIMIT 1
           ) AS last ON true
     WHERE stored.id = %(order_id)s::uuid
"""
OWNED = "AND stored.customer_id IS NOT DISTINCT FROM %(customer_id)s::int"


def stored_order(order_id: UUID, belonging: Mapping[str, Any]) -> CustomerOrder | None:
    """An order, if its columns have the values of `belonging`; otherwise None."""
    owned = OWNED if "customer_id" in belonging else ""
    parameters = {**belonging, "order_id": order_id, "with_results": registry.client_results()}
    rows = fetch(f"{STATEMENT} {owned}", parameters)
    return _view(*rows[0]) if rows else None


def _view(*columns: Any) -> CustomerOrder:
    """An order from a row of the statement."""
    *own, last_id, last_at, data, steps, lines = columns
    row = stored_row(own)
    order = described_order(
        row,
        row,
        read_steps(steps, row.goal),
        read_lines(lines, row.currency),
        {row.pk: LastEvent(last_id, last_at)} if last_id else {},
    )
    return replace(order, data=orjson.loads(data or "{}"))


def stored_row(columns: Sequence[Any]) -> StoredRow:
    """A row from its columns, of which the last, the metadata, is JSON."""
    *own, metadata = columns
    return StoredRow._make([*own, metadata and orjson.loads(metadata)])


def read_steps(rows: str | None, goal: str) -> list[CustomerStep]:
    """The steps of an order with this goal, from their columns in JSON. One that is missing has no value."""
    return [customer_step(_complete(step), goal) for step in orjson.loads(rows or "[]")]


def read_lines(rows: str | None, currency: str) -> list[CustomerLine]:
    """The lines of an order from their columns in JSON."""
    return [
        customer_line(sku, title, quantity, price, currency)
        for sku, title, quantity, price in orjson.loads(rows or "[]")
    ]


def _complete(step: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(step[name]) for name in STEP_TIMES if step.get(name) is not None}
    return {**dict.fromkeys(STEP_COLUMNS), **step, **times}
