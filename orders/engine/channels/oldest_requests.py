"""Claims of requests by age instead of priority: the turns of those of a low priority.

`BETWEEN` stands for `=` as in `orders.engine.state_store.aged_claims`, so that the index by priority is used.
"""

from collections.abc import Mapping

from orders.engine.channels.leases import (
    ANY_OPERATION,
    SUSPECT_LAPSES,
    Lease,
    Operations,
    lease_if_free,
    offers_of,
)
from orders.engine.runtime.sql import avoid_sorts, fetch


def claim(
    *,
    room: Mapping[str, int],
    me: str,
    seconds: float,
    start: int = 0,
    operations: Operations = ANY_OPERATION,
) -> list[Lease]:
    """Leases free requests with an id of at least `start`, at most `room` for each agent, the oldest first.

    The queue is short, about twice what the agents can do at once, and its requests have a complete-by time. So they
    need not have waited for long. They are chosen without locks and then locked, so another host may have taken some of
    them in between.
    """
    if not room:
        return []
    avoid_sorts()
    agents, offers = offers_of(operations)
    rows = fetch(
        f"""
        SELECT oldest.id
          FROM unnest(%(agents)s::text[], %(rooms)s::int[]) AS agents(agent, room),
               LATERAL (
                   SELECT free.id
                     FROM generate_series(0, 9) AS of(priority),
                          LATERAL (
                              SELECT id
                                FROM orders_agentrequest
                               WHERE agent = agents.agent
                                 AND priority BETWEEN of.priority AND of.priority
                                 AND id >= %(start)s
                                 AND leased_until IS NULL
                                 AND lapses < {SUSPECT_LAPSES}
                                 AND (agent <> ALL(%(picky)s) OR agent || '/' || operation = ANY(%(offers)s))
                                 AND complete_by > clock_timestamp()
                               ORDER BY priority DESC, id
                               LIMIT agents.room
                          ) AS free
                    ORDER BY free.id
                    LIMIT agents.room
               ) AS oldest
        """,
        {
            "agents": list(room),
            "rooms": list(room.values()),
            "start": start,
            "picky": agents,
            "offers": offers,
        },
    )
    return lease_if_free([request_id for (request_id,) in rows], me=me, seconds=seconds)
