"""Rewriting what steps of an order ask for, after its data have changed. The caller has locked its process."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from orders.engine.contracts import Json
from orders.engine.errors import StateConflict
from orders.engine.rows import StepRow
from orders.engine.runtime.sql import fetch, recordset, run


class NewRequest(NamedTuple):
    """What a step that is still to be done asks for from now on. `awaits_until` is when a delay is over; None for any
    other step."""

    step: StepRow
    request: Json
    awaits_until: datetime | None = None


def requests_of(order_id: UUID) -> dict[str, Json]:
    """What each step of an order asks for, by the steps' names."""
    rows = fetch("SELECT name, request::text FROM orders_stepstate WHERE order_id = %s", [order_id])
    return {name: json.loads(request) for name, request in rows}


def rewrite_requests(edits: Sequence[NewRequest]) -> None:
    """Replaces these steps' requests, and keeps the original of each.

    Raises `StateConflict` if a step is no longer as it was read: not started, or failed with nothing done.
    """
    if not edits:
        return
    rows = [
        {
            "id": edit.step.id,
            "attempt": edit.step.attempt,
            "state": edit.step.state,
            "request": dict(edit.request),
            "awaits_until": edit.awaits_until,
        }
        for edit in edits
    ]
    written = run(
        """
        UPDATE orders_stepstate AS s
           SET original = coalesce(s.original, s.request),
               request = v.request,
               awaits_until = v.awaits_until
          FROM json_to_recordset(%s::json)
            AS v(id bigint, attempt int, state text, request jsonb, awaits_until timestamptz)
         WHERE s.id = v.id
           AND s.id = ANY(%s::bigint[])
           AND s.attempt = v.attempt AND s.state = v.state
           AND s.state IN ('not_started', 'failed') AND s.outcome IN ('none', 'refused')
        """,
        [recordset(rows), [row["id"] for row in rows]],
    )
    if written != len(rows):
        raise StateConflict(
            f"{len(rows) - written} of {len(rows)} steps changed while their order was locked"
        )


def reverse_first(edits: Sequence[NewRequest]) -> None:
    """Has each of these steps ask for something else once nothing of its present generation stands.

    A resubmission then sends its compensation first, with the request that it has, and no reply to an earlier try
    counts any more. One that was completed is then failed, of unknown outcome, and its result is gone: nothing may
    build on it any more. Raises `StateConflict` if a step is no longer as it was read: failed, and its outcome unknown,
    completed, or already to be reversed.
    """
    if not edits:
        return
    rows = [
        {
            "id": edit.step.id,
            "attempt": edit.step.attempt,
            "state": edit.step.state,
            "request": dict(edit.request),
        }
        for edit in edits
    ]
    written = run(
        """
        UPDATE orders_stepstate AS s
           SET next_request = v.request,
               state = CASE s.state WHEN 'completed' THEN 'failed' ELSE s.state END,
               outcome = CASE s.state WHEN 'completed' THEN 'unknown' ELSE s.outcome END,
               result = CASE s.state WHEN 'completed' THEN NULL ELSE s.result END,
               completed_at = CASE s.state WHEN 'completed' THEN NULL ELSE s.completed_at END,
               settles_at = CASE s.state WHEN 'completed' THEN NULL ELSE s.settles_at END,
               answered = CASE WHEN s.next_request IS NULL THEN s.attempt ELSE s.answered END
          FROM json_to_recordset(%s::json)
            AS v(id bigint, attempt int, state text, request jsonb)
         WHERE s.id = v.id
           AND s.id = ANY(%s::bigint[])
           AND s.attempt = v.attempt AND s.state = v.state
           AND (s.next_request IS NOT NULL OR s.state = 'completed'
                OR s.state = 'failed' AND s.outcome = 'unknown')
        """,
        [recordset(rows), [row["id"] for row in rows]],
    )
    if written != len(rows):
        raise StateConflict(
            f"{len(rows) - written} of {len(rows)} steps changed while their order was locked"
        )
