"""Writing the state store: a fixed number of statements for any number of orders."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.contracts import Accepted
from orders.engine.errors import StateConflict
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.sql import columns, fetch, run


class StepWrite(NamedTuple):
    """A step as it is to be, the attempt it was read with, and the answer to keep with it (JSON text)."""

    step: StepRow
    read_attempt: int
    result: str | None = None


def write_steps(writes: Sequence[StepWrite]) -> None:
    """Writes steps whose processes are locked. Raises `StateConflict` if one is no longer as it was read."""
    if not writes:
        return
    rows = [
        (
            write.step.id,
            write.read_attempt,
            write.step.state,
            write.step.attempt,
            write.step.answered,
            write.step.generation,
            write.step.undo_generation,
            write.step.outcome,
            write.step.complete_by,
            write.step.settles_at,
            write.step.not_before,
            write.step.failure_count,
            write.step.undo_failure_count,
            write.step.extended_waits,
            None if write.step.error is None else json.dumps(write.step.error),
            write.result,
        )
        for write in writes
    ]
    written = run(
        """
        UPDATE orders_stepstate AS s
           SET state = v.state, attempt = v.attempt, answered = v.answered, generation = v.generation,
               undo_generation = v.undo_generation, outcome = v.outcome, complete_by = v.complete_by,
               settles_at = v.settles_at, not_before = v.not_before, failure_count = v.failure_count,
               undo_failure_count = v.undo_failure_count, extended_waits = v.extended_waits,
               error = v.error::jsonb, result = coalesce(v.result::jsonb, s.result),
               started_at = CASE WHEN v.state = 'running' THEN coalesce(s.started_at, clock_timestamp())
                                 ELSE s.started_at END,
               completed_at = CASE WHEN v.state = 'completed' THEN coalesce(s.completed_at, clock_timestamp())
                                   ELSE s.completed_at END
          FROM unnest(%s::bigint[], %s::int[], %s::text[], %s::int[], %s::int[], %s::int[], %s::int[], %s::text[],
                      %s::timestamptz[], %s::timestamptz[], %s::timestamptz[], %s::int[], %s::int[], %s::int[],
                      %s::text[], %s::text[])
            AS v(id, read_attempt, state, attempt, answered, generation, undo_generation, outcome,
                 complete_by, settles_at, not_before, failure_count, undo_failure_count, extended_waits,
                 error, result)
         WHERE s.id = v.id AND s.attempt = v.read_attempt
        """,
        columns(rows, 16),
    )
    if written != len(rows):
        raise StateConflict(
            f"{len(rows) - written} of {len(rows)} steps changed while their orders were locked"
        )


def write_processes(processes: Sequence[ProcessRow]) -> None:
    """Writes processes that this transaction has locked."""
    if not processes:
        return
    rows = [
        (
            row.order_id,
            row.goal,
            row.process_state,
            row.locked_by,
            row.complete_by,
            row.failure_count,
            row.overruns,
            row.priority,
            row.not_before,
            row.started_at,
            row.announced,
        )
        for row in processes
    ]
    run(
        """
        UPDATE orders_orderprocess AS p
           SET goal = v.goal, process_state = v.process_state, locked_by = v.locked_by, complete_by = v.complete_by,
               failure_count = v.failure_count, overruns = v.overruns, priority = v.priority,
               not_before = v.not_before, started_at = v.started_at, announced = v.announced,
               finished_at = CASE WHEN v.process_state IN ('processed', 'compensated') THEN clock_timestamp() END
          FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::int[], %s::int[],
                      %s::smallint[], %s::timestamptz[], %s::timestamptz[], %s::boolean[])
            AS v(order_id, goal, process_state, locked_by, complete_by, failure_count, overruns, priority,
                 not_before, started_at, announced)
         WHERE p.order_id = v.order_id
        """,
        columns(rows, 11),
    )


def create_processes(accepted: Collection[Accepted]) -> None:
    """Inserts the records of new orders: one process each, Pending and free (T3), and one record per step (T4)."""
    run(
        """
        INSERT INTO orders_orderprocess (order_id, workflow, version, goal, process_state, failure_count, overruns,
                                         priority, reply_to, announced)
        SELECT order_id, workflow, version, 'complete', 'pending', 0, 0, priority, reply_to, true
          FROM unnest(%s::uuid[], %s::text[], %s::smallint[], %s::smallint[], %s::text[])
            AS v(order_id, workflow, version, priority, reply_to)
        """,
        columns(
            [
                (new.submission.order_id, new.workflow.name, new.workflow.version, new.priority, new.reply_to)
                for new in accepted
            ],
            5,
        ),
    )
    run(
        """
        INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                      undo_generation, outcome, failure_count, undo_failure_count, extended_waits)
        SELECT order_id, name, position, agent, request::jsonb, 'not_started', 0, 0, 1, 1, 'none', 0, 0, 0
          FROM unnest(%s::uuid[], %s::text[], %s::smallint[], %s::text[], %s::text[])
            AS v(order_id, name, position, agent, request)
        """,
        columns(
            [
                (
                    new.submission.order_id,
                    step.name,
                    position,
                    step.agent,
                    json.dumps(step.data(new.description)),
                )
                for new in accepted
                for position, step in enumerate(new.workflow.steps)
            ],
            5,
        ),
    )


def record_events(events: Iterable[EventRow]) -> None:
    """Appends to the orders' histories."""
    rows = [
        (
            event.order_id,
            event.kind,
            event.step,
            event.attempt,
            event.actor,
            json.dumps(event.detail or {}, default=str),
        )
        for event in events
    ]
    if rows:
        run(
            """
            INSERT INTO orders_event (order_id, kind, step, attempt, actor, detail, at)
            SELECT order_id, kind, step, attempt, actor, detail::jsonb, clock_timestamp()
              FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::int[], %s::text[], %s::text[])
                AS v(order_id, kind, step, attempt, actor, detail)
            """,
            columns(rows, 6),
        )


def last_call_failures(steps: Collection[StepRow]) -> dict[tuple[UUID, str], dict[str, Any]]:
    """What the last failed remote call of each of these steps' present attempt said, by order and step."""
    if not steps:
        return {}
    rows = fetch(
        """
        SELECT DISTINCT ON (e.order_id, e.step) e.order_id, e.step, e.detail
          FROM orders_event AS e
          JOIN unnest(%s::uuid[], %s::text[], %s::int[]) AS v(order_id, step, attempt)
            ON e.order_id = v.order_id AND e.step = v.step AND e.attempt = v.attempt
         WHERE e.kind = 'call_failed'
         ORDER BY e.order_id, e.step, e.id DESC
        """,
        columns([(step.order_id, step.name, step.attempt) for step in steps], 3),
    )
    return {(order_id, step): json.loads(detail) for order_id, step, detail in rows}
