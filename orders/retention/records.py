"""Deletes old records that are no order's: each table is walked by its key, a bounded number of rows at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from orders.engine.runtime.brief_batches import Chunk, Pace, Walk, in_batches
from orders.engine.runtime.sql import fetch, run


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Which rows of a table are deleted: those for which `condition` holds, with `age` before now as its parameter.

    A walk begins behind the key `first`.
    """

    table: str
    condition: str
    age: timedelta
    key: str = "id"
    first: Any = 0


ORPHAN = """NOT EXISTS (SELECT FROM orders_orderprocess AS p WHERE p.order_id = row.order_id)"""
RULES: Mapping[str, Rule] = {
    "statuses of no stored order": Rule(
        table="orders_statusmessage", condition=f"posted_at < %(before)s AND {ORPHAN}", age=timedelta(days=30)
    ),
    "message counts of no order": Rule(
        table="orders_statuscount",
        condition=f"{ORPHAN}"
        " AND NOT EXISTS (SELECT FROM orders_submissionmessage AS s WHERE s.order_id = row.order_id)"
        " AND NOT EXISTS (SELECT FROM orders_setaside AS s WHERE s.order_id = row.order_id)",
        age=timedelta(0),
        key="order_id",
        first=UUID(int=0),
    ),
    "replayed submissions": Rule(
        table="orders_setaside", condition="replayed_at < %(before)s", age=timedelta(days=90)
    ),
    "expired tokens": Rule(
        table="orders_apitoken", condition="expires_at < %(before)s", age=timedelta(days=30)
    ),
    "agent instances": Rule(
        table="orders_agentinstance", condition="seen_at < %(before)s", age=timedelta(days=1)
    ),
    "presence": Rule(table="orders_presence", condition="seen_at < %(before)s", age=timedelta(hours=1)),
    "role instances": Rule(
        table="orders_roleinstance",
        condition="seen_at < %(before)s",
        age=timedelta(days=1),
        key="instance",
        first="",
    ),
    "sent messages": Rule(
        table="orders_outgoingmessage",
        condition="ended_at < %(before)s AND state <> 'failed'",
        age=timedelta(days=30),
    ),
    "failed messages": Rule(
        table="orders_outgoingmessage", condition="ended_at < %(before)s", age=timedelta(days=90)
    ),
    "webhook deliveries": Rule(
        table="orders_webhookdelivery",
        condition="created_at < %(before)s AND (state = 'delivered'"
        " OR EXISTS (SELECT FROM orders_webhookendpoint AS e"
        " WHERE e.id = row.endpoint_id AND e.disabled_at IS NOT NULL))",
        age=timedelta(days=30),
    ),
    "bulk items": Rule(
        table="orders_bulkitem",
        condition="EXISTS (SELECT FROM orders_bulkaction AS a WHERE a.id = row.action_id"
        " AND a.ended_at < %(before)s)",
        age=timedelta(days=90),
    ),
    "bulk actions": Rule(
        table="orders_bulkaction",
        condition="ended_at < %(before)s"
        " AND NOT EXISTS (SELECT FROM orders_bulkitem AS i WHERE i.action_id = row.id)",
        age=timedelta(days=90),
    ),
    "approvals": Rule(
        table="orders_approvalrequest", condition="expires_at < %(before)s", age=timedelta(days=90)
    ),
    "alerts of no order": Rule(
        table="orders_alert", condition="closed_at < %(before)s AND order_id IS NULL", age=timedelta(days=90)
    ),
    "sweeps": Rule(table="orders_sweeprecord", condition="at < %(before)s", age=timedelta(days=90)),
    "figures of minutes": Rule(
        table="orders_orderfigures",
        condition="span = 'minute' AND began < %(before)s",
        age=timedelta(hours=48),
    ),
    "figures of hours": Rule(
        table="orders_orderfigures", condition="began < %(before)s", age=timedelta(days=400)
    ),
    "figures of agents by minute": Rule(
        table="orders_agentfigures",
        condition="span = 'minute' AND began < %(before)s",
        age=timedelta(hours=48),
    ),
    "figures of agents by hour": Rule(
        table="orders_agentfigures", condition="began < %(before)s", age=timedelta(days=400)
    ),
    "figures of causes by minute": Rule(
        table="orders_causefigures",
        condition="span = 'minute' AND began < %(before)s",
        age=timedelta(hours=48),
    ),
    "figures of causes by hour": Rule(
        table="orders_causefigures", condition="began < %(before)s", age=timedelta(days=400)
    ),
    "sessions": Rule(
        table="django_session",
        condition="expire_date < %(before)s",
        age=timedelta(days=1),
        key="session_key",
        first="",
    ),
    "buckets": Rule(
        table="orders_bucket", condition="full_at < %(before)s", age=timedelta(0), key="key", first=""
    ),
    "jobs": Rule(table="django_q_task", condition="stopped < %(before)s", age=timedelta(days=30), first=""),
}


def requests_rule(*, days: float) -> Rule:
    """The rule of the log of clients' requests, which are kept for so many days."""
    return Rule(table="orders_loggedrequest", condition="at < %(before)s", age=timedelta(days=days))


def delete_old(rule: Rule, *, before: datetime, after: Any = None) -> Walk:
    """Deletes what a rule selects. The rows that stay are only read, and no row is locked for longer than its batch."""

    def choose(after: Any, size: int) -> Chunk:
        rows = fetch(
            f"""
            SELECT {rule.key}, ({rule.condition}) IS TRUE
              FROM {rule.table} AS row WHERE {rule.key} > %(after)s ORDER BY {rule.key} LIMIT %(size)s
            """,
            {"before": before, "after": after, "size": size},
        )
        return Chunk(
            keys=[key for key, is_old in rows if is_old], last=rows[-1][0] if len(rows) == size else None
        )

    def delete(keys: Sequence[Any]) -> int:
        # The condition is checked again under the lock: somebody may have changed the row meanwhile.
        return run(
            f"""
            WITH old AS (
                SELECT {rule.key} AS key FROM {rule.table} AS row
                 WHERE {rule.key} = ANY(%(keys)s) AND ({rule.condition}) FOR UPDATE SKIP LOCKED
            )
            DELETE FROM {rule.table} WHERE {rule.key} IN (SELECT key FROM old)
            """,
            {"before": before, "keys": list(keys)},
        )

    start = rule.first if after is None else after
    return in_batches(choose=choose, work=delete, start=start, pace=Pace(size=500, largest=5_000))
