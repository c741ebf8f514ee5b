"""The changes of orders' priorities by operators, from the audit log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from orders.engine.runtime.sql import fetch

MOST_ENTRIES = 20_000
"""How many of the newest entries are searched."""
SHOWN = 20

_CHANGES = """
    SELECT split_part(target, ' ', 2)::uuid, at, actor, reason,
           (before ->> 'priority')::int, (after ->> 'priority')::int
      FROM (SELECT at, act, allowed, target, actor, reason, before, after FROM orders_auditentry
             WHERE at >= %s ORDER BY at DESC LIMIT %s) AS newest
     WHERE act = 'set priority' AND allowed AND before ->> 'priority' <> after ->> 'priority'
     ORDER BY at DESC LIMIT %s
"""


@dataclass(frozen=True, kw_only=True)
class PriorityChange:
    """Somebody has changed the priority of an order from `before` to `after`."""

    order_id: UUID
    at: datetime
    by: str
    reason: str
    before: int
    after: int


def priority_changes(since: datetime) -> Sequence[PriorityChange]:
    """The changes since a time, the newest first, `SHOWN` at most. One statement."""
    names = ("order_id", "at", "by", "reason", "before", "after")
    return [
        PriorityChange(**dict(zip(names, row, strict=True)))
        for row in fetch(_CHANGES, [since, MOST_ENTRIES, SHOWN])
    ]
