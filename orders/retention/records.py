"""Deletes old records that are no order's: each table is walked by its key, a bounded number of rows at a time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from orders.engine.runtime.sql import fetch
from orders.retention.batches import Batch, Pace, in_batches


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Which rows of a table are deleted: those for which `condition` holds, with `age` before now as its parameter."""

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
    "replayed submissions": Rule(
        table="orders_setaside", condition="replayed_at < %(before)s", age=timedelta(days=90)
    ),
    "agent instances": Rule(
        table="orders_agentinstance", condition="seen_at < %(before)s", age=timedelta(days=1)
    ),
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
    "alerts of no order": Rule(
        table="orders_alert", condition="closed_at < %(before)s AND order_id IS NULL", age=timedelta(days=90)
    ),
    "sweeps": Rule(table="orders_sweeprecord", condition="at < %(before)s", age=timedelta(days=90)),
    "jobs": Rule(table="django_q_task", condition="stopped < %(before)s", age=timedelta(days=30), first=""),
}


_positions: dict[tuple[str, str], Any] = {}
"""The key at which the next walk of each table continues, if the last one ran out of time."""


def parts(now: datetime) -> Mapping[str, Callable[[], int]]:
    """The deletion of each kind of record, by name."""
    return {name: _part(rule, now) for name, rule in RULES.items()}


def _part(rule: Rule, now: datetime) -> Callable[[], int]:
    return lambda: delete_old(rule, before=now - rule.age)


def delete_old(rule: Rule, *, before: datetime) -> int:
    """Deletes what a rule selects; returns the number of rows.

    A walk that runs out of time is continued by the next one, so that rows that stay do not hide the others.
    """
    walked = (rule.table, rule.condition)
    start = _positions.get(walked, rule.first)
    statement = f"""
        WITH seen AS (
            SELECT {rule.key} AS key, ({rule.condition}) IS TRUE AS is_old
              FROM {rule.table} AS row WHERE {rule.key} > %(after)s ORDER BY {rule.key} LIMIT %(size)s
        ), deleted AS (
            DELETE FROM {rule.table} WHERE {rule.key} IN (SELECT key FROM seen WHERE is_old) RETURNING 1
        )
        SELECT max(key), count(*), (SELECT count(*) FROM deleted) FROM seen
    """

    def walk(after: Any, size: int) -> Batch:
        last, seen, deleted = fetch(statement, {"before": before, "after": after, "size": size})[0]
        after = last if seen == size else None
        _positions[walked] = rule.first if after is None else after
        return Batch(changed=deleted, after=after)

    return in_batches(walk, start=start, pace=Pace(size=500, largest=5_000))
