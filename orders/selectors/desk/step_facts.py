"""Reading steps and processes for the listing and the detail: the rows as facts, with what is outstanding for them."""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from orders.engine.rows import StepRow
from orders.models import AgentRequest, OrderProcess, StepState
from orders.selectors.desk.standing import ProcessFacts, StepFacts
from orders.vocabulary import StepStatus

_STEP = ["process_id" if name == "order_id" else name for name in StepRow._fields]
_UNDO = frozenset({StepStatus.COMPENSATING.value, StepStatus.COMPENSATED.value})


def steps_of(order_ids: Collection[UUID], now: datetime) -> dict[UUID, list[StepFacts]]:
    """The steps of these orders in the order of their workflow, each with its outstanding request. Two queries."""
    asked: dict[int, dict[str, Any]] = {
        request["step_id"]: dict(request)
        for request in AgentRequest.objects.filter(order_id__in=order_ids).values(
            "step_id", "attempt", "posted_at", "leased_by", "leased_until"
        )
    }
    found: dict[UUID, list[StepFacts]] = {order_id: [] for order_id in order_ids}
    rows = (
        StepState.objects.filter(process_id__in=order_ids)
        .order_by("process_id", "position")
        .values_list(*_STEP, "started_at", "completed_at")
    )
    for *fields, started_at, completed_at in rows:
        row = StepRow._make(fields)
        facts = _step(row, asked.get(row.id, {}), now, started_at, completed_at)
        found[row.order_id].append(facts)
    return found


def _step(
    row: StepRow,
    request: dict[str, Any],
    now: datetime,
    started_at: datetime | None,
    completed_at: datetime | None,
) -> StepFacts:
    outstanding = request.get("attempt") == row.attempt
    leased_until = request.get("leased_until")
    return StepFacts(
        name=row.name,
        agent=row.agent,
        state=row.state,
        outcome=row.outcome,
        attempt=row.attempt,
        generation=row.generation,
        failure_count=row.failure_count,
        undo_failure_count=row.undo_failure_count,
        extended_waits=row.extended_waits,
        complete_by=row.complete_by,
        settles_at=row.settles_at,
        not_before=row.not_before,
        key=row.undo_key() if row.state in _UNDO else row.key(),
        error=row.error,
        started_at=started_at,
        completed_at=completed_at,
        asked_at=request["posted_at"] if outstanding else None,
        waiting_since=row.waiting_since,
        wanted_since=row.wanted_since,
        held_by=request["leased_by"] if outstanding and leased_until and leased_until > now else None,
    )


def process_facts(process: OrderProcess) -> ProcessFacts:
    """What of a process decides where its order stands."""
    return ProcessFacts(
        state=process.process_state,
        goal=process.goal,
        complete_by=process.complete_by,
        not_before=process.not_before,
        created_at=process.created_at,
        started_at=process.started_at,
    )
