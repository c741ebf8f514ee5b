"""The invariants, checked after every commit for the orders that it changed, and at the end for all.

The numbers are those of docs/failure-modes.md. `tests.support.invariants` checks them at the end of other tests.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from orders.engine.contracts import Workflow
from tests.simulation.database import Database
from tests.support.invariants import ONCE_AN_ATTEMPT
from tests.support.replay import OrderState, after

FORWARD = {"reserve": "warehouse", "authorise": "payments", "create": "carrier", "capture": "payments"}
FINISHED = frozenset({"completed", "skipped"})
PROCESSES = """
SELECT p.order_id, p.process_state, p.goal, p.locked_by, p.complete_by,
       (SELECT count(*) FROM orders_alert AS a WHERE a.order_id = p.order_id AND a.closed_at IS NULL)
  FROM orders_orderprocess AS p WHERE p.order_id = ANY(%s)
"""
STEPS = """
SELECT order_id, name, state, attempt, answered, generation, compensation_generation, outcome, complete_by
  FROM orders_stepstate WHERE order_id = ANY(%s) ORDER BY order_id, position
"""
EVENTS = """
SELECT order_id, kind, step, attempt, detail, actor_kind, actor_name
  FROM orders_event WHERE id = ANY(%s) ORDER BY id
"""
NEW = OrderState("pending", "complete", {})


class Violation(AssertionError):
    """Raised when an invariant does not hold."""


@dataclass
class KnownOrder:
    """What the committed events of an order have said so far, and its steps as they were last seen."""

    state: OrderState = NEW
    transitions: set[tuple[str, str, int]] = field(default_factory=set)
    completed: set[str] = field(default_factory=set)
    compensated: set[str] = field(default_factory=set)
    steps: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    is_unprocessable: bool = False
    story: list[str] = field(default_factory=list)


class Watch:
    """Follows every order from commit to commit."""

    def __init__(self, database: Database, workflow: Workflow) -> None:
        self.orders: dict[UUID, KnownOrder] = {}
        self.checks = 0
        self.events: Counter[str] = Counter()
        self._database = database
        self._workflow = workflow

    def look(self) -> None:
        """Checks the orders that have changed since the last look. Raises `Violation`."""
        monitor = self._database.monitor
        rows = monitor.execute("DELETE FROM public.simulation_change RETURNING order_id, event_id").fetchall()
        if not rows:
            return
        self.checks += 1
        changed = list({order_id for order_id, _ in rows})
        events = monitor.execute(EVENTS, [[event_id for _, event_id in rows if event_id]]).fetchall()
        for order_id, kind, *event in events:
            self._note_event(self.orders.setdefault(order_id, KnownOrder()), order_id, kind, *event)
        steps: dict[UUID, list[tuple[Any, ...]]] = {}
        for order_id, *step in monitor.execute(STEPS, [changed]):
            steps.setdefault(order_id, []).append(tuple(step))
        for order_id, *process in monitor.execute(PROCESSES, [changed]):
            self._check(self.orders.setdefault(order_id, KnownOrder()), order_id, process, steps[order_id])

    def _note_event(
        self, known: KnownOrder, order_id: UUID, kind: str, step: str, attempt: int, detail: Any, *actor: str
    ) -> None:
        self.events[kind] += 1
        known.story.append(f"{kind} {step} {attempt} by {actor[1]} {detail or ''}")
        if kind in ONCE_AN_ATTEMPT:
            if (kind, step, attempt) in known.transitions:
                self._fail("I5: made twice", order_id, known)
            known.transitions.add((kind, step, attempt))
        if kind == "step_started":
            missing = set(self._workflow.by_name[step].after) - known.completed
            if missing:
                self._fail(f"I3: {step} was started before {missing}", order_id, known)
        elif kind in ("step_completed", "step_skipped", "settled_done"):
            known.completed.add(step)
        elif kind == "compensation_started":
            self._check_reverse_order(known, order_id, step)
        elif kind in ("step_compensated", "settled_compensated"):
            known.compensated.add(step)
        if kind == "error" and "reason" in detail:
            known.is_unprocessable = True
        known.state = after(known.state, kind, step, attempt, detail)

    def _check_reverse_order(self, known: KnownOrder, order_id: UUID, step: str) -> None:
        later = [
            name
            for name in self._workflow.dependents[step]
            if self._workflow.by_name[name].compensation.value == "reverse" and name in known.completed
        ]
        if step in known.completed and set(later) - known.compensated:
            self._fail(
                f"I10: {step} was compensated before {set(later) - known.compensated}", order_id, known
            )

    def _check(
        self, known: KnownOrder, order_id: UUID, process: list[Any], steps: Iterable[tuple[Any, ...]]
    ) -> None:
        state, goal, _, _, open_alerts = process
        started: dict[str, tuple[str, int]] = {}
        for step in steps:
            name, status, attempt, answered, generation, compensation_generation, outcome, complete_by = step
            before = known.steps.get(name)
            if before is not None and (
                attempt < before[2]
                or answered < before[3]
                or generation < before[4]
                or compensation_generation < before[5]
            ):
                self._fail(f"I4: {name} went from {before} to {step}", order_id, known)
            if answered > attempt or attempt > (before[2] if before else 0) + 1:
                self._fail(f"I4: {name} went from {before} to {step}", order_id, known)
            if status == "running" and complete_by is None:
                self._fail(f"I7: {name} runs without an end", order_id, known)
            if state == "processed" and status not in FINISHED:
                self._fail(f"I1: processed with {name} {status}", order_id, known)
            if (
                state == "compensated"
                and outcome in ("done", "unknown")
                and status not in ("compensated", "skipped")
            ):
                declared = self._workflow.by_name[name]
                if declared.compensation.value == "reverse":
                    self._fail(f"I1: compensated with {name} {status} {outcome}", order_id, known)
            known.steps[name] = step
            if attempt:
                started[name] = (status, attempt)
        if (state == "error") != (open_alerts == 1) or open_alerts > 1:
            self._fail(f"I9: {state} with {open_alerts} open alerts", order_id, known)
        stored = OrderState(_settled(state), goal, started)
        replayed = known.state.as_stored()
        if not known.is_unprocessable and replayed._replace(state=_settled(replayed.state)) != stored:
            self._fail(f"I12: stored {stored}, replayed {known.state}", order_id, known)

    def _fail(self, what: str, order_id: UUID, known: KnownOrder) -> None:
        story = "\n    ".join(known.story)
        raise Violation(f"{what}\n  order {order_id}\n    {story}")


def _settled(state: str) -> str:
    """The state without what changes all the time: whether a scheduler has the order in hand."""
    return "open" if state in ("pending", "processing") else state


def check_effects(
    watch: Watch, ledgers: dict[str, list[dict[str, Any]]], states: dict[UUID, str], *, keyless: bool
) -> None:
    """I2: at most one effect for a key; one of each for a Processed order, none left for a Compensated one.

    A step that an operator skipped has none, and one that an operator settled has what the ledger said then.
    """
    step_of = {operation: step.name for step in watch._workflow.steps for operation in [step.operation]}
    forward: dict[str, Counter[str]] = {}
    operation_of: dict[str, str] = {}
    for service, entries in ledgers.items():
        doubled = [key for key, times in Counter(entry["key"] for entry in entries).items() if times > 1]
        if doubled:
            raise Violation(f"I2: {service} did these more than once: {doubled}")
        operation_of |= {entry["key"]: entry["operation"] for entry in entries}
    for entries in ledgers.values():
        for entry in entries:
            net = forward.setdefault(entry["order_id"], Counter())
            if entry["operation"] in FORWARD:
                net[entry["operation"]] += 1
            else:
                net[operation_of[entry["key"].rpartition("/")[0]]] -= 1
    for order_id, state in states.items():
        known = watch.orders[order_id]
        net = +forward.get(str(order_id), Counter())
        by_hand = {line.split()[1] for line in known.story if line.startswith(("step_skipped", "settled"))}
        wanted = Counter(op for op in FORWARD if step_of[op] not in by_hand)
        if any(times not in (0, 1) for times in net.values()):
            raise Violation(f"I2: {order_id} has {net}")
        without = Counter({op: times for op, times in net.items() if step_of[op] not in by_hand})
        if state == "processed" and without != wanted:
            raise Violation(f"I2: {order_id} is processed with {net}\n    " + "\n    ".join(known.story))
        if state == "compensated" and without:
            raise Violation(f"I2: {order_id} is compensated with {net}\n    " + "\n    ".join(known.story))
