"""Alerts tell operators of orders in Error and of outages (C7, V3, O1).

An order and an agent each have at most one open alert (I9).
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import recordset, run

LONGEST_PATTERN = 200
"""Characters of a message that distinguish causes; the width of the column."""

_ID = re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b", re.IGNORECASE)
_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\u2018[^\u2019]*\u2019|\u201c[^\u201d]*\u201d")
_EMAIL = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")

_OPEN = """
    WITH v AS MATERIALIZED (
        SELECT *
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, kind text, code text, message text, step text, agent text, pattern text)
    ), grouped AS (
        INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by)
        SELECT DISTINCT kind, agent, code, pattern, ''
          FROM v
         ORDER BY kind, agent, code, pattern
            ON CONFLICT (kind, agent, code, pattern) DO UPDATE SET last_at = clock_timestamp()
     RETURNING id, kind, agent, code, pattern
    )
    INSERT INTO orders_alert (group_id, order_id, kind, code, message, step, agent, closed_by, resolution)
    SELECT g.id, v.order_id, v.kind, v.code, v.message, v.step, v.agent, '', ''
      FROM v
      JOIN grouped AS g USING (kind, agent, code, pattern)
        ON CONFLICT DO NOTHING
"""


class NewAlert(NamedTuple):
    """What happened, and to which order; an outage has no order. `code` names the cause, `message` is for people."""

    order_id: UUID | None
    kind: str
    code: str
    message: str
    step: str = ""
    agent: str = ""


def message_pattern(message: str) -> str:
    """The message on one line, with ids, quoted words, emails and numbers replaced by "…".

    Alerts with the same kind, agent, code and pattern have one cause, and form one group.
    """
    text = " ".join(message.split())
    for variable_part in (_ID, _QUOTED, _EMAIL, _HEX, _NUMBER):
        text = variable_part.sub("…", text)
    return text[:LONGEST_PATTERN]


def open_alerts(alerts: Sequence[NewAlert]) -> int:
    """Opens alerts, each in the group of its cause; returns how many. An order with an open alert gets no second one.

    The groups are written in the order of their keys, so two transactions with the same causes never deadlock.
    """
    if not alerts:
        return 0
    return run(
        _OPEN, [recordset({**alert._asdict(), "pattern": message_pattern(alert.message)} for alert in alerts)]
    )


def open_outage(agent: str, *, code: str, message: str) -> int:
    """Opens an agent's one outage alert, however many orders wait for it; returns 0 if it is open already."""
    return open_alerts([NewAlert(None, "outage", code, message, agent=agent)])


def close_outage(agent: str, *, by: str, resolution: str) -> int:
    """Closes an agent's outage alert; returns 0 if there was none open, or else 1."""
    return run(
        """
        UPDATE orders_alert
           SET closed_at = clock_timestamp(), closed_by = %s, resolution = %s
         WHERE agent = %s AND order_id IS NULL AND closed_at IS NULL
        """,
        [by, resolution, agent],
    )


def close_alerts(order_ids: Collection[UUID], *, by: str, resolution: str) -> int:
    """Closes the open alerts of these orders, recording who or what resolved them; returns how many."""
    return run(
        """
        UPDATE orders_alert
           SET closed_at = clock_timestamp(), closed_by = %s, resolution = %s
         WHERE order_id = ANY(%s) AND closed_at IS NULL
        """,
        [by, resolution, list(order_ids)],
    )
