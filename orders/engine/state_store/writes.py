"""Writing the state store: a fixed number of statements for any number of orders.

The caller has locked the processes of every row that it writes.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DataError

from orders.engine.contracts import Json, Workflow
from orders.engine.errors import StateConflict
from orders.engine.intakes import AcceptedOrder, ClosedOrder, customer_of
from orders.engine.parking import fixed_moment
from orders.engine.rows import ProcessRow, StepRow
from orders.engine.runtime.sql import recordset, run
from orders.engine.runtime.statements import Sent, array, known, send
from orders.vocabulary import Goal, ProcessState


class StepWrite(NamedTuple):
    """A step as it will be, the attempt that it was read with, and the answer to keep with it, as JSON text.

    With `before`, the step as it was read, only what has changed is written.
    """

    step: StepRow
    read_attempt: int
    result: str | None = None
    before: StepRow | None = None


def write_steps(writes: Sequence[StepWrite]) -> None:
    """Writes steps. Raises `StateConflict` if one of them is no longer at the attempt that it was read with."""
    with reporting_conflicts():
        send_step_writes(writes).result()


def send_step_writes(writes: Sequence[StepWrite]) -> Sent[None]:
    """The same, without waiting. The statement itself fails on a conflict, so that the server does not commit; it is
    reported by `reporting_conflicts` around the transaction."""
    if not writes:
        return known(None)
    columns = _changed(writes)
    rows = [
        dict(zip(columns, _values_of(write.step, columns), strict=True))
        | {"id": write.step.id, "read_attempt": write.read_attempt, "result": write.result}
        for write in writes
    ]
    ids = array(write.step.id for write in writes)
    parameters = {"rows": recordset(rows), "ids": ids, "number": len(rows)}
    return send(_update_of(columns), parameters).then(lambda _: None)


@contextmanager
def reporting_conflicts() -> Iterator[None]:
    """Raises `StateConflict` for a write of steps that has failed in the block because one of them had changed."""
    try:
        yield
    except DataError as error:
        if message := _CONFLICT.search(str(error)):
            raise StateConflict(message[0]) from error
        raise


_CONFLICT = re.compile(r"\d+ of \d+ steps changed while their orders were locked")
STEP_COLUMNS = {
    **dict.fromkeys(("state", "outcome"), "text"),
    **dict.fromkeys(("attempt", "answered", "generation", "compensation_generation"), "int"),
    **dict.fromkeys(("complete_by", "settles_at", "not_before", "waiting_since"), "timestamptz"),
    "paused_since": "timestamptz",
    **dict.fromkeys(("sent_at", "wanted_since", "compensation_sent_at", "awaits_until"), "timestamptz"),
    **dict.fromkeys(("failure_count", "compensation_failure_count", "extended_waits"), "int"),
    **dict.fromkeys(("error", "awaits", "next_request"), "jsonb"),
    "priority": "smallint",
}
"""The columns of a step that a pass changes, and their types."""
_PLACES = [(StepRow._fields.index(name), name) for name in STEP_COLUMNS]


def _changed(writes: Iterable[StepWrite]) -> tuple[str, ...]:
    """The columns in which any of the steps has changed. Most passes change a third of them, and the same ones."""
    return tuple(
        name
        for place, name in _PLACES
        if any(write.before is None or write.step[place] != write.before[place] for write in writes)
    )


_TAKES_NEXT = "v.generation > s.generation AND s.next_request IS NOT NULL"
"""Whether a step takes its next request, with its next generation. A reversal sends the present one until then."""


def _values_of(step: StepRow, columns: Sequence[str]) -> list[Any]:
    """The values of these columns."""
    return [getattr(step, name) for name in columns]


@cache
def _update_of(columns: tuple[str, ...]) -> str:
    """The statement that writes these columns, the results, and when a step was first started and completed."""
    settings = [f"{name} = v.{name}" for name in columns]
    settings.append("result = coalesce(v.result::jsonb, s.result)")
    if "generation" in columns:
        settings.append(f"request = CASE WHEN {_TAKES_NEXT} THEN s.next_request ELSE s.request END")
        settings.append(
            f"original = CASE WHEN {_TAKES_NEXT} THEN coalesce(s.original, s.request) ELSE s.original END"
        )
    if "state" in columns:
        for states, moment in (("'running', 'awaiting'", "started_at"), ("'completed'", "completed_at")):
            now = f"CASE WHEN v.state IN ({states}) THEN clock_timestamp() END"
            settings.append(f"{moment} = coalesce(s.{moment}, {now})")
    fields = "".join(f", {name} {STEP_COLUMNS[name]}" for name in columns)
    return f"""
        WITH written AS (
            UPDATE orders_stepstate AS s
               SET {", ".join(settings)}
              FROM json_to_recordset(%(rows)s::json) AS v(id bigint, read_attempt int, result text{fields})
             WHERE s.id = v.id AND s.attempt = v.read_attempt
               AND s.id = ANY(%(ids)s::bigint[])  -- otherwise all of a small table is read, and joined
         RETURNING 1
        )
        SELECT CASE WHEN count(*) <> %(number)s::int THEN
                   (format('%%s of %%s steps changed while their orders were locked',
                           %(number)s::int - count(*), %(number)s::int))::int  -- fails, and tells why
               END
          FROM written
        """


def stop_waiting(order_ids: Collection[UUID]) -> None:
    """Ends the wait of these orders' steps for their agents, or for the end of their pauses."""
    send(
        """
        UPDATE orders_stepstate
           SET waiting_since = NULL, wanted_since = NULL, paused_since = NULL
         WHERE order_id = ANY(%s) AND (waiting_since IS NOT NULL OR paused_since IS NOT NULL)
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
    """Writes processes. An order that is compensated or has ended is no longer paused, whoever writes it."""
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
               paused_at = CASE WHEN v.goal = 'complete' AND v.process_state <> 'processed' THEN v.paused_at END,
               paused_until = CASE WHEN v.goal = 'complete' AND v.process_state <> 'processed'
                                   THEN v.paused_until END,
               finished_at = CASE WHEN v.process_state IN ('processed', 'compensated')
                                  THEN clock_timestamp() END
          FROM json_to_recordset(%(rows)s::json)
            AS v(order_id uuid, goal text, process_state text, locked_by text, complete_by timestamptz,
                 failure_count int, overruns int, priority smallint, not_before timestamptz,
                 started_at timestamptz, announced boolean, paused_at timestamptz, paused_until timestamptz)
         WHERE p.order_id = v.order_id
           AND p.order_id = ANY(%(ids)s::uuid[])  -- otherwise all of a small table is read, and joined
        """,
        {
            "rows": recordset(row._asdict() for row in processes),
            "ids": array(row.order_id for row in processes),
        },
    )


