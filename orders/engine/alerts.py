"""Alerts: the event that tells an operator that an order ended in Error (C7, V3, O1). One open alert per order (I9)."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.cause_pattern import pattern
from orders.engine.runtime.sql import recordset, run

_OPEN = """
    WITH v AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%s::json)
            AS v(order_id uuid, kind text, code text, message text, step text, agent text, pattern text)
    ), grouped AS (
        INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by)
        SELECT DISTINCT kind, agent, code, pattern, '' FROM v ORDER BY kind, agent, code, pattern
        ON CONFLICT (kind, agent, code, pattern) DO UPDATE SET last_at = clock_timestamp()
        RETURNING id, kind, agent, code, pattern
    )
    INSERT INTO orders_alert (group_id, order_id, kind, code, message, step, agent, closed_by, resolution)
    SELECT g.id, v.order_id, v.kind, v.code, v.message, v.step, v.agent, '', ''
      FROM v JOIN grouped AS g USING (kind, agent, code, pattern)
    ON CONFLICT DO NOTHING
"""


class NewAlert(NamedTuple):
    """What happened, to which order (none: to an agent). `code` is the error's class, `message` is for people."""

    order_id: UUID | None
    kind: str
    code: str
    message: str
    step: str = ""
    agent: str = ""


def open_alerts(alerts: Sequence[NewAlert]) -> int:
    """Opens alerts, each in the group of its cause, leaving alone an order that has one open; returns how many.

    The groups are written in the order of their keys, so that two transactions that meet the same causes never
    deadlock.
    """
    if not alerts:
        return 0
    return run(_OPEN, [recordset({**alert._asdict(), "pattern": pattern(alert.message)} for alert in alerts)])


def open_outage(agent: str, *, code: str, message: str) -> int:
    """Opens the alert of an outage, one for an agent however many orders wait for it; 0 if it is open already."""
    return open_alerts([NewAlert(None, "outage", code, message, agent=agent)])


def close_outage(agent: str, *, by: str, resolution: str) -> int:
    """Closes the alert of an agent's outage; returns how many there were, 0 or 1."""
    return run(
        """
        UPDATE orders_alert SET closed_at = clock_timestamp(), closed_by = %s, resolution = %s
         WHERE agent = %s AND order_id IS NULL AND closed_at IS NULL
        """,
        [by, resolution, agent],
    )


def close_alerts(order_ids: Collection[UUID], *, by: str, resolution: str) -> int:
    """Closes the open alerts of these orders and keeps what closed them; returns how many there were."""
    return run(
        """
        UPDATE orders_alert SET closed_at = clock_timestamp(), closed_by = %s, resolution = %s
         WHERE order_id = ANY(%s) AND closed_at IS NULL
        """,
        [by, resolution, list(order_ids)],
    )
