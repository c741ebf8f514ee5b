"""The state of orders according to their events, to compare with what is stored (I12)."""

from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID

from orders.models import Event, OrderProcess, StepState

ENDS = {"processed": "processed", "compensated": "compensated", "error": "error"}
FREES = frozenset({"resubmitted", "replayed", "waiting"})
REFUSED = "failed, nothing done"
"""A failed step that has nothing to compensate. It is stored as failed."""
STEPS = {
    "step_started": "running",
    "awaiting": "awaiting",
    "step_completed": "completed",
    "step_refused": REFUSED,
    "step_declined": REFUSED,
    "settled_not_done": REFUSED,
    "step_failed": "failed",
    "step_recalled": "not_started",
    "step_given_up": "failed",
    "compensation_started": "compensating",
    "step_compensated": "compensated",
    "step_renewed": "not_started",
    "compensation_failed": "failed",
    "paid_again": "not_started",
    "corrected": "not_started",
    "edited": "not_started",
    "step_skipped": "skipped",
    "settled_done": "completed",
    "settled_compensated": "compensated",
}


class OrderState(NamedTuple):
    """An order's state and goal, and the state and number of attempts of each step that was ever requested."""

    state: str
    goal: str
    steps: dict[str, tuple[str, int]]

    def as_stored(self) -> "OrderState":
        """The state without what only its history tells."""
        steps = {
            name: ("failed" if state == REFUSED else state, tries)
            for name, (state, tries) in self.steps.items()
        }
        return self._replace(steps=steps)


def stored(order_ids: Collection[UUID]) -> dict[UUID, OrderState]:
    """What the state store holds. Steps of an order that no pass could handle are left out: they have no events."""
    odd = _unprocessable(order_ids)
    steps: dict[UUID, dict[str, tuple[str, int]]] = {}
    rows = StepState.objects.filter(process_id__in=list(order_ids), attempt__gt=0)
    for order_id, name, state, attempt in rows.values_list("process_id", "name", "state", "attempt"):
        steps.setdefault(order_id, {})[name] = (state, attempt)
    processes = OrderProcess.objects.filter(order_id__in=list(order_ids)).exclude(order_id__in=odd)
    return {
        order_id: OrderState(state, goal, steps.get(order_id, {}))
        for order_id, state, goal in processes.values_list("order_id", "process_state", "goal")
    }


def replayed(order_ids: Collection[UUID]) -> dict[UUID, OrderState]:
    """What the events add up to."""
    orders: dict[UUID, OrderState] = {}
    rows = Event.objects.filter(order_id__in=list(order_ids)).order_by("id")
    for order_id, *event in rows.values_list("order_id", "kind", "step", "attempt", "detail"):
        orders[order_id] = after(orders.get(order_id, OrderState("pending", "complete", {})), *event)
    return {order_id: order.as_stored() for order_id, order in orders.items()}


def after(order: OrderState, kind: str, step: str, attempt: int, detail: dict[str, Any]) -> OrderState:
    state = "processing" if kind == "claimed" else ENDS.get(kind, order.state)
    if kind in FREES or (kind == "compensation_requested" and order.state not in ("processing",)):
        state = "pending"
    if detail.get("resubmits"):
        state = "pending"
    if detail.get("goes_on") and kind.startswith(("step_skipped", "settled")):
        state = "pending"
    goal = "compensate" if kind == "compensation_requested" else order.goal
    if kind == "version_changed":
        steps = {detail["renamed"].get(name, name): step for name, step in order.steps.items()}
        return order._replace(steps={name: steps[name] for name in steps if name not in detail["dropped"]})
    if not step:
        return OrderState(state, goal, order.steps)
    is_now, attempts = order.steps.get(step, ("not_started", 0))
    if kind in ("step_started", "compensation_started", "awaiting"):
        attempts = attempt
    if kind in ("step_timed_out", "compensation_timed_out"):
        next_state = "not_started" if kind == "step_timed_out" else "compensating"
        is_now = "failed" if detail["ruling"] in ("fail", "compensate") else next_state
        is_now = "awaiting" if detail.get("parked_until") else is_now
    elif kind == "wait_ended":
        is_now = "not_started" if detail["ruling"] == "settle" else "failed"
    elif kind == "step_deferred":
        if not detail.get("counts"):  # otherwise the supervisor counts it as a time-out
            is_now = "compensating" if is_now == "compensating" else "not_started"
        is_now = "awaiting" if detail.get("parked_until") else is_now
    elif kind in ("paid_again", "corrected") and detail.get("reversed_first"):
        is_now = "compensating"
    elif kind == "resubmitted":
        is_left = goal == "compensate" and is_now == "failed"
        is_now = "compensating" if is_left or detail.get("reversed_first") else "not_started"
    else:
        is_now = STEPS.get(kind, is_now)
    return OrderState(state, goal, order.steps | ({step: (is_now, attempts)} if attempts else {}))


def _unprocessable(order_ids: Collection[UUID]) -> list[UUID]:
    rows = Event.objects.filter(order_id__in=list(order_ids), kind="error", detail__has_key="reason")
    return list(rows.values_list("order_id", flat=True))
