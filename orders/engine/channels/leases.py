"""The request queue, as agent hosts use it: requests are leased, as with a peek-lock (rule 3).

Each claim counts as a delivery, and the number of the delivery fences the lease: to complete, renew or release a
request, a host must still hold that very delivery. When a lease lapses, another host can claim the request. Statements
that take several requests either lock them in the order of their ids or skip those that are locked, so that no two of
them deadlock.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from orders.engine.channels.paused_steps import ANY_PAUSE, NOT_BEGUN, OF_A_PAUSED_STEP
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime.sql import fetch, recordset, run
from orders.engine.runtime.statements import Cursor, Sent, array, known, rows_of, send
from orders.vocabulary import ReplyOutcome

SUSPECT_LAPSES = 2
"""A request whose lease has lapsed this often may be killing its hosts, so a host runs few of them at once. A single
lapse may be chance: a machine that failed. A request that is given back in an orderly stop has not lapsed."""

Operations: TypeAlias = Mapping[str, Collection[str]]
"""The operations of each agent that says which it has."""
ANY_OPERATION: Operations = {}


class Lease(NamedTuple):
    """A claimed request. `seconds_left` is the time to its complete-by, by the database's clock; `lapses` is how often
    its lease has lapsed."""

    id: int
    deliveries: int
    order_id: UUID
    step: str
    agent: str
    operation: str
    attempt: int
    compensates: bool
    key: str
    reverses: str
    body: Any
    seconds_left: float
    lapses: int = 0
    is_repeat: bool = False
    """Whether an earlier attempt, or a delivery that was given back, may have had the effect."""
    key_is_known: bool = True
    """Whether the remote service recognises a repeated call by its key."""
    settled: int = 0
    """How many earlier deliveries were given back with no call under way."""

    @property
    def may_be_under_way(self) -> bool:
        """Whether a call of an earlier delivery may still be under way."""
        return self.deliveries - 1 > self.settled

    @property
    def may_be_begun(self) -> bool:
        """Whether a host of an earlier delivery may have called."""
        return self.may_be_under_way or (self.deliveries > 1 and self.is_repeat)


class GivenBack(NamedTuple):
    """A leased request that its host will not finish: the delivery, and what the host knows of its calls."""

    id: int
    deliveries: int
    has_called: bool = True
    is_under_way: bool = True
    """Whether one of those calls may still have its effect."""


class Answer(NamedTuple):
    """How a leased request ended (see `ReplyOutcome`). An abandoned request is deleted without a reply (A5)."""

    id: int
    deliveries: int
    outcome: ReplyOutcome
    body: str
    calls: int
    seconds: float = 0.0
    exchange: Mapping[str, Any] | None = None
    """What was sent and answered, if the call succeeded and the agent has said so."""


def claim(
    *,
    room: Mapping[str, int],
    me: str,
    seconds: float,
    start: int = 0,
    operations: Operations = ANY_OPERATION,
) -> list[Lease]:
    """Leases free requests with an id of at least `start`, at most `room` for each agent, higher priority first (A9).

    Requests for operations that this host's agents do not have are left to a newer host (rule 10). Those of paused
    steps are left to the schedulers, unless a host has begun them.

    Safe with many hosts: the rows are locked with SKIP LOCKED. They are chosen first and then updated by id, because an
    UPDATE whose condition has a LIMIT may take more rows than the limit.
    """
    return send_claim(room=room, me=me, seconds=seconds, start=start, operations=operations).result()


def send_claim(
    *,
    room: Mapping[str, int],
    me: str,
    seconds: float,
    start: int = 0,
    operations: Operations = ANY_OPERATION,
) -> Sent[list[Lease]]:
    """The same, without waiting for what it finds."""
    free_room = {agent: free for agent, free in room.items() if free > 0}
    if not free_room:
        return known([])
    agents, offers = offers_of(operations)
    return send(
        f"""
        WITH free AS MATERIALIZED (
            SELECT free.id
              FROM unnest(%(agents)s::text[], %(rooms)s::int[]) AS agents(agent, room),
                   LATERAL (
                       SELECT id
                         FROM orders_agentrequest
                        WHERE agent = agents.agent
                          AND id >= %(start)s::bigint
                          AND leased_until IS NULL
                          AND lapses < {SUSPECT_LAPSES}
                          AND (agent <> ALL(%(picky)s::text[]) OR agent || '/' || operation = ANY(%(offers)s::text[]))
                          AND complete_by > clock_timestamp()
                          AND NOT ({ANY_PAUSE} AND {NOT_BEGUN} AND {OF_A_PAUSED_STEP})
                        ORDER BY priority DESC, id
                        LIMIT agents.room
                          FOR UPDATE SKIP LOCKED
                   ) AS free
        )
        {_LEASE} = ANY(ARRAY(SELECT id FROM free)) {_LEASED}
        """,
        {
            "agents": list(free_room),
            "rooms": list(free_room.values()),
            "start": start,
            "picky": agents,
            "offers": offers,
            "me": me,
            "seconds": seconds,
        },
        _leases_of,
    )


def offers_of(operations: Operations) -> tuple[list[str], list[str]]:
    """The agents that say which operations they have, and these, as agent/operation."""
    offers = [f"{agent}/{operation}" for agent, names in operations.items() for operation in names]
    return list(operations), offers


_LEASE = """UPDATE orders_agentrequest
           SET leased_by = %(me)s::text,
               leased_until = clock_timestamp() + %(seconds)s::float8 * interval '1 second',
               deliveries = deliveries + 1
         WHERE id"""
_LEASED = """
     RETURNING id, deliveries, order_id, step, agent, operation, attempt, compensates, key, reverses, body,
               extract(epoch FROM complete_by - clock_timestamp())::float8, lapses, is_repeat, key_is_known,
               settled_deliveries"""


def _leases_of(cursor: Cursor) -> list[Lease]:
    new_leases = [Lease._make(row) for row in rows_of(cursor)]
    new_leases = [lease._replace(body=json.loads(lease.body)) for lease in new_leases]
    return sorted(new_leases, key=lambda lease: lease.id)


def lease_if_free(ids: list[int], *, me: str, seconds: float) -> list[Lease]:
    """Leases requests that were chosen without locks. Leaves out those that another host has taken in between."""
    if not ids:
        return []
    return send(
        f"""
        WITH free AS MATERIALIZED (
            SELECT id
              FROM orders_agentrequest
             WHERE id = ANY(%(ids)s::bigint[])
               AND leased_until IS NULL
               AND complete_by > clock_timestamp()
               AND NOT ({ANY_PAUSE} AND {NOT_BEGUN} AND {OF_A_PAUSED_STEP})
             ORDER BY id
               FOR UPDATE SKIP LOCKED
        )
        {_LEASE} = ANY(ARRAY(SELECT id FROM free)) {_LEASED}
        """,
        {"ids": array(ids), "me": me, "seconds": seconds},
        _leases_of,
    ).result()


def complete(answers: Sequence[Answer], *, me: str) -> int:
    """Deletes the requests, posts their replies and wakes the schedulers, in one statement. Returns how many replies
    were posted.

    A reply is posted only by the holder of the delivery, and only before complete-by by the database's clock (A4, A5).
    `held` locks the requests in the order of their ids, and the DELETE checks holder and delivery again.
    """
    if not answers:
        return 0
    ((posted_count, _),) = fetch(
        f"""
        WITH answer AS (
            SELECT *
              FROM json_to_recordset(%(answers)s::json)
                AS answer(id bigint, deliveries smallint, outcome text, body text, calls int, seconds float8,
                          exchange jsonb)
        ), held AS MATERIALIZED (
            SELECT request.id
              FROM orders_agentrequest AS request
             WHERE request.id IN (SELECT id FROM answer)
               AND request.leased_by = %(me)s::text
             ORDER BY request.id
               FOR UPDATE
        ), answered AS (
            DELETE FROM orders_agentrequest AS request
             USING answer
             WHERE request.id = answer.id
               AND request.id IN (SELECT id FROM held)
               AND request.leased_by = %(me)s::text
               AND request.deliveries = answer.deliveries
         RETURNING request.order_id, request.step_id, request.attempt, request.compensates, request.complete_by,
                   request.posted_at, answer.outcome, answer.body, answer.calls, answer.seconds, answer.exchange
        ), posted AS (
            INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance,
                                           seconds, exchange, waited)
            SELECT order_id, step_id, attempt, compensates, outcome, body::jsonb, calls, %(me)s::text, seconds,
                   exchange,
                   greatest(0, round((extract(epoch FROM clock_timestamp() - posted_at) - seconds)::numeric, 3))
              FROM answered
             WHERE outcome <> '{ReplyOutcome.ABANDONED.value}'
               AND complete_by > clock_timestamp()
         RETURNING 1
        )
        SELECT number, CASE WHEN number > 0 THEN pg_notify('{Topic.SCHEDULER.channel}', '')::text END
          FROM (SELECT count(*) AS number FROM posted) AS counted
        """,
        {"answers": recordset(answer._asdict() for answer in answers), "me": me},
    )
    return int(posted_count)


def renew(held: Sequence[tuple[int, int]], *, me: str, seconds: float) -> set[tuple[int, int]]:
    """Extends leases, each given as (id, deliveries). Returns those that it extended; the others are lost."""
    if not held:
        return set()
    rows = fetch(
        """
        WITH held AS MATERIALIZED (
            SELECT request.id
              FROM orders_agentrequest AS request
              JOIN json_to_recordset(%(held)s::json) AS lease(id bigint, deliveries smallint)
                ON request.id = lease.id AND request.deliveries = lease.deliveries
             WHERE request.leased_by = %(me)s::text
             ORDER BY request.id
               FOR UPDATE OF request
        )
        UPDATE orders_agentrequest
           SET leased_until = clock_timestamp() + %(seconds)s::float8 * interval '1 second'
         WHERE id IN (SELECT id FROM held)
     RETURNING id, deliveries
        """,
        {
            "held": recordset({"id": row_id, "deliveries": number} for row_id, number in held),
            "me": me,
            "seconds": seconds,
        },
    )
    return {(row_id, deliveries) for row_id, deliveries in rows}


def release(given_back: Sequence[GivenBack], *, me: str) -> int:
    """Gives back requests that this instance will not finish, so that another host can claim them at once.

    The delivery stays counted. If a call was made the request is a repeat from now on, and if none is under way the
    delivery is settled. Returns how many were given back.
    """
    return run(
        """
        WITH held AS MATERIALIZED (
            SELECT request.id, lease.has_called, lease.is_under_way
              FROM orders_agentrequest AS request
              JOIN json_to_recordset(%(given_back)s::json)
                AS lease(id bigint, deliveries smallint, has_called boolean, is_under_way boolean)
                ON request.id = lease.id AND request.deliveries = lease.deliveries
             WHERE request.leased_by = %(me)s::text
             ORDER BY request.id
               FOR UPDATE OF request
        )
        UPDATE orders_agentrequest AS request
           SET leased_by = NULL,
               leased_until = NULL,
               is_repeat = request.is_repeat OR held.has_called,
               settled_deliveries = request.settled_deliveries + CASE WHEN held.is_under_way THEN 0 ELSE 1 END
          FROM held
         WHERE request.id = held.id
        """,
        {"given_back": recordset(request._asdict() for request in given_back), "me": me},
    )
