"""Locking, claiming and reading the rows that a transaction decides on.

Except for `lock_one`, nothing here waits for a lock: rows that another transaction has locked are skipped.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.contracts import Workflows
from orders.engine.rows import ProcessRow
from orders.engine.runtime.sql import avoid_sorts, fetch, recordset
from orders.engine.runtime.statements import Cursor, Rows, Sent, array, known, rows_of, send
from orders.models import OrderProcess

SUPPORTED = """EXISTS (
                         SELECT 1
                           FROM json_to_recordset(%(workflows)s::json)
                             AS workflow (name text, version smallint, fingerprint text)
                          WHERE workflow.name = p.workflow
                            AND workflow.version = p.version
                            AND p.fingerprint IN (workflow.fingerprint, '')
                     )"""
"""Whether the order `p` is on a workflow that this release has (rule 10). See `workflow_parameters`.

Orders from before there were fingerprints have none.
"""
WAITING_STEPS = f"""
                  SELECT s.order_id, s.priority, s.waiting_since, s.wanted_since
                    FROM orders_stepstate AS s
                    JOIN orders_orderprocess AS p ON p.order_id = s.order_id
                   WHERE s.agent = agents.agent
                     AND s.waiting_since IS NOT NULL
                     AND s.order_id <> ALL(%(except)s::uuid[])
                     AND p.process_state IN ('pending', 'processing')
                     AND {SUPPORTED}
"""
"""The steps that wait for the agent `agents.agent`, of orders that a scheduler may start steps of."""


_PROCESS = ", ".join(f"p.{name}" for name in ProcessRow._fields)


def processes_of(cursor: Cursor) -> list[ProcessRow]:
    """Reads the processes that a statement returns."""
    return [ProcessRow._make(row) for row in rows_of(cursor)]


def lock(order_ids: Collection[UUID], workflows: Workflows, *, limit: int | None = None) -> list[ProcessRow]:
    """Locks these orders, or `limit` of them, skipping those that another transaction has locked.

    The rows are locked in the order of their keys: no deadlocks. `NO KEY` lets others insert rows that refer to them.
    """
    return send_lock(order_ids, workflows, limit=limit).result()


def send_lock(
    order_ids: Collection[UUID], workflows: Workflows, *, limit: int | None = None
) -> Sent[list[ProcessRow]]:
    """The same, without waiting for what it finds."""
    if not order_ids:
        return known([])
    return send(
        f"""
        SELECT {_PROCESS}
          FROM orders_orderprocess AS p
         WHERE p.order_id = ANY(%(ids)s::uuid[])
           AND {SUPPORTED}
         ORDER BY p.order_id
         LIMIT %(limit)s::int
           FOR NO KEY UPDATE OF p SKIP LOCKED
        """,
        {"ids": array(order_ids), "limit": limit, **workflow_parameters(workflows)},
        processes_of,
    )


def any_supported(order_ids: Collection[UUID], workflows: Workflows) -> bool:
    """Whether any of these orders exists, locked or not, on a workflow that this release has."""
    return bool(
        fetch(
            f"""
            SELECT 1
              FROM orders_orderprocess AS p
             WHERE p.order_id = ANY(%(ids)s::uuid[])
               AND {SUPPORTED}
             LIMIT 1
            """,
            {"ids": array(order_ids), **workflow_parameters(workflows)},
        )
    )


def lock_one(order_id: UUID) -> ProcessRow | None:
    """Locks one order, waiting until it is free; None if there is no such order.

    For the acts of operators and customers, which must get an answer. The caller holds no other lock, so it cannot
    deadlock.
    """
    row = (
        OrderProcess.objects.select_for_update(no_key=True)
        .filter(order_id=order_id)
        .values_list(*ProcessRow._fields)
        .first()
    )
    return None if row is None else ProcessRow._make(row)


def claim(
    limit: int,
    workflows: Workflows,
    now: datetime,
    *,
    without: Collection[UUID] = (),
    since: datetime | None = None,
) -> list[ProcessRow]:
    """Locks up to `limit` orders that need a scheduler: those whose wait is over and those that are ready (C2).

    Of the ready ones only those placed at `since` or later, if it is given.

    Orders whose wait is over fill what the ready ones leave, and get an eighth at least. So thousands of retries that
    are due at once do not hold up new orders (F30), and new orders do not hold up the others for ever.

    Safe against a second claim of the same order: the row lock is exclusive, `SKIP LOCKED` skips what another scheduler
    is claiming, and PostgreSQL checks the condition again on the row once it is locked. Ready orders come by priority,
    then by age. Each list has its own partial index, so finished orders cost nothing.
    """
    return send_claim(limit, workflows, now, without=without, since=since).result().rows


class Claimed(NamedTuple):
    """The orders that a claim has locked, and in how many seconds the next wait of an order is over, if one waits."""

    rows: list[ProcessRow]
    next_due: float | None = None


def send_claim(
    limit: int,
    workflows: Workflows,
    now: datetime,
    *,
    without: Collection[UUID] = (),
    since: datetime | None = None,
) -> Sent[Claimed]:
    """The same, without waiting for what it finds."""
    few = min(limit, max(1, limit // 8))
    parameters = {
        "now": now,
        "since": since,
        "few": few,
        "limit": limit,
        **workflow_parameters(workflows, without),
    }
    avoid_sorts()
    sent = send(_CLAIM if since is None else _CLAIM_SINCE, parameters)

    def finish(rows_given: Rows) -> Claimed:
        *locked, (_, next_due, *_) = rows_given
        due = [ProcessRow._make(row) for kind, _, *row in locked if kind == "due"]
        rows = due + [ProcessRow._make(row) for kind, _, *row in locked if kind == "ready"]
        if len(due) == few and len(rows) < limit:
            others = [*without, *(row.order_id for row in rows)]
            more = {**parameters, "except": array(others), "few": limit - len(rows)}
            rows += send(_DUE, more, processes_of).result()
        return Claimed(rows, next_due)

    return sent.then(finish)


_DUE = f"""
            SELECT {_PROCESS}
              FROM orders_orderprocess AS p
             WHERE p.process_state IN ('pending', 'processing')
               AND p.not_before <= %(now)s::timestamptz
               AND p.order_id <> ALL(%(except)s::uuid[])
               AND {SUPPORTED}
             ORDER BY p.not_before
             LIMIT %(few)s::int
               FOR NO KEY UPDATE OF p SKIP LOCKED
