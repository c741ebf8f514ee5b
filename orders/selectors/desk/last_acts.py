"""Who last did what to something, and why, from the audit log."""

from collections.abc import Iterable
from typing import NamedTuple

from orders.engine.runtime.sql import fetch, recordset


class LastAct(NamedTuple):
    """Who did it, and the reason that was given; both are empty if the audit log does not have it."""

    by: str = ""
    reason: str = ""


_LAST = """
    SELECT t.target, t.act, e.actor, e.reason
      FROM json_to_recordset(%s::json) AS t(target text, act text)
     CROSS JOIN LATERAL (
           SELECT actor, reason FROM orders_auditentry
            WHERE target = t.target AND act = t.act AND allowed
            ORDER BY at DESC LIMIT 1
     ) AS e
"""


def last_acts(sought: Iterable[tuple[str, str]]) -> dict[tuple[str, str], LastAct]:
    """The last time that each act was done to its target, by target and act. One statement, by the index of targets."""
    rows = [{"target": target, "act": act} for target, act in sought]
    if not rows:
        return {}
    return {(target, act): LastAct(by, reason) for target, act, by, reason in fetch(_LAST, [recordset(rows)])}
