"""Alerts: the event that tells an operator that an order ended in Error (C7, V3, O1). One open alert per order (I9)."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.sql import recordset, run


class NewAlert(NamedTuple):
    """What happened, to which order. `code` is the error's class, `message` is for people."""

    order_id: UUID
    kind: str
    code: str
    message: str
    step: str = ""
    agent: str = ""


def open_alerts(alerts: Sequence[NewAlert]) -> int:
    """Opens alerts, leaving alone an order that has one open; returns how many were opened."""
    if not alerts:
        return 0
    return run(
        """
        INSERT INTO orders_alert (order_id, kind, code, message, step, agent, closed_by, resolution)
        SELECT order_id, kind, code, message, step, agent, '', ''
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, kind text, code text, message text, step text, agent text)
        ON CONFLICT (order_id) WHERE closed_at IS NULL DO NOTHING
        """,
        [recordset(alert._asdict() for alert in alerts)],
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
