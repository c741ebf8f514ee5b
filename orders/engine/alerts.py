"""Alerts tell operators of orders in Error and of outages (C7, V3, O1).

An order and an agent each have at most one open alert (I9).
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch, recordset, run
from orders.engine.runtime.text import message_pattern
from orders.vocabulary import AlertKind, Goal

_OPEN = """
    WITH v AS MATERIALIZED (
        SELECT *
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, kind text, code text, message text, step text, agent text,
                 subject text, pattern text)
    ), grouped AS (
        INSERT INTO orders_alertgroup (kind, agent, code, pattern, acknowledged_by)
        SELECT DISTINCT kind, agent, code, pattern, ''
          FROM v
         ORDER BY kind, agent, code, pattern
            ON CONFLICT (kind, agent, code, pattern) DO UPDATE SET last_at = clock_timestamp()
     RETURNING id, kind, agent, code, pattern
    )
    INSERT INTO orders_alert (group_id, order_id, kind, code, message, step, agent, subject, closed_by, resolution)
    SELECT g.id, v.order_id, v.kind, v.code, v.message, v.step, v.agent, v.subject, '', ''
      FROM v
      JOIN grouped AS g USING (kind, agent, code, pattern)
        ON CONFLICT DO NOTHING
"""


class NewAlert(NamedTuple):
    """What happened, and to which order, or else to which agent or `subject`: a role, or a version of a workflow.

    `code` names the cause, `message` is for people.
    """

    order_id: UUID | None
    kind: str
    code: str
    message: str
    step: str = ""
    agent: str = ""
    subject: str = ""


def kind_of_failure(goal: str) -> AlertKind:
    """What an alert is about when a step, or its reversal, has failed in an order with this goal."""
    return AlertKind.COMPENSATION_FAILED if goal == Goal.COMPENSATE else AlertKind.STEP_FAILED


UNPROCESSABLE = "The order cannot be processed as it is. Operators have been told."


def public_cause(alert: NewAlert) -> dict[str, str]:
    """What the application that submitted an order may read of why it needs an operator (Q3)."""
    cause = {"reason": alert.kind, "code": alert.code, "message": alert.message}
    if alert.kind == AlertKind.UNPROCESSABLE:  # the error is one of ours
        cause |= {"code": AlertKind.UNPROCESSABLE.value, "message": UNPROCESSABLE}
    return cause | ({"step": alert.step} if alert.step else {})


def open_causes(order_ids: Collection[UUID]) -> dict[UUID, dict[str, str]]:
    """What applications may read of those of these orders that have an open alert."""
    rows = fetch(
        """
        SELECT order_id, kind, code, message, step
          FROM orders_alert
         WHERE order_id = ANY(%s) AND closed_at IS NULL
        """,
        [list(order_ids)],
    )
    return {row[0]: public_cause(NewAlert(*row)) for row in rows}


def open_alerts(alerts: Sequence[NewAlert]) -> int:
    """Opens alerts, each in the group of its cause; returns how many. An order with an open alert gets no second one.

    The groups are written in the order of their keys, so two transactions with the same causes never deadlock.
    """
    if not alerts:
        return 0
    rows = [
        {**alert._asdict(), "pattern": message_pattern(alert.message, keep=alert.subject)} for alert in alerts
    ]
    return run(_OPEN, [recordset(rows)])


def open_outage(agent: str, *, code: str, message: str) -> int:
    """Opens an agent's one outage alert, however many orders wait for it; returns 0 if it is open already."""
    return open_alerts([NewAlert(None, "outage", code, message, agent=agent)])


def open_subjects(kind: str, *, code: str) -> set[str]:
    """The roles and the versions of workflows that have an open alert of this kind and code."""
    rows = fetch(
        """
        SELECT subject
          FROM orders_alert
         WHERE order_id IS NULL AND closed_at IS NULL AND subject <> '' AND kind = %s AND code = %s
        """,
        [kind, code],
    )
    return {subject for (subject,) in rows}


def close_outage(agent: str, *, by: str, resolution: str) -> int:
    """Closes an agent's outage alert; returns 0 if there was none open, or else 1."""
    return run(
        """
        UPDATE orders_alert
           SET closed_at = clock_timestamp(), closed_by = %s, resolution = %s
         WHERE agent = %s AND kind = 'outage' AND closed_at IS NULL
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
