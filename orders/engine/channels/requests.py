"""The request queue, as the scheduler uses it: posting requests, and recalling those that no agent has begun.

A statement that takes several requests locks them in the order of their ids, so that no two of them deadlock.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.channels.paused_steps import OF_A_PAUSED_STEP
from orders.engine.runtime.sql import fetch, recordset, run
from orders.engine.runtime.statements import array, send
from orders.vocabulary import ReplyOutcome

UNCLAIMED_MARGIN = 2.0
"""Seconds before complete-by at which a request that no host has claimed is handed back, or a fifth of its time."""
NOT_CLAIMED = {"code": "not_claimed", "message": "no agent host was free to take the request in time"}
PAUSED = {"code": "paused", "message": "an operator paused it before an agent host took the request"}


class NewRequest(NamedTuple):
    """A request for a step that has just been written as running or compensating."""

    step_id: int
    operation: str
    needs: str
    """The names of the steps whose results travel with the request, separated by commas."""
    compensates: bool
    key: str
    reverses: str
    priority: int
    is_repeat: bool = False
    """Whether an earlier attempt may have had the effect."""
    key_is_known: bool = True
    """Whether the remote service recognises a repeated call by its key."""
    result_fields: Mapping[str, str] | None = None
    """What the result must hold: types by names. None if that is not said."""


def post(new_requests: Sequence[NewRequest], *, by: str = "") -> None:
    """Posts requests of the scheduler `by`.

    Attempt, data and complete-by are copied from the step's row, so they cannot differ from it.
    The `results` in the body are those of the steps named in `needs`, and `reference` is that of the last `Pending`.
    `result_fields` are there if the step says what its result must hold.
    """
    if not new_requests:
        return
    send(
        f"""
        INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                         body, complete_by, priority, deliveries, posted_by, is_repeat,
                                         key_is_known)
        SELECT step.order_id, step.id, step.name, step.agent, new.operation, step.attempt, new.compensates, new.key,
               new.reverses,
               {_INPUT} || CASE WHEN step.awaits ? 'reference'
                         THEN jsonb_build_object('reference', step.awaits -> 'reference') ELSE '{{}}'::jsonb END
                 || CASE WHEN new.result_fields IS NULL THEN '{{}}'::jsonb
                         ELSE jsonb_build_object('result_fields', new.result_fields) END,
               step.complete_by, new.priority, 0, %(by)s::text, new.is_repeat, new.key_is_known
          FROM json_to_recordset(%(rows)s::json)
            AS new(step_id bigint, operation text, needs text, compensates boolean, key text, reverses text,
                   priority smallint, is_repeat boolean, key_is_known boolean, result_fields jsonb)
          JOIN orders_stepstate AS step
            ON step.id = new.step_id
         WHERE step.id = ANY(%(ids)s::bigint[])  -- otherwise all of a small table is read, and joined
        """,
        {
            "by": by,
            "rows": recordset(new._asdict() for new in new_requests),
            "ids": array(new.step_id for new in new_requests),
        },
    )


def inputs_of(new_requests: Sequence[NewRequest]) -> dict[int, dict[str, Any]]:
    """The `data` and `results` that requests would carry if they were posted now, by their steps. Nothing is posted."""
    if not new_requests:
        return {}
    rows = fetch(
        f"""
        SELECT step.id, {_INPUT}::text
          FROM json_to_recordset(%(rows)s::json) AS new(step_id bigint, needs text)
          JOIN orders_stepstate AS step
            ON step.id = new.step_id
        """,
        {"rows": recordset({"step_id": new.step_id, "needs": new.needs} for new in new_requests)},
    )
    return {step_id: json.loads(text) for step_id, text in rows}


_INPUT = """
               jsonb_build_object(
                   'data', step.request,
                   'results', CASE WHEN new.needs = '' THEN '{}'::jsonb ELSE (
                       SELECT coalesce(jsonb_object_agg(needed.name, needed.result), '{}'::jsonb)
                         FROM orders_stepstate AS needed
                        WHERE needed.order_id = step.order_id
                          AND needed.name = ANY(string_to_array(new.needs, ','))
                   ) END
               )
"""


def discard(step_ids: Sequence[int]) -> None:
    """Deletes what is left of these steps' earlier requests, before new ones are posted."""
    if step_ids:
        send(
            """
            WITH old AS MATERIALIZED (
                SELECT id
                  FROM orders_agentrequest
                 WHERE step_id = ANY(%s::bigint[])
                 ORDER BY id
                   FOR UPDATE
            )
            DELETE FROM orders_agentrequest
             WHERE id IN (SELECT id FROM old)
            """,
            [array(step_ids)],
        )


