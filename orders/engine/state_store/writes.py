"""Writing the state store: a fixed number of statements for any number of orders.

The caller has locked the processes of every row that it writes.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.contracts import AcceptedOrder, Json
from orders.engine.errors import StateConflict
from orders.engine.rows import EventRow, ProcessRow, StepRow
from orders.engine.runtime.sql import fetch, recordset, run
from orders.engine.runtime.statements import Sent, count_of, known, send


class StepWrite(NamedTuple):
    """A step as it will be, the attempt that it was read with, and the answer to keep with it, as JSON text."""

    step: StepRow
    read_attempt: int
    result: str | None = None


def write_steps(writes: Sequence[StepWrite]) -> None:
    """Writes steps. Raises `StateConflict` if one of them is no longer at the attempt that it was read with."""
    send_step_writes(writes).result()


def send_step_writes(writes: Sequence[StepWrite]) -> Sent[None]:
    """The same, without waiting. Ask for the result before the commit: it raises `StateConflict`."""
    if not writes:
        return known(None)

    def check(written: int) -> None:
        if written != len(writes):
            raise StateConflict(
                f"{len(writes) - written} of {len(writes)} steps changed while their orders were locked"
            )

    return send(
        """
        UPDATE orders_stepstate AS s
           SET state = v.state,
               attempt = v.attempt,
               answered = v.answered,
               generation = v.generation,
               compensation_generation = v.compensation_generation,
               outcome = v.outcome,
               complete_by = v.complete_by,
               settles_at = v.settles_at,
               not_before = v.not_before,
               failure_count = v.failure_count,
               compensation_failure_count = v.compensation_failure_count,
               extended_waits = v.extended_waits,
               error = v.error,
               waiting_since = v.waiting_since,
               priority = v.priority,
               sent_at = v.sent_at,
               wanted_since = v.wanted_since,
               compensation_sent_at = v.compensation_sent_at,
               result = coalesce(v.result::jsonb, s.result),
               started_at = CASE WHEN v.state = 'running'
                                 THEN coalesce(s.started_at, clock_timestamp())
                                 ELSE s.started_at END,
               completed_at = CASE WHEN v.state = 'completed'
                                   THEN coalesce(s.completed_at, clock_timestamp())
                                   ELSE s.completed_at END
          FROM json_to_recordset(%s::json)
            AS v(id bigint, read_attempt int, state text, attempt int, answered int, generation int,
                 compensation_generation int, outcome text, complete_by timestamptz, settles_at timestamptz,
                 not_before timestamptz, failure_count int, compensation_failure_count int, extended_waits int,
                 error jsonb, waiting_since timestamptz, priority smallint, sent_at timestamptz,
                 wanted_since timestamptz, compensation_sent_at timestamptz, result text)
         WHERE s.id = v.id AND s.attempt = v.read_attempt
        """,
        [
            recordset(
                {**write.step._asdict(), "read_attempt": write.read_attempt, "result": write.result}
                for write in writes
            )
        ],
        count_of,
    ).then(check)


def stop_waiting(order_ids: Collection[UUID]) -> None:
    """Ends the wait of these orders' steps for their agents."""
    send(
        """
        UPDATE orders_stepstate
           SET waiting_since = NULL, wanted_since = NULL
         WHERE order_id = ANY(%s) AND waiting_since IS NOT NULL
        """,
        [list(order_ids)],
    )


def edit_request(step: StepRow, changes: Json, *, keep_original: bool) -> None:
    """Changes fields of what a step sends its agent; the caller has locked its process.

    With `keep_original` the request before the first such edit is kept, too, so that operators can compare them.
    Raises `StateConflict` if the step is no longer as it was read.
    """
    written = run(
        """
        UPDATE orders_stepstate
           SET original = CASE WHEN %s THEN coalesce(original, request) ELSE original END,
               request = request || %s::jsonb
         WHERE id = %s AND attempt = %s AND state = %s
        """,
        [keep_original, json.dumps(dict(changes)), step.id, step.attempt, step.state],
    )
    if not written:
        raise StateConflict(f"the step {step.name} changed while its order was locked")


