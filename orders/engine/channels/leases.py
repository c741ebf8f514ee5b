"""The request queue, agents' side: leased like a peek-lock (rule 3).

A claim counts a delivery, and that number is the lease's fence: who wants to complete, renew or release a request must
still be the holder of that very delivery. A lease that lapses frees the request for the next instance.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.sql import fetch, recordset, run

SUSPECT_DELIVERIES = 2
"""A request that was delivered this often without an answer may be what kills its hosts: it is run alone."""


class Lease(NamedTuple):
    """A claimed request. `seconds_left` is the time to its complete-by, by the database's clock."""

    id: int
    deliveries: int
    order_id: UUID
    step: str
    agent: str
    operation: str
    attempt: int
    undo: bool
    key: str
    reverses: str
    body: Any
    seconds_left: float


class Answered(NamedTuple):
    """How a leased request ended: done, refused, declined or failed, or abandoned, which posts nothing (A5)."""

    id: int
    deliveries: int
    outcome: str
    body: str
    calls: int


ABANDONED = "abandoned"

_TAKE = """
    UPDATE orders_agentrequest
       SET leased_by = %(me)s, leased_until = clock_timestamp() + %(seconds)s * interval '1 second',
           deliveries = deliveries + 1
     WHERE id = ANY(%(ids)s)
 RETURNING id, deliveries, order_id, step, agent, operation, attempt, undo, key, reverses, body,
           extract(epoch FROM complete_by - clock_timestamp())::float8
"""


def claim(*, room: Mapping[str, int], me: str, seconds: float) -> list[Lease]:
    """Leases free requests, at most `room` for each agent, higher priority first (A9).

    Safe with many hosts: the rows are locked with SKIP LOCKED. The ids are chosen first and then updated by id, since a
    LIMIT inside the UPDATE's own condition may take more rows than it says.
    """
    wanted = {agent: free for agent, free in room.items() if free > 0}
    if not wanted:
        return []
    chosen = fetch(
        """
        SELECT free.id
          FROM unnest(%s::text[], %s::int[]) AS wanted(agent, room),
               LATERAL (SELECT id FROM orders_agentrequest
                         WHERE agent = wanted.agent AND leased_until IS NULL AND deliveries < %s
                           AND complete_by > clock_timestamp()
                         ORDER BY priority DESC, id LIMIT wanted.room FOR UPDATE SKIP LOCKED) AS free
        """,
        [list(wanted), list(wanted.values()), SUSPECT_DELIVERIES],
    )
    return _lease([row_id for (row_id,) in chosen], me=me, seconds=seconds)


def claim_suspect(*, agents: Sequence[str], me: str, seconds: float) -> list[Lease]:
    """Leases at most one request that may have killed its hosts before, to be run with nothing else (rule 11)."""
    chosen = fetch(
        """
        SELECT id FROM orders_agentrequest
         WHERE agent = ANY(%s) AND leased_until IS NULL AND deliveries >= %s AND complete_by > clock_timestamp()
         ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        """,
        [list(agents), SUSPECT_DELIVERIES],
    )
    return _lease([row_id for (row_id,) in chosen], me=me, seconds=seconds)


def _lease(ids: list[int], *, me: str, seconds: float) -> list[Lease]:
    if not ids:
        return []
    rows = fetch(_TAKE, {"me": me, "seconds": seconds, "ids": ids})
    claimed = [Lease._make(row) for row in rows]
    claimed = [lease._replace(body=json.loads(lease.body)) for lease in claimed]
    return sorted(claimed, key=lambda lease: lease.id)


def complete(answers: Sequence[Answered], *, me: str) -> int:
    """Deletes the requests and posts their replies, in one statement; returns how many replies were posted.

    A reply is posted only by the holder of the delivery, and only before complete-by by the database's clock (A4, A5).
    """
    if not answers:
        return 0
    return run(
        """
        WITH answered AS (
            DELETE FROM orders_agentrequest AS r
             USING json_to_recordset(%s::json)
                AS v(id bigint, deliveries smallint, outcome text, body text, calls int)
             WHERE r.id = v.id AND r.leased_by = %s AND r.deliveries = v.deliveries
         RETURNING r.order_id, r.step_id, r.attempt, r.undo, r.complete_by, v.outcome, v.body, v.calls
        )
        INSERT INTO orders_agentreply (order_id, step_id, attempt, undo, outcome, body, calls, instance)
        SELECT order_id, step_id, attempt, undo, outcome, body::jsonb, calls, %s
          FROM answered WHERE outcome <> %s AND complete_by > clock_timestamp()
        """,
        [recordset(answer._asdict() for answer in answers), me, me, ABANDONED],
    )


def renew(held: Sequence[tuple[int, int]], *, me: str, seconds: float) -> set[int]:
    """Extends the leases of (id, deliveries); returns the ids that are confirmed. The others are lost."""
    if not held:
        return set()
    rows = fetch(
        """
        UPDATE orders_agentrequest AS r
           SET leased_until = clock_timestamp() + %s * interval '1 second'
          FROM json_to_recordset(%s::json) AS v(id bigint, deliveries smallint)
         WHERE r.id = v.id AND r.leased_by = %s AND r.deliveries = v.deliveries
     RETURNING r.id
        """,
        [seconds, _held(held), me],
    )
    return {row_id for (row_id,) in rows}


def release(held: Sequence[tuple[int, int]], *, me: str) -> int:
    """Gives back requests that this instance will not finish, for another one to take at once.

    The delivery stays counted: a call may have landed, so the request must never again pass for one not begun.
    """
    return run(
        """
        UPDATE orders_agentrequest AS r SET leased_by = NULL, leased_until = NULL
          FROM json_to_recordset(%s::json) AS v(id bigint, deliveries smallint)
         WHERE r.id = v.id AND r.leased_by = %s AND r.deliveries = v.deliveries
        """,
        [_held(held), me],
    )


def _held(held: Sequence[tuple[int, int]]) -> str:
    return recordset({"id": request_id, "deliveries": deliveries} for request_id, deliveries in held)


def has_suspects(agents: Sequence[str]) -> bool:
    """Whether a request waits that has to be run alone."""
    return bool(
        fetch(
            """
            SELECT 1 FROM orders_agentrequest
             WHERE agent = ANY(%s) AND leased_until IS NULL AND deliveries >= %s LIMIT 1
            """,
            [list(agents), SUSPECT_DELIVERIES],
        )
    )


def free_lapsed() -> int:
    """Frees the requests whose holders have not renewed their leases; returns how many."""
    return run(
        """
        UPDATE orders_agentrequest SET leased_by = NULL, leased_until = NULL
         WHERE id = ANY(ARRAY(SELECT id FROM orders_agentrequest WHERE leased_until < clock_timestamp()
                               ORDER BY leased_until LIMIT 500 FOR UPDATE SKIP LOCKED))
        """
    )


def delete_expired() -> int:
    """Deletes requests that nobody holds and nobody may answer any more; returns how many."""
    return run(
        """
        DELETE FROM orders_agentrequest
         WHERE id = ANY(ARRAY(SELECT id FROM orders_agentrequest
                               WHERE leased_until IS NULL AND complete_by < clock_timestamp() - interval '1 second'
                               ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED))
        """
    )
