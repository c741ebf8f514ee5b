"""The orders, the customers and the money that open alerts put at risk.

They are added up over the newest open alerts of each group only (`MOST_VALUED` in all), and then shown as "or more".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from orders.engine.runtime.sql import fetch
from orders.vocabulary import AlertKind

MOST_VALUED = 2_000
"""Alerts whose orders are read for customers and money, in all the groups shown."""
LEAST_VALUED = 50
"""The same for each group, however many groups are shown."""

_VALUES = """
    SELECT g.id, o.currency, sum(o.total), count(DISTINCT nullif(lower(o.email), ''))
      FROM unnest(%s::bigint[]) AS g(id)
     CROSS JOIN LATERAL (
           SELECT order_id FROM orders_alert
            WHERE group_id = g.id AND closed_at IS NULL AND order_id IS NOT NULL ORDER BY opened_at DESC LIMIT %s
     ) AS a
      JOIN orders_order AS o ON o.id = a.order_id
     GROUP BY g.id, o.currency ORDER BY g.id, o.currency
"""
_WAITING_VALUES = """
    SELECT agents.agent, o.currency, count(*), sum(o.total), count(DISTINCT nullif(lower(o.email), '')),
           max(waiting.steps)
      FROM unnest(%(agents)s::text[]) AS agents(agent)
     CROSS JOIN LATERAL (
           SELECT few.order_id, sum(count(*)) OVER () AS steps
             FROM (SELECT s.order_id FROM orders_stepstate AS s
                    WHERE s.waiting_since IS NOT NULL AND s.agent = agents.agent LIMIT %(most)s) AS few
            GROUP BY few.order_id
     ) AS waiting
      LEFT JOIN orders_order AS o ON o.id = waiting.order_id
     GROUP BY agents.agent, o.currency ORDER BY agents.agent, o.currency
"""


@dataclass(frozen=True, kw_only=True)
class ValueAtRisk:
    """The orders of a group's open alerts, or those that wait for its agent, with their customers and their money, by
    currency in minor units; `more` if that is not all."""

    orders: int = 0
    customers: int = 0
    money: Mapping[str, int] = field(default_factory=dict)
    more: bool = False


def makes_orders_wait(kind: str) -> bool:
    """Whether alerts of this stored kind are about an agent for which orders wait."""
    return kind in (AlertKind.OUTAGE, AlertKind.LATE)


def read_values(counts: Mapping[int, int], *, agents: Mapping[int, str]) -> dict[int, ValueAtRisk]:
    """What is at risk by each of some groups with so many open alerts, by the id; there must be at least one.

    `agents` are those of the groups that make orders wait for one. One query, and one more if there are any.
    """
    most = max(LEAST_VALUED, MOST_VALUED // len(counts))
    values: dict[int, ValueAtRisk] = {}
    for group_id, currency, total, customers in fetch(_VALUES, [list(counts), most]):
        value = values.get(group_id, ValueAtRisk(orders=counts[group_id], more=counts[group_id] > most))
        values[group_id] = _with(value, currency, total, customers)
    waiting = _waiting_values(sorted(set(agents.values())), most) if agents else {}
    return values | {group_id: waiting[agent] for group_id, agent in agents.items() if agent in waiting}


def _waiting_values(agents: Sequence[str], most: int) -> dict[str, ValueAtRisk]:
    """The orders that wait for each of these agents, over `most` steps of each."""
    values: dict[str, ValueAtRisk] = {}
    rows = fetch(_WAITING_VALUES, {"agents": list(agents), "most": most})
    for agent, currency, orders, total, customers, steps in rows:
        value = values.get(agent, ValueAtRisk(more=steps >= most))
        values[agent] = _with(replace(value, orders=value.orders + orders), currency, total, customers)
    return values


def _with(value: ValueAtRisk, currency: str | None, total: int | None, customers: int) -> ValueAtRisk:
    money = value.money if total is None or not currency else {**value.money, currency: int(total)}
    return replace(value, customers=value.customers + customers, money=money)
