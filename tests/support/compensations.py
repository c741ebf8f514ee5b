"""Orders to compensate."""

from collections.abc import Mapping
from typing import Any

from orders.models import OrderProcess
from tests.support.factories import ago, make_order
from tests.support.roles import (
    a_scheduler,
    answer,
    states,
    stored,
)


def unknown(**fields: Any) -> dict[str, Any]:
    """A step that was requested once and never answered; its settle time ended a second ago."""
    return {"attempt": 1, "outcome": "unknown", "settles_at": ago(1), **fields}


def an_order_to_compensate(steps: Mapping[str, Any], **process: Any) -> OrderProcess:
    fields = {"goal": "compensate", "started_at": ago(60), "reply_to": "app-1"}
    return make_order(steps, **(fields | process))


def compensate_all(order: OrderProcess, *, turns: int = 12) -> list[set[str]]:
    """Takes turns with agents that can compensate everything until the order ends; returns each turn's steps."""
    scheduler, waves = a_scheduler(), []
    for _ in range(turns):
        scheduler.run_once()
        if stored(order).process_state not in ("pending", "processing"):
            return waves
        waves.append(answer(order=order))
    raise AssertionError(f"not compensated after {turns} turns: {waves}, {states(order)}")
