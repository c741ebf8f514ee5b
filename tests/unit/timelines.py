"""What tests of an order's timeline share: events of one step, seconds after it began, and its lane."""

from datetime import UTC, datetime, timedelta
from typing import Any

from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import StepFacts
from orders.selectors.desk.timeline import Lane, lanes

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AWAITING = {"state": "awaiting", "attempt": 1}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(seconds: float, name: str, attempt: int = 1, **detail: Any) -> EventFacts:
    return EventFacts(
        at=at(seconds),
        kind=name,
        step="bake",
        attempt=attempt,
        actor_kind="agents",
        actor_name="x",
        detail=detail,
    )


def step(**facts: Any) -> StepFacts:
    defaults: dict[str, Any] = {
        "name": "bake",
        "agent": "oven",
        "state": "not_started",
        "outcome": "none",
        "attempt": 0,
        "generation": 1,
        "failure_count": 0,
        "compensation_failure_count": 0,
        "extended_waits": 0,
        "complete_by": None,
        "settles_at": None,
        "not_before": None,
        "key": "k",
        "error": None,
        "started_at": None,
        "completed_at": None,
    }
    return StepFacts(**(defaults | facts))


def lane(facts: StepFacts, *events: EventFacts, now: float = 100) -> Lane:
    (only_lane,) = lanes([facts], events, now=at(now))
    return only_lane


def stretches(lane: Lane) -> list[tuple[str, float, float, str]]:
    return [
        (
            span.kind.value,
            (span.begins - START).total_seconds(),
            (span.ends - START).total_seconds(),
            span.outcome,
        )
        for span in lane.spans
    ]
