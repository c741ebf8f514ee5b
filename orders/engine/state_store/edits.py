"""Edits of what a step asks for, by an operator: what the order asked for at first is kept beside it."""

import json
from typing import Any

from orders.engine.contracts import Json
from orders.engine.errors import StateConflict
from orders.engine.rows import StepRow
from orders.engine.runtime.sql import fetch, run


def request_of(step: StepRow) -> dict[str, Any]:
    """What a step asks for. To be called with its process locked."""
    ((text,),) = fetch("SELECT request::text FROM orders_stepstate WHERE id = %s", [step.id])
    request: dict[str, Any] = json.loads(text)
    return request


def edit_keeping_original(step: StepRow, changes: Json) -> None:
    """Changes fields of what a step asks for; the first request is kept in `original`, whoever edits how often.

    Its process is locked. Raises `StateConflict` if the step is no longer as it was read.
    """
    written = run(
        """
        UPDATE orders_stepstate
           SET original = coalesce(original, request), request = request || %s::jsonb
         WHERE id = %s AND attempt = %s AND state = %s
        """,
        [json.dumps(dict(changes)), step.id, step.attempt, step.state],
    )
    if not written:
        raise StateConflict(f"the step {step.name} changed while its order was locked")
