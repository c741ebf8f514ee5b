"""The steps of workflows that operators have paused, and the orders that wait because of that. See docs/adr/0067."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from orders.engine.branches import SEPARATOR
from orders.engine.runtime.sql import run
from orders.engine.runtime.statements import Cursor, Sent, rows_of, send

PausedSteps: TypeAlias = Mapping[str, Mapping[str, datetime | None]]
"""The paused steps by their workflows, each with the time at which its pause ends by itself."""


def send_paused_steps() -> Sent[PausedSteps]:
    """The steps that are paused now, without waiting for them."""
    return send(
        """
        SELECT workflow, step, until
          FROM orders_steppause
         WHERE until IS NULL OR until > clock_timestamp()
        """,
        {},
        _by_workflow,
    )


def paused_steps() -> PausedSteps:
    """The steps that are paused now."""
    return send_paused_steps().result()


def release_held(limit: int) -> int:
    """Makes up to `limit` orders due, of those that wait for a paused step although it is paused no more.

    The longest wait ends first. Returns how many there were. Orders that somebody has locked are skipped: they are
    looked at again.
    """
    return run(
        f"""
        WITH released AS MATERIALIZED (
            SELECT p.order_id
              FROM orders_stepstate AS s
              JOIN orders_orderprocess AS p ON p.order_id = s.order_id
             WHERE s.paused_since IS NOT NULL
               AND p.process_state IN ('pending', 'processing')
               AND p.paused_at IS NULL
               AND p.not_before > clock_timestamp()
               AND NOT EXISTS (
                       SELECT 1
                         FROM orders_steppause AS pause
                        WHERE pause.workflow = p.workflow
                          AND pause.step = split_part(s.name, '{SEPARATOR}', 1)
                          AND (pause.until IS NULL OR pause.until > clock_timestamp()))
             ORDER BY s.paused_since
             LIMIT %(limit)s
               FOR NO KEY UPDATE OF p SKIP LOCKED
        )
        UPDATE orders_orderprocess
           SET not_before = clock_timestamp()
         WHERE order_id IN (SELECT order_id FROM released)
        """,
        {"limit": limit},
    )


def _by_workflow(cursor: Cursor) -> PausedSteps:
    steps: dict[str, dict[str, datetime | None]] = {}
    for workflow, step, until in rows_of(cursor):
        steps.setdefault(workflow, {})[step] = until
    return steps