def recall(step_ids: Sequence[int]) -> set[int]:
    """Deletes the requests that no agent host has begun. Returns their steps.

    A host that gave a request back before it had called has not begun it.

    A request that a host is claiming at this moment is locked, so it is skipped and counts as begun.
    """
    if not step_ids:
        return set()
    free = fetch(
        """
        SELECT id
          FROM orders_agentrequest
         WHERE step_id = ANY(%s::bigint[])
           AND deliveries = settled_deliveries
           AND (deliveries = 0 OR NOT is_repeat)
         ORDER BY id
           FOR UPDATE SKIP LOCKED
        """,
        [array(step_ids)],
    )
    rows = fetch(
        """
        DELETE FROM orders_agentrequest
         WHERE id = ANY(%s::bigint[])
     RETURNING step_id
        """,
        [array(row_id for (row_id,) in free)],
    )
    return {step_id for (step_id,) in rows}


def hand_back_unclaimed(limit: int, *, by: str, start: int = 0) -> int:
    """Answers up to `limit` requests that no agent host has begun, shortly before their complete-by.

    The answer is that they are deferred: their steps wait, and no failure is counted, since nobody has called anything.
    Requests that a host is claiming at this moment are locked, so they are skipped, and so are those with an id below
    `start`. Returns how many were answered.
    """
    due = """
               AND id >= %(start)s
               AND complete_by > clock_timestamp()
               AND complete_by - least(%(margin)s * interval '1 second', (complete_by - posted_at) / 5)
                   < clock_timestamp()
             ORDER BY id
             LIMIT %(limit)s
    """
    which = {"start": start, "margin": UNCLAIMED_MARGIN, "limit": limit}
    return run(_HAND_BACK.format(which=due), {**which, **_deferred(NOT_CLAIMED, by)})


def hand_back_of(order_id: UUID, *, by: str) -> int:
    """Answers the forward requests of an order that no agent host has begun: they are deferred, as it is paused.

    A request that a host is claiming at this moment is locked, so it is skipped: its call is under way. Returns how
    many were answered.
    """
    own = "AND order_id = %(order_id)s AND NOT compensates ORDER BY id"
    return run(_HAND_BACK.format(which=own), {"order_id": order_id, **_deferred(PAUSED, by)})


def hand_back_paused(limit: int, *, by: str, start: int = 0) -> int:
    """Answers up to `limit` requests of paused steps that no agent host has begun, as `hand_back_unclaimed` does."""
    which = f"""
               AND id >= %(start)s
               AND {OF_A_PAUSED_STEP}
             ORDER BY id
             LIMIT %(limit)s
    """
    values = {"start": start, "limit": limit, **_deferred(PAUSED, by)}
    return run(_HAND_BACK.format(which=which), values)


def _deferred(cause: Mapping[str, str], by: str) -> dict[str, str]:
    return {"outcome": ReplyOutcome.DEFERRED.value, "cause": json.dumps(cause), "by": by}


_HAND_BACK = """
        WITH unclaimed AS MATERIALIZED (
            SELECT id
              FROM orders_agentrequest
             WHERE deliveries = settled_deliveries
               AND (deliveries = 0 OR NOT is_repeat)
               AND leased_until IS NULL
               {which}
               FOR UPDATE SKIP LOCKED
        ), handed_back AS (
            DELETE FROM orders_agentrequest
             WHERE id IN (SELECT id FROM unclaimed)
         RETURNING order_id, step_id, attempt, compensates, posted_at
        )
        INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance, seconds,
                                       waited)
        SELECT order_id, step_id, attempt, compensates, %(outcome)s, %(cause)s::jsonb, 0, %(by)s, 0,
               round(extract(epoch FROM clock_timestamp() - posted_at)::numeric, 3)
          FROM handed_back
"""


def set_priority(order_id: UUID, priority: int) -> int:
    """Changes the priority of an order's requests that no agent host holds. Returns how many there were.

    Requests that a host is claiming at this moment are locked, so they are skipped: they are no longer waiting.
    """
    return run(
        """
        WITH free AS MATERIALIZED (
            SELECT id
              FROM orders_agentrequest
             WHERE order_id = %s
               AND leased_until IS NULL
             ORDER BY id
               FOR UPDATE SKIP LOCKED
        )
        UPDATE orders_agentrequest
           SET priority = %s
         WHERE id IN (SELECT id FROM free)
        """,
        [order_id, priority],
    )
