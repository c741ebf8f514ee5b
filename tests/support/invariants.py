"""The invariants of the system, checked from the outside: by SQL and against the remote services' own ledgers.

Each function raises `AssertionError` with the orders that break it. The numbers are those of docs/failure-modes.md.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from orders.engine.contracts import Workflow
from orders.models import (
    AgentReply,
    AgentRequest,
    Alert,
    Event,
    OrderProcess,
    SetAside,
    StepState,
    SubmissionMessage,
)

Ledgers = Mapping[str, Sequence[Mapping[str, Any]]]
FORWARD = {"reserve": "warehouse", "authorise": "payments", "create": "carrier", "capture": "payments"}


def check_when_quiet(*, acknowledged: Collection[UUID], workflow: Workflow, ledgers: Ledgers) -> None:
    """Everything that must hold once no work is left: every acknowledged order is finished, undone or escalated."""
    every_order_ended_once(acknowledged)
    net_effects(acknowledged, ledgers)
    predecessors_first(acknowledged, workflow)
    attempts_only_grow(acknowledged)
    nothing_is_in_flight()
    every_error_has_one_alert()
    undone_in_reverse(acknowledged, workflow)
    channels_are_empty()


def every_order_ended_once(acknowledged: Collection[UUID]) -> None:
    """I1: each acknowledged order is there once, and finished, undone, in Error or set aside."""
    states = dict(OrderProcess.objects.values_list("order_id", "process_state"))
    aside = set(SetAside.objects.filter(replayed_at=None).values_list("order_id", flat=True))
    ended = {"processed", "compensated", "error"}
    wrong = {
        order_id: states.get(order_id, "missing")
        for order_id in acknowledged
        if (states.get(order_id) not in ended) == (order_id not in aside)
    }
    assert not wrong, f"I1: not ended, or ended and set aside: {wrong}"
    assert states.keys() <= set(acknowledged), f"I1: nobody ordered {states.keys() - set(acknowledged)}"


def net_effects(acknowledged: Collection[UUID], ledgers: Ledgers) -> None:
    """I2: at most one effect for a key; one of each for a Processed order, none left for a Compensated one."""
    for service, entries in ledgers.items():
        doubled = {
            key: times for key, times in Counter(entry["key"] for entry in entries).items() if times > 1
        }
        assert not doubled, f"I2: {service} did these more than once: {doubled}"
    done: dict[str, Counter[str]] = {str(order_id): Counter() for order_id in acknowledged}
    reversed_: dict[str, Counter[str]] = {str(order_id): Counter() for order_id in acknowledged}
    operation_of = {entry["key"]: entry["operation"] for entries in ledgers.values() for entry in entries}
    for entries in ledgers.values():
        for entry in entries:
            if entry["operation"] in FORWARD:
                done[entry["order_id"]][entry["operation"]] += 1
            else:
                forward = operation_of[entry["key"].rpartition("/")[0]]
                reversed_[entry["order_id"]][forward] += 1
    for process in OrderProcess.objects.filter(order_id__in=list(acknowledged)):
        net = done[str(process.order_id)].copy()
        net.subtract(reversed_[str(process.order_id)])
        if process.process_state == "processed":
            assert net == Counter(dict.fromkeys(FORWARD, 1)), (
                f"I2: {process.order_id} is Processed with {net}"
            )
        elif process.process_state == "compensated":
            assert not +net and not -net, f"I2: {process.order_id} is Compensated with {net}"
        else:
            assert all(times in (0, 1) for times in net.values()), f"I2: {process.order_id} has {net}"


def predecessors_first(acknowledged: Collection[UUID], workflow: Workflow) -> None:
    """I3: no step is asked for before every step that it depends on is recorded as completed."""
    for order_id, events in _histories(acknowledged).items():
        completed: set[str] = set()
        for kind, step, _ in events:
            if kind == "step_started":
                missing = set(workflow.by_name[step].after) - completed
                assert not missing, f"I3: {order_id} started {step} before {missing}"
            elif kind in ("step_completed", "step_skipped"):
                completed.add(step)


def attempts_only_grow(acknowledged: Collection[UUID]) -> None:
    """I4: each attempt of a step is started once, in order, and answered at most once."""
    for order_id, events in _histories(acknowledged).items():
        last: Counter[str] = Counter()
        answered: set[tuple[str, int]] = set()
        for kind, step, attempt in events:
            if kind in ("step_started", "undo_started"):
                assert attempt == last[step] + 1, f"I4: {order_id} {step} went from {last[step]} to {attempt}"
                last[step] = attempt
            elif kind in (
                "step_completed",
                "step_refused",
                "step_declined",
                "step_failed",
                "step_compensated",
            ):
                assert attempt == last[step], f"I4: {order_id} {step} took {attempt} while at {last[step]}"
                assert (step, attempt) not in answered, f"I4: {order_id} {step} took {attempt} twice"
                answered.add((step, attempt))


def nothing_is_in_flight() -> None:
    """I7, when quiet: nothing runs, since all that runs has a complete-by time that has fired or been met."""
    running = list(StepState.objects.exclude(complete_by=None).values_list("process_id", "name", "state"))
    assert not running, f"I7: still in flight: {running}"


def every_error_has_one_alert() -> None:
    """I9: every order in Error, and every set-aside submission, has exactly one open alert, and nothing else has."""
    in_error = set(OrderProcess.objects.filter(process_state="error").values_list("order_id", flat=True))
    in_error |= set(SetAside.objects.filter(replayed_at=None).values_list("order_id", flat=True))
    alerts = Counter(Alert.objects.filter(closed_at=None).values_list("order_id", flat=True))
    assert alerts == Counter(in_error), f"I9: in Error {in_error}, alerts {alerts}"


def undone_in_reverse(acknowledged: Collection[UUID], workflow: Workflow) -> None:
    """I10: a step is undone after all that depend on it, and a Compensated order has nothing left to undo."""
    for order_id, events in _histories(acknowledged).items():
        undone: set[str] = set()
        standing = {step for kind, step, _ in events if kind == "step_completed"}
        for kind, step, _ in events:
            if kind == "step_compensated":
                undone.add(step)
            elif kind == "undo_started" and step in standing:
                from_later = (set(workflow.dependents[step]) & standing) - undone
                from_later -= {name for name in from_later if workflow.by_name[name].undo.value != "reverse"}
                assert not from_later, f"I10: {order_id} undid {step} before {from_later}"


def channels_are_empty() -> None:
    """I13: when quiet, no message is left in the submission, request and reply channels."""
    left = {
        model.__name__: model.objects.count()
        for model in (SubmissionMessage, AgentRequest, AgentReply)
        if model.objects.exists()
    }
    assert not left, f"I13: messages left: {left}"


def _histories(acknowledged: Collection[UUID]) -> dict[UUID, list[tuple[str, str, int]]]:
    found: dict[UUID, list[tuple[str, str, int]]] = {order_id: [] for order_id in acknowledged}
    rows = Event.objects.filter(order_id__in=list(acknowledged)).order_by("id")
    for order_id, kind, step, attempt in rows.values_list("order_id", "kind", "step", "attempt"):
        found[order_id].append((kind, step, attempt))
    return found
