"""The request queue, as agent hosts use it: requests are leased, as with a peek-lock (rule 3).

A claim counts a delivery, and that number fences the lease: to complete, renew or release a request, a host must still
hold that very delivery. When a lease lapses, another host can claim the request. Whoever takes several requests locks
them in the order of their ids first: no deadlocks.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.runtime.sql import fetch, recordset, run
from orders.vocabulary import ReplyOutcome

SUSPECT_DELIVERIES = 2
"""A request that was delivered this often without an answer may be what kills its hosts, so it is run alone. Once may
have been a chance: a restart, or a machine that died."""


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


class Answer(NamedTuple):
    """How a leased request ended: done, refused, declined, failed; deferred, to be asked again when its agent can be
    used; or abandoned, which posts nothing (A5)."""

    id: int
    deliveries: int
    outcome: ReplyOutcome
    body: str
    calls: int
    seconds: float = 0.0


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

    Safe with many hosts: the rows are locked with SKIP LOCKED. They are chosen first and then updated by id, because an
    UPDATE whose condition has a LIMIT may take more rows than the limit.
    """
    wanted = {agent: free for agent, free in room.items() if free > 0}
    if not wanted:
        return []
    chosen = fetch(
        """
        SELECT free.id
          FROM unnest(%s::text[], %s::int[]) AS wanted(agent, room),
               LATERAL (
                   SELECT id
                     FROM orders_agentrequest
                    WHERE agent = wanted.agent AND leased_until IS NULL AND deliveries < %s
                      AND complete_by > clock_timestamp()
                    ORDER BY priority DESC, id
                    LIMIT wanted.room
                      FOR UPDATE SKIP LOCKED
               ) AS free
        """,
        [list(wanted), list(wanted.values()), SUSPECT_DELIVERIES],
    )
    return _lease([row_id for (row_id,) in chosen], me=me, seconds=seconds)


def claim_suspect(*, agents: Sequence[str], me: str, seconds: float) -> list[Lease]:
    """Leases at most one request that may have killed its hosts, to be run with nothing else (rule 11)."""
    chosen = fetch(
        """
        SELECT id
          FROM orders_agentrequest
         WHERE agent = ANY(%s) AND leased_until IS NULL AND deliveries >= %s
           AND complete_by > clock_timestamp()
         ORDER BY id
         LIMIT 1
           FOR UPDATE SKIP LOCKED
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


def complete(answers: Sequence[Answer], *, me: str) -> int:
    """Deletes the requests and posts their replies, in one statement; returns how many replies were posted.

    A reply is posted only by the holder of the delivery, and only before complete-by by the database's clock (A4, A5).
    """
    if not answers:
        return 0
    return run(
        """
        WITH v AS (
            SELECT * FROM json_to_recordset(%(answers)s::json)
                AS v(id bigint, deliveries smallint, outcome text, body text, calls int, seconds float8)
        ), held AS MATERIALIZED (
            SELECT r.id FROM orders_agentrequest AS r
             WHERE r.id IN (SELECT id FROM v) AND r.leased_by = %(me)s ORDER BY r.id FOR UPDATE
        ), answered AS (
            DELETE FROM orders_agentrequest AS r USING v
             WHERE r.id = v.id AND r.id IN (SELECT id FROM held)
               AND r.leased_by = %(me)s AND r.deliveries = v.deliveries
         RETURNING r.order_id, r.step_id, r.attempt, r.undo, r.complete_by, r.posted_at,
                   v.outcome, v.body, v.calls, v.seconds
        )
        INSERT INTO orders_agentreply (order_id, step_id, attempt, undo, outcome, body, calls, instance, seconds,
                                       waited)
        SELECT order_id, step_id, attempt, undo, outcome, body::jsonb, calls, %(me)s, seconds,
               greatest(0, round((extract(epoch FROM clock_timestamp() - posted_at) - seconds)::numeric, 3))
          FROM answered WHERE outcome <> %(abandoned)s AND complete_by > clock_timestamp()
        """,
        {
            "answers": recordset(answer._asdict() for answer in answers),
            "me": me,
            "abandoned": ReplyOutcome.ABANDONED,
        },
    )


def renew(held: Sequence[tuple[int, int]], *, me: str, seconds: float) -> set[tuple[int, int]]:
    """Extends the leases of (id, deliveries); returns those that are confirmed. The others are lost."""
    if not held:
        return set()
    rows = fetch(
        """
        WITH held AS MATERIALIZED (
            SELECT r.id FROM orders_agentrequest AS r
              JOIN json_to_recordset(%(held)s::json) AS v(id bigint, deliveries smallint)
                ON r.id = v.id AND r.deliveries = v.deliveries
             WHERE r.leased_by = %(me)s ORDER BY r.id FOR UPDATE OF r
        )
        UPDATE orders_agentrequest SET leased_until = clock_timestamp() + %(seconds)s * interval '1 second'
         WHERE id IN (SELECT id FROM held)
     RETURNING id, deliveries
        """,
        {"held": _held(held), "me": me, "seconds": seconds},
    )
    return {(row_id, deliveries) for row_id, deliveries in rows}


def release(held: Sequence[tuple[int, int]], *, me: str) -> int:
    """Gives back requests that this instance will not finish, so that another host can claim them at once.

    The delivery stays counted. A call may have taken effect, so the request must never again count as not begun.
    """
    return run(
        """
        WITH held AS MATERIALIZED (
            SELECT r.id FROM orders_agentrequest AS r
              JOIN json_to_recordset(%(held)s::json) AS v(id bigint, deliveries smallint)
                ON r.id = v.id AND r.deliveries = v.deliveries
             WHERE r.leased_by = %(me)s ORDER BY r.id FOR UPDATE OF r
        )
        UPDATE orders_agentrequest SET leased_by = NULL, leased_until = NULL WHERE id IN (SELECT id FROM held)
        """,
        {"held": _held(held), "me": me},
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
    """Frees the requests whose leases have lapsed; returns how many. At most 500 a time keeps the transaction short."""
    return run(
        """
        UPDATE orders_agentrequest SET leased_by = NULL, leased_until = NULL
         WHERE id = ANY(ARRAY(SELECT id FROM orders_agentrequest WHERE leased_until < clock_timestamp()
                               ORDER BY leased_until LIMIT 500 FOR UPDATE SKIP LOCKED))
        """
    )


def delete_expired() -> int:
    """Deletes requests that nobody holds and nobody may answer any more, at most 500 a time; returns how many."""
    return run(
        """
        DELETE FROM orders_agentrequest
         WHERE id = ANY(ARRAY(SELECT id FROM orders_agentrequest
                               WHERE leased_until IS NULL AND complete_by < clock_timestamp() - interval '1 second'
                               ORDER BY id LIMIT 500 FOR UPDATE SKIP LOCKED))
        """
    )
