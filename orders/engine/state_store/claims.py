"""Locking, claiming and reading the rows that a transaction is going to decide on."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from orders.engine.contracts import WorkflowKey
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import fetch, run
from orders.models import OrderProcess
from orders.vocabulary import ProcessState


def _known(workflows: Collection[WorkflowKey]) -> Q:
    """Orders on a workflow that this release does not know are left to one that does (rule 10)."""
    known = Q(pk__in=[])
    for name, version in workflows:
        known |= Q(workflow=name, version=version)
    return known


def lock(order_ids: Collection[UUID], workflows: Collection[WorkflowKey]) -> list[ProcessRow]:
    """Locks these orders, leaving out any that somebody else has in hand at this moment.

    The rows are locked in the order of their keys, without waiting; `no_key` lets rows that refer to them be inserted
    meanwhile.
    """
    if not order_ids:
        return []
    rows = (
        OrderProcess.objects.select_for_update(skip_locked=True, no_key=True)
        .filter(_known(workflows), order_id__in=order_ids)
        .order_by("order_id")
        .values_list(*ProcessRow._fields)
    )
    return [ProcessRow._make(row) for row in rows]


def are_known(order_ids: Collection[UUID], workflows: Collection[WorkflowKey]) -> bool:
    """Whether any of these orders is there and on a workflow that this release knows, locked or not."""
    return OrderProcess.objects.filter(_known(workflows), order_id__in=order_ids).exists()


def lock_one(order_id: UUID) -> ProcessRow | None:
    """Locks one order, waiting for whoever has it in hand; None if there is no such order.

    For operators' and customers' acts, which want an answer. Whoever waits holds no other lock, so it cannot deadlock.
    """
    row = (
        OrderProcess.objects.select_for_update(no_key=True)
        .filter(order_id=order_id)
        .values_list(*ProcessRow._fields)
        .first()
    )
    return None if row is None else ProcessRow._make(row)


def claim(limit: int, workflows: Collection[WorkflowKey], now: datetime) -> list[ProcessRow]:
    """Locks up to `limit` orders that want a scheduler: first those whose wait is over, then the ready ones (C2).

    Safe against a second claim of the same order: the row lock is exclusive, `skip_locked` passes over what another
    scheduler is claiming, and PostgreSQL checks the condition again on the row that it has locked. Ready orders come by
    priority and then by age, and each list has its own partial index, so finished orders cost nothing.
    """
    free = OrderProcess.objects.select_for_update(skip_locked=True, no_key=True).filter(_known(workflows))
    due = free.filter(
        process_state__in=[ProcessState.PENDING, ProcessState.PROCESSING], not_before__lte=now
    ).order_by("not_before")
    rows = [ProcessRow._make(row) for row in due.values_list(*ProcessRow._fields)[:limit]]
    if len(rows) < limit:
        # After a quiet day the planner expects few ready orders, and would sort a burst of them at every claim.
        run("SET LOCAL enable_sort = off")
        ready = free.filter(process_state=ProcessState.PENDING, not_before__isnull=True).order_by(
            "-priority", "order_id"
        )
        rows += [ProcessRow._make(row) for row in ready.values_list(*ProcessRow._fields)[: limit - len(rows)]]
    return rows


def claim_waiting(
    rooms: Mapping[str, int],
    workflows: Collection[WorkflowKey],
    passing_over: Collection[UUID],
    *,
    limit: int,
) -> list[ProcessRow]:
    """Locks up to `limit` orders whose steps wait for these agents, at most as many as each has room for, those of
    higher priority first and then the oldest (A9).

    The ids are chosen first and locked then, without waiting. `passing_over` are orders that are locked already.
    """
    if not rooms or limit <= 0:
        return []
    chosen = fetch(
        """
        SELECT free.order_id
          FROM unnest(%s::text[], %s::int[]) AS wanted(agent, room),
               LATERAL (SELECT s.order_id, s.priority FROM orders_stepstate AS s
                          JOIN orders_orderprocess AS p ON p.order_id = s.order_id
                         WHERE s.agent = wanted.agent AND s.waiting_since IS NOT NULL
                           AND s.order_id <> ALL(%s::uuid[]) AND p.process_state IN ('pending', 'processing')
                           AND (p.workflow, p.version) IN (SELECT * FROM unnest(%s::text[], %s::smallint[]))
                         ORDER BY s.priority DESC, s.order_id LIMIT wanted.room) AS free
         GROUP BY free.order_id ORDER BY max(free.priority) DESC, free.order_id LIMIT %s
        """,
        [
            list(rooms),
            [min(room, limit) for room in rooms.values()],
            list(passing_over),
            [name for name, _ in workflows],
            [version for _, version in workflows],
            limit,
        ],
    )
    return lock({order_id for (order_id,) in chosen}, workflows)


def claim_probes(
    agents: Collection[str], workflows: Collection[WorkflowKey], passing_over: Collection[UUID]
) -> list[ProcessRow]:
    """Locks an order for each of these agents whose step can be its probe: the one that has waited longest since it was
    last handed back. So a request that never succeeds is not the probe each time, and holds up no others."""
    if not agents:
        return []
    chosen = fetch(
        """
        SELECT longest.order_id
          FROM unnest(%s::text[]) AS wanted(agent),
               LATERAL (SELECT s.order_id FROM orders_stepstate AS s
                          JOIN orders_orderprocess AS p ON p.order_id = s.order_id
                         WHERE s.agent = wanted.agent AND s.waiting_since IS NOT NULL
                           AND s.order_id <> ALL(%s::uuid[]) AND p.process_state IN ('pending', 'processing')
                           AND (p.workflow, p.version) IN (SELECT * FROM unnest(%s::text[], %s::smallint[]))
                         ORDER BY s.waiting_since LIMIT 1) AS longest
        """,
        [
            list(agents),
            list(passing_over),
            [name for name, _ in workflows],
            [version for _, version in workflows],
        ],
    )
    return lock({order_id for (order_id,) in chosen}, workflows)


def unannounced(limit: int, workflows: Collection[WorkflowKey]) -> list[ProcessRow]:
    """Locks orders that a supervisor put into Error and whose applications have not been told yet (Q3)."""
    rows = (
        OrderProcess.objects.select_for_update(skip_locked=True, no_key=True)
        .filter(_known(workflows), announced=False)
        .order_by("order_id")
        .values_list(*ProcessRow._fields)[:limit]
    )
    return [ProcessRow._make(row) for row in rows]


def overdue(limit: int, now: datetime, *, passing_over: Collection[UUID] = ()) -> list[UUID]:
    """Orders that have passed their own complete-by time or one of a step's (V1), the longest overdue first.

    Nothing is locked yet. `passing_over` are orders that the caller has found it cannot have.
    """
    found = fetch(
        """
        SELECT order_id FROM (
            (SELECT order_id, complete_by FROM orders_stepstate
              WHERE complete_by <= %(now)s AND order_id <> ALL(%(over)s::uuid[])
              ORDER BY complete_by LIMIT %(limit)s)
            UNION ALL
            (SELECT order_id, complete_by FROM orders_orderprocess
              WHERE process_state = 'processing' AND complete_by <= %(now)s AND order_id <> ALL(%(over)s::uuid[])
              ORDER BY complete_by LIMIT %(limit)s)
        ) AS late GROUP BY order_id ORDER BY min(complete_by) LIMIT %(limit)s
        """,
        {"now": now, "limit": limit, "over": list(passing_over)},
    )
    return [order_id for (order_id,) in found]


def steps_of(order_ids: Iterable[UUID]) -> dict[UUID, list[StepRow]]:
    """The steps of these orders, each in the order of its workflow. To be called with the processes locked."""
    found: dict[UUID, list[StepRow]] = {order_id: [] for order_id in order_ids}
    if found:
        rows = fetch(
            f"SELECT {', '.join(StepRow._fields)} FROM orders_stepstate"
            " WHERE order_id = ANY(%s) ORDER BY order_id, position",
            [list(found)],
        )
        for row in rows:
            step = StepRow._make(row)
            if step.error is not None:
                step = step._replace(error=json.loads(str(step.error)))
            found[step.order_id].append(step)
    return found
