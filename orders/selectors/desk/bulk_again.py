"""Which orders of a bulk action have failed again, why, and which of them nobody has changed since."""

from dataclasses import dataclass
from uuid import UUID

from orders.engine.runtime.sql import fetch
from orders.models import AlertGroup, BulkAction
from orders.selectors.desk.bulk import ENDED
from orders.vocabulary import BulkItemState, ProcessState

# The act itself is an event of the transaction that set `acted_at`, so it is not later than that.
_UNCHANGED = """
    SELECT i.order_id
      FROM orders_bulkitem AS i JOIN orders_orderprocess AS p ON p.order_id = i.order_id
     WHERE i.action_id = %s AND i.state = %s AND p.process_state = %s
       AND NOT EXISTS (SELECT FROM orders_event
                        WHERE order_id = i.order_id AND actor_kind IN ('operator', 'customer') AND at > i.acted_at)
     ORDER BY i.position LIMIT %s
"""
_CAUSES = """
    SELECT failure.group_id, count(*)
      FROM orders_bulkitem AS i
      LEFT JOIN LATERAL (
           SELECT group_id FROM orders_alert
            WHERE order_id = i.order_id AND opened_at > i.acted_at ORDER BY id LIMIT 1
      ) AS failure ON true
     WHERE i.action_id = %s AND i.state = %s
     GROUP BY failure.group_id ORDER BY count(*) DESC, failure.group_id
"""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Why `orders` of an action failed again. Without a group, they were given up, or the act itself failed."""

    group: AlertGroup | None
    orders: int


def failed_again(action_id: int, *, most: int) -> list[UUID]:
    """The orders of an action that has ended which failed again, are still in Error, and nobody has changed since.

    In the action's order. Two queries.
    """
    if not BulkAction.objects.filter(pk=action_id, state__in=ENDED).exists():
        return []
    rows = fetch(_UNCHANGED, [action_id, BulkItemState.FAILED_AGAIN, ProcessState.ERROR, most])
    return [order_id for (order_id,) in rows]


def causes_of(action_id: int) -> list[Cause]:
    """Why orders of an action failed again, the most frequent cause first. Two queries."""
    rows = fetch(_CAUSES, [action_id, BulkItemState.FAILED_AGAIN])
    groups = AlertGroup.objects.in_bulk([group_id for group_id, _ in rows if group_id is not None])
    return [Cause(group=groups.get(group_id), orders=count) for group_id, count in rows]
