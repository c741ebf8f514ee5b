"""The orders that a slow or silent agent hit: those that waited for it meanwhile, and those that wait now.

These are the orders of an outage, and of an alert that orders will be late. The events that say so are found by their
own index, so an outage with no orders costs one look-up.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from orders.engine.runtime.sql import fetch, recordset

NOTICED = timedelta(minutes=1)
"""How long orders may have waited for an agent before its outage is noticed."""
QUEUED = timedelta(hours=1)
"""How long before an alert of deadlines those orders may have begun to wait that still waited when it opened."""

_WAITING = """
    SELECT t.number, count(*), (array_agg(hit.order_id))[1:%(shown)s]
      FROM json_to_recordset(%(times)s::json)
        AS t(number int, agent text, queued timestamptz, began timestamptz, ended timestamptz, is_open bool)
     CROSS JOIN LATERAL (
           (SELECT order_id FROM orders_event AS e
             WHERE kind = 'waiting_for_agent' AND at BETWEEN t.queued AND t.ended AND detail ->> 'agent' = t.agent
               AND (at >= t.began OR NOT EXISTS (
                       SELECT FROM orders_event AS sent
                        WHERE sent.order_id = e.order_id AND sent.step = e.step AND sent.kind = 'step_started'
                          AND sent.at BETWEEN e.at AND t.began))
             LIMIT %(most)s)
            UNION
           (SELECT order_id FROM orders_stepstate
             WHERE t.is_open AND waiting_since IS NOT NULL AND agent = t.agent LIMIT %(most)s)
     ) AS hit
     GROUP BY t.number
"""
_ORDERS, _ORDER_IDS = 4, 5
"""Where a row of `causes` has the number of its orders, and the first of them."""


def with_waiting_orders(
    rows: Sequence[Sequence[Any]],
    *,
    agents: Mapping[int, str],
    queues: Collection[int],
    until: datetime,
    most: int,
    shown: int,
) -> list[list[Any]]:
    """The rows of times that causes were open, those that made orders wait with these orders, `most` at most.

    `agents` are those of such groups; `queues` are the groups whose orders may have waited before. One statement, if
    there are any.
    """
    sized = [list(row) for row in rows]
    times = [
        {
            "number": number,
            "agent": agents[group_id],
            "queued": (began - (QUEUED if group_id in queues else NOTICED)).isoformat(),
            "began": (began - NOTICED).isoformat(),
            "ended": (ended or until).isoformat(),
            "is_open": ended is None,
        }
        for number, (group_id, began, ended, *_) in enumerate(rows)
        if group_id in agents
    ]
    if times:
        for number, orders, order_ids in fetch(
            _WAITING, {"times": recordset(times), "most": most, "shown": shown}
        ):
            sized[number][_ORDERS], sized[number][_ORDER_IDS] = orders, order_ids
    return sized