"""
_CLAIM = f"""
        WITH due AS MATERIALIZED ({_DUE}
        ), ready AS MATERIALIZED (
            SELECT {_PROCESS}
              FROM orders_orderprocess AS p
             WHERE p.process_state = 'pending'
               AND p.not_before IS NULL
               AND p.order_id <> ALL(%(except)s::uuid[])
               AND {SUPPORTED}
             ORDER BY p.priority DESC, p.created_at
             LIMIT %(limit)s::int - (SELECT count(*) FROM due)
               FOR NO KEY UPDATE OF p SKIP LOCKED
        )
        SELECT 'due', NULL::float8, due.* FROM due
         UNION ALL
        SELECT 'ready', NULL, ready.* FROM ready
         UNION ALL
        SELECT 'next due', (SELECT extract(epoch FROM not_before - %(now)s::timestamptz)
                              FROM orders_orderprocess
                             WHERE process_state IN ('pending', 'processing')
                               AND not_before > %(now)s::timestamptz
                             ORDER BY not_before
                             LIMIT 1), {", ".join("NULL" for _ in ProcessRow._fields)}
"""
_CLAIM_SINCE = _CLAIM.replace(
    "AND p.not_before IS NULL", "AND p.not_before IS NULL AND p.created_at >= %(since)s::timestamptz"
)


def claim_waiting(
    rooms: Mapping[str, int],
    workflows: Workflows,
    already_locked: Collection[UUID],
    *,
    limit: int,
    retries: int,
) -> list[ProcessRow]:
    """Locks up to `limit` orders whose steps wait for these agents, at most as many per agent as it has room for.

    Of the steps that have failed before, at most `retries` per agent, so that those for which there is no budget do not
    fill the pass (F30). Those of higher priority come first, then those that have waited longest (A9). The orders are
    locked as they are chosen, so schedulers that choose at the same moment each find others. With several agents more
    may be locked than are returned, until the transaction ends.
    """
    if not rooms or limit <= 0:
        return []
    avoid_sorts()
    rows = fetch(
        f"""
        SELECT waiting.order_id
          FROM unnest(%(agents)s::text[], %(rooms)s::int[]) AS agents (agent, room),
               (VALUES (0, %(limit)s::int), (1, %(retries)s::int)) AS steps (failed, most),
               LATERAL (
                  {WAITING_STEPS}
                     AND least(s.failure_count + s.compensation_failure_count, 1) = steps.failed
                   ORDER BY s.priority DESC, s.wanted_since
                   LIMIT least(agents.room, steps.most)
                     FOR NO KEY UPDATE OF p SKIP LOCKED
               ) AS waiting
         GROUP BY waiting.order_id
         ORDER BY max(waiting.priority) DESC, min(waiting.wanted_since), waiting.order_id
         LIMIT %(limit)s::int
        """,
        {
            "agents": list(rooms),
            "rooms": [min(room, limit) for room in rooms.values()],
            "limit": limit,
            "retries": retries,
            **workflow_parameters(workflows, already_locked),
        },
    )
    return lock({order_id for (order_id,) in rows}, workflows)


def claim_probes(
    agents: Collection[str], workflows: Workflows, already_locked: Collection[UUID]
) -> list[ProcessRow]:
    """Locks one order for each of these agents, whose step can be the agent's probe.

    It is the step that has waited longest since it was last handed back. So a request that never succeeds is not the
    probe every time and does not keep the circuit open for the others.
    """
    if not agents:
        return []
    rows = fetch(
        f"""
        SELECT longest.order_id
          FROM unnest(%(agents)s::text[]) AS agents (agent),
               LATERAL (
                  {WAITING_STEPS}
                   ORDER BY s.waiting_since
                   LIMIT 1
                     FOR NO KEY UPDATE OF p SKIP LOCKED
               ) AS longest
        """,
        {"agents": list(agents), **workflow_parameters(workflows, already_locked)},
    )
    return lock({order_id for (order_id,) in rows}, workflows)


def workflow_parameters(workflows: Workflows, already_locked: Collection[UUID] = ()) -> dict[str, Any]:
    """The parameters of `SUPPORTED` and `WAITING_STEPS`."""
    rows = [
        {"name": name, "version": version, "fingerprint": workflow.fingerprint}
        for (name, version), workflow in workflows.items()
    ]
    return {"except": array(already_locked), "workflows": recordset(rows)}


def unannounced(limit: int, workflows: Workflows) -> list[ProcessRow]:
    """Locks orders that a supervisor has put into Error and whose applications do not know yet (Q3)."""
    return send(
        f"""
        SELECT {_PROCESS}
          FROM orders_orderprocess AS p
         WHERE NOT p.announced
           AND {SUPPORTED}
         ORDER BY p.order_id
         LIMIT %(limit)s::int
           FOR NO KEY UPDATE OF p SKIP LOCKED
        """,
        {"limit": limit, **workflow_parameters(workflows)},
        processes_of,
    ).result()
