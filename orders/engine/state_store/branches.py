"""What branches are decided on, and the steps of items."""

import json
from collections.abc import Collection, Sequence
from uuid import UUID

from orders.engine.branches import Facts, NewItem
from orders.engine.runtime.sql import fetch, recordset
from orders.engine.runtime.statements import array, send


def facts_of(order_ids: Collection[UUID]) -> dict[UUID, Facts]:
    """What the branches of these orders are decided on. The caller has locked the processes."""
    if not order_ids:
        return {}
    rows = fetch(
        """
        SELECT asked.order_id, o.data::text, done.results::text
          FROM unnest(%(ids)s::uuid[]) AS asked (order_id)
          LEFT JOIN orders_order AS o ON o.id = asked.order_id
          LEFT JOIN LATERAL (
               SELECT jsonb_object_agg(s.name, s.result) AS results
                 FROM orders_stepstate AS s
                WHERE s.order_id = asked.order_id AND s.state = 'completed'
               ) AS done ON true
        """,
        {"ids": array(order_ids)},
    )
    return {
        order_id: Facts(json.loads(data or "{}"), json.loads(results or "{}"))
        for order_id, data, results in rows
    }


def add_items(items: Sequence[NewItem]) -> None:
    """Inserts the steps of items, each beside its joint, which the caller has written."""
    if not items:
        return
    send(
        """
        INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                      compensation_generation, outcome, failure_count, compensation_failure_count,
                                      extended_waits, priority)
        SELECT joint.order_id, new.name, joint.position, new.agent, new.request, 'not_started', 0, 0, 1,
               1, 'none', 0, 0, 0, joint.priority
          FROM json_to_recordset(%(rows)s::json) AS new (joint bigint, number int, name text, agent text, request jsonb)
          JOIN orders_stepstate AS joint ON joint.id = new.joint
         WHERE joint.id = ANY(%(joints)s::bigint[])  -- otherwise all of a small table is read, and joined
         ORDER BY joint.id, new.number
        """,
        {
            "rows": recordset(item._asdict() | {"number": number} for number, item in enumerate(items)),
            "joints": array({item.joint for item in items}),
        },
    )
