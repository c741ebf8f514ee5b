"""Moving orders to a newer version of their workflow: which ones there are, and writing what was decided."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from orders.engine.contracts import Workflow
from orders.engine.moving import PlacedStep, Transfer
from orders.engine.rows import ProcessRow
from orders.engine.runtime.sql import fetch, recordset, run
from orders.engine.state_store.writes import insert_steps

UNFINISHED = "process_state IN ('pending', 'processing', 'error')"


class Candidate(NamedTuple):
    """An unfinished order of a version, and the fingerprint of the workflow that it is on."""

    row: ProcessRow
    fingerprint: str


class MovedOrder(NamedTuple):
    """An order that this transaction has locked, and what moving it changes."""

    row: ProcessRow
    transfer: Transfer


def orders_on(workflow: Workflow) -> list[UUID]:
    """The unfinished orders on this version, in the order of their ids. Nothing is locked."""
    rows = fetch(
        f"""
        SELECT order_id
          FROM orders_orderprocess
         WHERE {UNFINISHED} AND workflow = %s AND version = %s
         ORDER BY order_id
        """,
        [workflow.name, workflow.version],
    )
    return [order_id for (order_id,) in rows]


def read_candidates(order_ids: Collection[UUID], workflow: Workflow) -> list[Candidate]:
    """Those of these orders that are unfinished and on this version now. Nothing is locked."""
    return _candidates(order_ids, workflow, "")


def lock_candidates(order_ids: Collection[UUID], workflow: Workflow) -> list[Candidate]:
    """The same, locked until the transaction ends, without those that another transaction has locked."""
    return _candidates(order_ids, workflow, "FOR NO KEY UPDATE SKIP LOCKED")


def _candidates(order_ids: Collection[UUID], workflow: Workflow, lock: str) -> list[Candidate]:
    rows = fetch(
        f"""
        SELECT {", ".join(ProcessRow._fields)}, fingerprint
          FROM orders_orderprocess
         WHERE order_id = ANY(%s::uuid[]) AND {UNFINISHED} AND workflow = %s AND version = %s
         ORDER BY order_id {lock}
        """,
        [list(order_ids), workflow.name, workflow.version],
    )
    return [Candidate(ProcessRow._make(columns), fingerprint) for *columns, fingerprint in rows]


def write_moves(orders: Sequence[MovedOrder], workflow: Workflow) -> None:
    """Puts orders that the caller has locked on this version. Those that wait for a time are due at once."""
    dropped = [step.id for order in orders for step in order.transfer.dropped]
    if dropped:
        run("DELETE FROM orders_stepstate WHERE id = ANY(%s)", [dropped])
    _place([step for order in orders for step in order.transfer.steps])
    insert_steps(
        {
            "order_id": order.row.order_id,
            "name": step.name,
            "position": step.position,
            "agent": step.agent,
            "request": step.request,
            "priority": order.row.priority,
            "awaits_until": step.awaits_until,
        }
        for order in orders
        for step in order.transfer.steps
        if step.stored is None
    )
    run(
        """
        UPDATE orders_orderprocess
           SET version = %s,
               fingerprint = %s,
               not_before = CASE WHEN process_state = 'pending' AND not_before IS NOT NULL THEN clock_timestamp()
                                 ELSE not_before END
         WHERE order_id = ANY(%s::uuid[])
        """,
        [workflow.version, workflow.fingerprint, [order.row.order_id for order in orders]],
    )


def _place(steps: Sequence[PlacedStep]) -> None:
    """Writes what changes of the steps that are there. A request that an operator has edited stays as it is.

    A step that another agent is to carry out now has not waited for that one yet.
    """
    rows = [
        {
            "id": step.stored.id,
            "name": step.name,
            "position": step.position,
            "agent": step.agent,
            "request": step.request,
            "awaits_until": step.awaits_until,
            "kept_fields": step.kept_fields,
        }
        for step in steps
        if step.stored is not None
    ]
    run(
        """
        UPDATE orders_stepstate AS s
           SET name = v.name,
               position = v.position,
               agent = v.agent,
               request = CASE WHEN v.request IS NULL OR s.original IS NOT NULL THEN s.request
                              ELSE v.request || (SELECT coalesce(jsonb_object_agg(key, value), '{}')
                                                   FROM jsonb_each(s.request)
                                                  WHERE jsonb_exists(v.kept_fields, key)) END,
               awaits_until = CASE WHEN v.request IS NULL THEN s.awaits_until ELSE v.awaits_until END,
               waiting_since = CASE WHEN s.agent = v.agent THEN s.waiting_since END,
               wanted_since = CASE WHEN s.agent = v.agent THEN s.wanted_since END
          FROM json_to_recordset(%s::json)
            AS v(id bigint, name text, position smallint, agent text, request jsonb, awaits_until timestamptz,
                 kept_fields jsonb)
         WHERE s.id = v.id
           AND s.id = ANY(%s::bigint[])
        """,
        [recordset(rows), [row["id"] for row in rows]],
    )
