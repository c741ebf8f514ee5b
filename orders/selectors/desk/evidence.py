"""The evidence of a failure: the last call that failed in the present attempt of a step. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import StepFacts
from orders.vocabulary import EventKind


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What `agent` met in its last call `at` that time. `exchange` is what was sent and answered, if there was an
    answer."""

    at: datetime
    agent: str
    code: str
    message: str
    exchange: Mapping[str, Any] | None


def evidence_of(name: str, steps: Iterable[StepFacts], events: Sequence[EventFacts]) -> Evidence | None:
    """The evidence of a step's failure; None if none of its calls failed in its present attempt."""
    step = next((step for step in steps if step.name == name), None)
    if step is None:
        return None
    for event in reversed(events):
        if event.kind == EventKind.CALL_FAILED and (event.step, event.attempt) == (step.name, step.attempt):
            exchange = event.detail.get("exchange")
            return Evidence(
                at=event.at,
                agent=step.agent or step.name,
                code=str(event.detail.get("code", "")),
                message=str(event.detail.get("message", "")),
                exchange=exchange if isinstance(exchange, Mapping) else None,
            )
    return None
