"""Claims by age instead of priority: the turns of what has a low priority (see `orders.engine.runtime.age_turns`).

The oldest are chosen without locks and then locked, so another scheduler may have taken some of them in between. Each
priority's oldest come first in the index that the claims by priority use, so none needs an index of its own. With
`BETWEEN` in place of `=`, no other index has the order that is asked for; one that has the age alone would be read to
its end for each priority that nothing has.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from orders.engine.contracts import Workflows
from orders.engine.rows import ProcessRow
from orders.engine.runtime.age_turns import AGED
from orders.engine.runtime.sql import avoid_sorts, fetch
from orders.engine.state_store.claims import SUPPORTED, WAITING_STEPS, lock, workflow_parameters
from orders.vocabulary import ProcessState


def claim_aged(
    limit: int,
    workflows: Workflows,
    now: datetime,
    *,
    without: Collection[UUID] = (),
    since: datetime | None = None,
) -> list[ProcessRow]:
    """Locks up to `limit` of the orders that have been ready since before `AGED`, the oldest first (C2).

    Only those placed at `since` or later, if it is given.
    """
    avoid_sorts()
    began = "" if since is None else "AND p.created_at >= %(since)s::timestamptz"
    rows = fetch(
        f"""
        SELECT oldest.order_id
          FROM generate_series(0, 9) AS of(priority),
               LATERAL (
                   SELECT p.order_id, p.created_at
                     FROM orders_orderprocess AS p
                    WHERE p.process_state = 'pending'
                      AND p.not_before IS NULL
                      AND p.priority BETWEEN of.priority AND of.priority
                      AND p.created_at <= %(aged)s::timestamptz {began}
                      AND p.order_id <> ALL(%(except)s::uuid[])
                      AND {SUPPORTED}
                    ORDER BY p.priority DESC, p.created_at
                    LIMIT %(limit)s::int
               ) AS oldest
         ORDER BY oldest.created_at, oldest.order_id
         LIMIT %(limit)s::int
        """,
        {"aged": now - AGED, "since": since, "limit": limit, **workflow_parameters(workflows, without)},
    )
    locked = lock({order_id for (order_id,) in rows}, workflows)
    return [row for row in locked if row.process_state == ProcessState.PENDING and row.not_before is None]


def claim_aged_waiting(
    rooms: Mapping[str, int],
    workflows: Workflows,
    already_locked: Collection[UUID],
    now: datetime,
    *,
    limit: int,
    retries: int,
) -> list[ProcessRow]:
    """Locks up to `limit` orders whose steps have been wanted since before `AGED`, the longest first (A9).

    At most as many per agent as it has room for, and at most `retries` of the steps that have failed before. The steps
    of an order that another scheduler has dealt with in between are no longer waiting, which its pass sees.
    """
    if not rooms or limit <= 0:
        return []
    avoid_sorts()
    rows = fetch(
        f"""
        SELECT oldest.order_id
          FROM unnest(%(agents)s::text[], %(rooms)s::int[]) AS agents (agent, room),
               (VALUES (0, %(limit)s::int), (1, %(retries)s::int)) AS steps (failed, most),
               LATERAL (
                   SELECT waiting.order_id, waiting.wanted_since
                     FROM generate_series(0, 9) AS of(priority),
                          LATERAL (
                  {WAITING_STEPS}
                              AND least(s.failure_count + s.compensation_failure_count, 1) = steps.failed
                              AND s.priority BETWEEN of.priority AND of.priority
                              AND s.wanted_since <= %(aged)s::timestamptz
                            ORDER BY s.priority DESC, s.wanted_since
                            LIMIT least(agents.room, steps.most)
                          ) AS waiting
                    ORDER BY waiting.wanted_since
                    LIMIT least(agents.room, steps.most)
               ) AS oldest
         GROUP BY oldest.order_id
         ORDER BY min(oldest.wanted_since), oldest.order_id
         LIMIT %(limit)s::int
        """,
        {
            "agents": list(rooms),
            "rooms": [min(room, limit) for room in rooms.values()],
            "limit": limit,
            "retries": retries,
            "aged": now - AGED,
            **workflow_parameters(workflows, already_locked),
        },
    )
    return lock({order_id for (order_id,) in rows}, workflows)