def create_processes(accepted: Collection[AcceptedOrder]) -> None:
    """Inserts the records of new orders: one process each, Pending and free (T3), and a record for each step (T4)."""
    _insert_processes(
        {
            **_identity(new.workflow),
            "order_id": new.submission.order_id,
            "goal": new.submission.goal,
            "process_state": ProcessState.PENDING,
            "priority": new.priority,
            "reply_to": new.reply_to,
            "customer_id": customer_of(new.submission.client) or 0,
        }
        for new in accepted
    )
    insert_steps(
        {
            "order_id": new.submission.order_id,
            "name": step.name,
            "position": position,
            "agent": step.own_agent,
            "request": (data := step.data(new.description)),
            "priority": new.priority,
            "awaits_until": fixed_moment(step, data),
        }
        for new in accepted
        for position, step in enumerate(new.workflow.steps)
    )


def create_closed(closed: Iterable[ClosedOrder]) -> None:
    """Inserts the processes of orders that ended before they were inserted: compensated, and without steps."""
    _insert_processes(
        {
            **_identity(order.workflow),
            "order_id": order.submission.order_id,
            "goal": Goal.COMPENSATE,
            "process_state": ProcessState.COMPENSATED,
            "priority": order.priority,
            "reply_to": order.reply_to,
            "customer_id": customer_of(order.submission.client) or 0,
        }
        for order in closed
    )


def _identity(workflow: Workflow | None) -> dict[str, Any]:
    """What a process keeps of its workflow, which nobody may know."""
    if workflow is None:
        return {"workflow": "", "version": 0, "fingerprint": ""}
    return {"workflow": workflow.name, "version": workflow.version, "fingerprint": workflow.fingerprint}


def _insert_processes(rows: Iterable[dict[str, Any]]) -> None:
    send(
        """
        INSERT INTO orders_orderprocess (order_id, workflow, version, fingerprint, goal, process_state,
                                         failure_count, overruns, priority, reply_to, announced, finished_at,
                                         customer_id)
        SELECT order_id, workflow, version, fingerprint, goal, process_state, 0, 0, priority, reply_to, true,
               CASE WHEN process_state = 'compensated' THEN clock_timestamp() END, customer_id
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, workflow text, version smallint, fingerprint text, goal text, process_state text,
                 priority smallint, reply_to text, customer_id int)
        """,
        [recordset(rows)],
    )


def insert_steps(rows: Iterable[dict[str, Any]]) -> None:
    """Inserts records of steps that are not started."""
    send(
        """
        INSERT INTO orders_stepstate (order_id, name, position, agent, request, state, attempt, answered, generation,
                                      compensation_generation, outcome, failure_count, compensation_failure_count,
                                      extended_waits, priority, awaits_until)
        SELECT order_id, name, position, agent, request, 'not_started', 0, 0, 1, 1, 'none', 0, 0, 0, priority,
               awaits_until
          FROM json_to_recordset(%s::json)
            AS v(order_id uuid, name text, position smallint, agent text, request jsonb, priority smallint,
                 awaits_until timestamptz)
        """,
        [recordset(rows)],
    )
