"""The orders that an outage hit: those that began to wait for its agent while it lasted, and those that wait now.

The events that say so are found by their own index, so an outage with no orders costs one look-up.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from orders.engine.runtime.sql import fetch, recordset

NOTICED = timedelta(minutes=1)
"""How long orders may have waited for an agent before its outage is noticed."""

_WAITING = """
    SELECT t.number, count(*), (array_agg(hit.order_id))[1:%(shown)s]
      FROM json_to_recordset(%(times)s::json)
        AS t(number int, agent text, began timestamptz, ended timestamptz, is_open bool)
     CROSS JOIN LATERAL (
           (SELECT order_id FROM orders_event
             WHERE kind = 'waiting_for_agent' AND at BETWEEN t.began AND t.ended AND detail ->> 'agent' = t.agent
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
    outages: Mapping[int, str],
    until: datetime,
    most: int,
    shown: int,
) -> list[list[Any]]:
    """The rows of times that causes were open, those of outages with the orders that waited, `most` at most.

    `outages` are the agents of those groups that are outages. One statement, if there are any.
    """
    sized = [list(row) for row in rows]
    times = [
        {
            "number": number,
            "agent": outages[group_id],
            "began": (began - NOTICED).isoformat(),
            "ended": (ended or until).isoformat(),
            "is_open": ended is None,
        }
        for number, (group_id, began, ended, *_) in enumerate(rows)
        if group_id in outages
    ]
    if times:
        for number, orders, order_ids in fetch(
            _WAITING, {"times": recordset(times), "most": most, "shown": shown}
        ):
            sized[number][_ORDERS], sized[number][_ORDER_IDS] = orders, order_ids
    return sized
