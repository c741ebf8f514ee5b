"""The invariants of orders' histories: in which order their steps began, ended and were reversed, by which attempts.

`tests.support.invariants` checks them with the others.
"""

from collections import Counter
from collections.abc import Collection
from uuid import UUID

from orders.engine.branches import declared_name, is_item
from orders.engine.contracts import Workflow
from orders.models import Event


def predecessors_first(acknowledged: Collection[UUID], workflow: Workflow) -> None:
    """I3: no step is requested before every step that it depends on is recorded as completed."""
    for order_id, events in _histories(acknowledged).items():
        completed: set[str] = set()
        for kind, step, _ in events:
            if kind == "step_started":
                missing = set(workflow.step_of(step).after) - completed
                assert not missing, f"I3: {order_id} started {step} before {missing}"
            elif kind in ("step_completed", "step_skipped", "settled_done"):
                completed.add(step)


def attempts_only_grow(acknowledged: Collection[UUID]) -> None:
    """I4: each attempt of a step is started once, in order, and answered at most once."""
    for order_id, events in _histories(acknowledged).items():
        last: Counter[str] = Counter()
        answered: set[tuple[str, int]] = set()
        for kind, step, attempt in events:
            if kind in ("step_started", "compensation_started"):
                assert attempt == last[step] + 1, f"I4: {order_id} {step} went from {last[step]} to {attempt}"
                last[step] = attempt
            elif kind == "awaiting":
                assert attempt in (last[step], last[step] + 1), (
                    f"I4: {order_id} {step} awaits {attempt} after {last[step]}"
                )
                last[step] = attempt
            elif kind in (
                "step_completed",
                "step_refused",
                "step_declined",
                "step_failed",
                "step_compensated",
                "step_renewed",
            ):
                assert attempt == last[step], f"I4: {order_id} {step} took {attempt} while at {last[step]}"
                assert (step, attempt) not in answered, f"I4: {order_id} {step} took {attempt} twice"
                answered.add((step, attempt))


def compensated_in_reverse(acknowledged: Collection[UUID], workflow: Workflow) -> None:
    """I10: a step is compensated after all that depend on it; a Compensated order has nothing left to reverse."""
    for order_id, events in _histories(acknowledged).items():
        compensated: set[str] = set()
        completed: set[str] = set()
        is_cancelled = False
        joints = {declared_name(step) for _, step, _ in events if is_item(step)}
        standing = {step for kind, step, _ in events if kind == "step_completed"} - joints
        for kind, step, _ in events:
            is_cancelled |= kind == "compensation_requested"
            if kind == "step_compensated":
                compensated.add(step)
            elif kind == "step_completed":
                completed.add(step)
            elif kind == "compensation_started" and step in standing:
                dependents = workflow.dependents[declared_name(step)]
                # What is reversed before an edit is followed by others once it has been done anew.
                done = standing if is_cancelled else completed
                from_later = {
                    name
                    for name in done - compensated
                    if declared_name(name) in dependents
                    and workflow.step_of(name).compensation.value == "reverse"
                }
                assert not from_later, f"I10: {order_id} compensated {step} before {from_later}"


def _histories(acknowledged: Collection[UUID]) -> dict[UUID, list[tuple[str, str, int]]]:
    histories: dict[UUID, list[tuple[str, str, int]]] = {order_id: [] for order_id in acknowledged}
    rows = Event.objects.filter(order_id__in=list(acknowledged)).order_by("id")
    for order_id, kind, step, attempt in rows.values_list("order_id", "kind", "step", "attempt"):
        histories[order_id].append((kind, step, attempt))
    return histories