def write_processes(processes: Sequence[ProcessRow]) -> None:
    """Writes processes."""
    if not processes:
        return
    send(
        """
        UPDATE orders_orderprocess AS p
           SET goal = v.goal,
               process_state = v.process_state,
               locked_by = v.locked_by,
               complete_by = v.complete_by,
               failure_count = v.failure_count,
               overruns = v.overruns,
               priority = v.priority,
               not_before = v.not_before,
               started_at = v.started_at,
               announced = v.announced,
               finished_at = CASE WHEN v.process_state IN ('processed', 'compensated')
                                  THEN clock_timestamp() END
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, goal text, process_state text, locked_by text, complete_by timestamptz,
                 failure_count int, overruns int, priority smallint, not_before timestamptz,
                 started_at timestamptz, announced boolean)
         WHERE p.order_id = v.order_id
        """,
        [recordset(row._asdict() for row in processes)],
    )


def create_processes(accepted: Collection[AcceptedOrder]) -> None:
    """Inserts the records of new orders: one process each, Pending and free (T3), and a record for each step (T4)."""
    send(
        """
        INSERT INTO orders_orderprocess (order_id, workflow, version, fingerprint, goal, process_state,
                                         failure_count, overruns, priority, reply_to, announced)
        SELECT order_id, workflow, version, fingerprint, 'complete', 'pending', 0, 0, priority, reply_to, true
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, workflow text, version smallint, fingerprint text, priority smallint,
                 reply_to text)
        """,
        [
            recordset(
                {
                    "order_id": new.submission.order_id,
                    "workflow": new.workflow.name,
                    "version": new.workflow.version,
                    "fingerprint": new.workflow.fingerprint,
                    "priority": new.priority,
                    "reply_to": new.reply_to,
                }
                for new in accepted
            )
        ],
    )
    send(
        """
        INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                      compensation_generation, outcome, failure_count, compensation_failure_count,
                                      extended_waits, priority)
        SELECT order_id, name, position, agent, request, 'not_started', 0, 0, 1, 1, 'none', 0, 0, 0, priority
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, name text, position smallint, agent text, request jsonb, priority smallint)
        """,
        [
            recordset(
                {
                    "order_id": new.submission.order_id,
                    "name": step.name,
                    "position": position,
                    "agent": step.agent,
                    "request": step.data(new.description),
                    "priority": new.priority,
                }
                for new in accepted
                for position, step in enumerate(new.workflow.steps)
            )
        ],
    )


def record_events(events: Iterable[EventRow]) -> None:
    """Appends events to the orders' histories."""
    rows = [
        {
            **event._asdict(),
            "actor_kind": event.actor.kind,
            "actor_name": event.actor.name,
            "detail": event.detail or {},
        }
        for event in events
    ]
    if rows:
        send(
            """
            INSERT INTO orders_event (order_id, kind, step, attempt, actor_kind, actor_name, detail, at)
            SELECT order_id, kind, step, attempt, actor_kind, actor_name, detail, clock_timestamp()
              FROM json_to_recordset(%s::json)
                AS v(order_id uuid, kind text, step text, attempt int, actor_kind text, actor_name text,
                     detail jsonb)
            """,
            [recordset(rows)],
        )


def last_call_failures(steps: Collection[StepRow]) -> dict[tuple[UUID, str], dict[str, Any]]:
    """The detail of the last failed remote call in each step's present attempt, by order and step."""
    if not steps:
        return {}
    rows = fetch(
        """
        SELECT DISTINCT ON (e.order_id, e.step) e.order_id, e.step, e.detail
          FROM orders_event AS e
          JOIN json_to_recordset(%s::json) AS v(order_id uuid, name text, attempt int)
            ON e.order_id = v.order_id AND e.step = v.name AND e.attempt = v.attempt
         WHERE e.kind = 'call_failed'
         ORDER BY e.order_id, e.step, e.id DESC
        """,
        [recordset(step._asdict() for step in steps)],
    )
    return {(order_id, step): json.loads(detail) for order_id, step, detail in rows}
