"""The state of orders as their events tell it, to be held against what is stored (I12)."""

from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID

from orders.models import Event, OrderProcess, StepState

ENDS = {"processed": "processed", "compensated": "compensated", "error": "error"}
FREES = frozenset({"resubmitted", "replayed", "waiting"})
STEPS = {
    "step_started": "running",
    "step_completed": "completed",
    "step_refused": "failed",
    "step_declined": "failed",
    "step_failed": "failed",
    "step_recalled": "not_started",
    "step_given_up": "failed",
    "compensation_started": "compensating",
    "step_compensated": "compensated",
    "compensation_failed": "failed",
    "paid_again": "not_started",
    "step_skipped": "skipped",
    "settled_done": "completed",
    "settled_compensated": "compensated",
}


class Told(NamedTuple):
    """An order: its state, its goal, and the state and the number of attempts of each step that was ever asked for."""

    state: str
    goal: str
    steps: dict[str, tuple[str, int]]


def stored(order_ids: Collection[UUID]) -> dict[UUID, Told]:
    """What the state store holds. Steps of an order that no pass could handle are left out: nothing tells of them."""
    odd = _unprocessable(order_ids)
    steps: dict[UUID, dict[str, tuple[str, int]]] = {}
    rows = StepState.objects.filter(process_id__in=list(order_ids), attempt__gt=0)
    for order_id, name, state, attempt in rows.values_list("process_id", "name", "state", "attempt"):
        steps.setdefault(order_id, {})[name] = (state, attempt)
    processes = OrderProcess.objects.filter(order_id__in=list(order_ids)).exclude(order_id__in=odd)
    return {
        order_id: Told(state, goal, steps.get(order_id, {}))
        for order_id, state, goal in processes.values_list("order_id", "process_state", "goal")
    }


def replayed(order_ids: Collection[UUID]) -> dict[UUID, Told]:
    """What the events add up to."""
    found: dict[UUID, Told] = {}
    rows = Event.objects.filter(order_id__in=list(order_ids)).order_by("id")
    for order_id, *event in rows.values_list("order_id", "kind", "step", "attempt", "detail"):
        found[order_id] = _after(found.get(order_id, Told("pending", "complete", {})), *event)
    return found


def _after(told: Told, kind: str, step: str, attempt: int, detail: dict[str, Any]) -> Told:
    state = "processing" if kind == "claimed" else ENDS.get(kind, told.state)
    if kind in FREES or (kind == "compensation_requested" and told.state not in ("processing",)):
        state = "pending"
    if detail.get("goes_on") and kind.startswith(("step_skipped", "settled")):
        state = "pending"
    goal = "compensate" if kind == "compensation_requested" else told.goal
    if not step:
        return Told(state, goal, told.steps)
    is_now, attempts = told.steps.get(step, ("not_started", 0))
    if kind in ("step_started", "compensation_started"):
        attempts = attempt
    if kind in ("step_timed_out", "compensation_timed_out"):
        again = "not_started" if kind == "step_timed_out" else "compensating"
        is_now = "failed" if detail["ruling"] in ("fail", "compensate") else again
    elif kind == "step_deferred":
        is_now = "compensating" if is_now == "compensating" else "not_started"
    elif kind == "resubmitted":
        is_now = "compensating" if goal == "compensate" and is_now == "failed" else "not_started"
    else:
        is_now = STEPS.get(kind, is_now)
    return Told(state, goal, told.steps | ({step: (is_now, attempts)} if attempts else {}))


def _unprocessable(order_ids: Collection[UUID]) -> list[UUID]:
    rows = Event.objects.filter(order_id__in=list(order_ids), kind="error", detail__has_key="reason")
    return list(rows.values_list("order_id", flat=True))
