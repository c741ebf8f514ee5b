"""Requests whose leases have lapsed again and again: they may be killing their hosts, so few of them run at once."""

from collections.abc import Mapping, Sequence

from orders.engine.channels.leases import (
    ANY_OPERATION,
    SUSPECT_LAPSES,
    Lease,
    Operations,
    lease_if_free,
    offers_of,
)
from orders.engine.runtime.sql import fetch

SUSPICION = 20
"""The weight of the suspects that one host runs at once, beside its other calls."""


def weight(lapses: int) -> int:
    """How much of a host's `SUSPICION` a request takes: 1, 4 and 16 after two, three and four lapses, then all of it.

    So the many that only were under way beside the one that kills its hosts are soon cleared, twenty at a time, and the
    others suffer less with each crash.
    """
    return 0 if lapses < SUSPECT_LAPSES else min(SUSPICION, 4 ** min(lapses - SUSPECT_LAPSES, 3))


def claim(
    *,
    room: Mapping[str, int],
    free: int,
    me: str,
    seconds: float,
    operations: Operations = ANY_OPERATION,
) -> list[Lease]:
    """Leases requests that may have killed their hosts, up to a total weight of `free`, the least suspect first, and at
    most `room` for each agent.

    They are chosen without locks and then locked, so another host may have taken some of them in between (rule 11).
    """
    free_room = {agent: min(number, SUSPICION) for agent, number in room.items() if number > 0}
    suspects = fetch(
        f"""
        SELECT suspect.id, suspect.lapses
          FROM unnest(%s::text[], %s::int[]) AS agents(agent, room),
               LATERAL (
                   SELECT id, lapses
                     FROM orders_agentrequest
                    WHERE agent = agents.agent
                      AND leased_until IS NULL
                      AND lapses >= {SUSPECT_LAPSES}
                      AND (agent <> ALL(%s) OR agent || '/' || operation = ANY(%s))
                      AND complete_by > clock_timestamp()
                    ORDER BY lapses, id
                    LIMIT agents.room
               ) AS suspect
         ORDER BY suspect.lapses, suspect.id
        """,
        [list(free_room), list(free_room.values()), *offers_of(operations)],
    )
    return lease_if_free(_light_enough(suspects, free), me=me, seconds=seconds)


def _light_enough(suspects: Sequence[tuple[int, int]], free: int) -> list[int]:
    """The ids of those that may run, of suspects given as (id, lapses), the least suspect first."""
    light_enough = []
    for request_id, lapses in suspects:
        free -= weight(lapses)
        if free < 0:
            break
        light_enough.append(request_id)
    return light_enough


def has_suspects(agents: Sequence[str]) -> bool:
    """Says whether there is a free request that may have killed its hosts (see `SUSPECT_LAPSES`)."""
    return bool(
        fetch(
            f"""
            SELECT 1
              FROM orders_agentrequest
             WHERE agent = ANY(%s)
               AND leased_until IS NULL
               AND lapses >= {SUSPECT_LAPSES}
             LIMIT 1
            """,
            [list(agents)],
        )
    )
