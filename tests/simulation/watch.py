"""The invariants, checked after every commit for the orders that it changed, and at the end for all.

The numbers are those of docs/failure-modes.md. `tests.support.invariants` checks them at the end of other tests.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.branches import declared_name, is_item, item_name
from orders.engine.contracts import Compensation, Workflow
from orders.engine.rows import read_key
from tests.simulation.database import Database
from tests.simulation.kernel import Violation
from tests.support.invariants import FORWARD, ONCE_AN_ATTEMPT, Ledgers
from tests.support.replay import OrderState, after

FINISHED = frozenset({"completed", "skipped"})
PROCESSES = """
SELECT p.order_id, p.process_state, p.goal,
       (SELECT count(*) FROM orders_alert AS a WHERE a.order_id = p.order_id AND a.closed_at IS NULL)
  FROM orders_orderprocess AS p WHERE p.order_id = ANY(%s)
"""
STEPS = """
SELECT order_id, name, state, attempt, answered, generation, compensation_generation, outcome, complete_by
  FROM orders_stepstate WHERE order_id = ANY(%s) ORDER BY order_id, position, id
"""
EVENTS = """
SELECT order_id, kind, step, attempt, detail, actor_kind, actor_name
  FROM orders_event WHERE id = ANY(%s) ORDER BY id
"""
ANSWERS = frozenset(
    {
        "step_completed",
        "step_refused",
        "step_declined",
        "step_failed",
        "step_compensated",
        "step_renewed",
        "compensation_failed",
    }
)
"""What an answer leads to. It counts for the step's latest attempt alone."""
KEYS_MISUSED = frozenset({"idempotency_key_reused", "reversed"})
"""What the remote services say of a key that they have seen with another body, or that was reversed before."""
LAST_MESSAGE = {"processed": "completed", "compensated": "compensated", "error": "failed"}
NEW = OrderState("pending", "complete", {})


class SeenStep(NamedTuple):
    """A step as it is stored; before it was stored, what it starts as."""

    name: str
    state: str = "not_started"
    attempt: int = 0
    answered: int = 0
    generation: int = 1
    compensation_generation: int = 1
    outcome: str = "none"
    complete_by: datetime | None = None


@dataclass
class KnownOrder:
    """What the committed events of an order have said so far, and its steps as they were last seen."""

    state: OrderState = NEW
    transitions: set[tuple[str, str, int]] = field(default_factory=set)
    completed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    compensated: set[str] = field(default_factory=set)
    items: dict[str, int] = field(default_factory=dict)
    """How many items each step has that runs for each of a list."""
    steps: dict[str, SeenStep] = field(default_factory=dict)
    by_hand: set[str] = field(default_factory=set)
    """The steps that an operator has skipped or settled."""
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
        steps: dict[UUID, list[SeenStep]] = {}
        for order_id, *step in monitor.execute(STEPS, [changed]):
            steps.setdefault(order_id, []).append(SeenStep._make(step))
        for order_id, *process in monitor.execute(PROCESSES, [changed]):
            self._check(self.orders.setdefault(order_id, KnownOrder()), order_id, process, steps[order_id])

    def _note_event(
        self, order: KnownOrder, order_id: UUID, kind: str, step: str, attempt: int, detail: Any, *actor: str
    ) -> None:
        self.events[kind] += 1
        order.story.append(f"{kind} {step} {attempt} by {actor[1]} {detail or ''}")
        if kind in ONCE_AN_ATTEMPT:
            if (kind, step, attempt) in order.transitions:
                self._fail("I5: made twice", order_id, order)
            order.transitions.add((kind, step, attempt))
        if kind in ANSWERS and attempt != order.state.steps.get(step, ("", 0))[1]:
            self._fail(f"I4: {step} took the answer of attempt {attempt}", order_id, order)
        if (detail.get("error") or {}).get("code") in KEYS_MISUSED:
            self._fail(
                f"I2: {step} used its key again with another body, or after it was reversed", order_id, order
            )
        if kind == "step_started":
            missing = set(self._workflow.step_of(step).after) - order.completed - order.skipped
            if missing or step in order.items:
                self._fail(f"I3: {step} was started before {missing}", order_id, order)
        elif kind in ("step_completed", "settled_done"):
            self._check_items(order, order_id, step)
            order.completed.add(step)
        elif kind == "step_skipped":
            order.skipped.add(step)
        elif kind == "awaiting" and detail["kind"] == "items":
            order.items[step] = detail["items"]
        elif kind == "compensation_started":
            self._check_reverse_order(order, order_id, step)
        elif kind in ("step_compensated", "settled_compensated"):
            order.compensated.add(step)
        if actor[0] == "operator" and (kind == "step_skipped" or kind.startswith("settled")):
            order.by_hand.add(step)
        if kind == "error" and "reason" in detail:
            self._fail(f"rule 11: a pass failed with {detail['reason']}", order_id, order)
        order.state = after(order.state, kind, step, attempt, detail)

    def _check_items(self, order: KnownOrder, order_id: UUID, step: str) -> None:
        """I3: all items of a step have ended before it completes."""
        items = {item_name(step, number) for number in range(1, order.items.get(step, 0) + 1)}
        if missing := items - order.completed - order.skipped:
            self._fail(f"I3: {step} was completed before {missing}", order_id, order)

    def _check_reverse_order(self, order: KnownOrder, order_id: UUID, step: str) -> None:
        if step in order.items:
            self._fail(f"I10: {step} was compensated, which only joins its items", order_id, order)
        dependents = self._workflow.dependents[declared_name(step)]
        later = [
            name
            for name in order.completed - order.items.keys()
            if declared_name(name) in dependents
            and self._workflow.step_of(name).compensation is Compensation.REVERSE
        ]
        if step in order.completed and set(later) - order.compensated:
            self._fail(
                f"I10: {step} was compensated before {set(later) - order.compensated}", order_id, order
            )

    def _check(
        self, order: KnownOrder, order_id: UUID, process: list[Any], steps: Iterable[SeenStep]
    ) -> None:
        state, goal, open_alerts = process
        started: dict[str, tuple[str, int]] = {}
        for step in steps:
            if fault := self._fault_of(step, order.steps.get(step.name, SeenStep(step.name)), state):
                self._fail(fault, order_id, order)
            order.steps[step.name] = step
            if step.attempt:
                started[step.name] = (step.state, step.attempt)
        if open_alerts != int(state == "error"):
            self._fail(f"I9: {state} with {open_alerts} open alerts", order_id, order)
        stored = OrderState(_settled(state), goal, started)
        replayed = order.state.as_stored()
        if replayed._replace(state=_settled(replayed.state)) != stored:
            self._fail(f"I12: stored {stored}, replayed {order.state}", order_id, order)

    def _fault_of(self, step: SeenStep, before: SeenStep, state: str) -> str:
        """What is wrong with a step of an order in this state; empty if nothing is."""
        grows = ("attempt", "answered", "generation", "compensation_generation")
        if any(getattr(step, name) < getattr(before, name) for name in grows):
            return f"I4: went from {before} to {step}"
        if not step.answered <= step.attempt <= before.attempt + 1:
            return f"I4: went from {before} to {step}"
        if step.state == "running" and step.complete_by is None:
            return f"I7: runs without an end: {step}"
        if state == "processed" and step.state not in FINISHED:
            return f"I1: processed with {step}"
        is_left = step.outcome in ("done", "unknown") and step.state not in ("compensated", "skipped")
        declared = self._workflow.step_of(step.name)
        joins = declared.each is not None and not is_item(step.name)
        is_reversible = declared.compensation is Compensation.REVERSE and not joins
        if state == "compensated" and is_left and is_reversible:
            return f"I1: compensated with {step}"
        return ""

    def check_effects(self, ledgers: Ledgers, states: Mapping[UUID, str]) -> None:
        """I2: at most one effect for a key; one of each for a Processed order, none left for a Compensated one.

        A step that an operator has skipped or settled may have its effect, or not.
        """
        for service, entries in ledgers.items():
            doubled = [key for key, times in Counter(entry["key"] for entry in entries).items() if times > 1]
            if doubled:
                raise Violation(f"I2: {service} did these more than once: {doubled}")
        effects = _net_effects(ledgers)
        for order_id, state in states.items():
            order, net = self.orders[order_id], effects.get(str(order_id), Counter())
            if any(times not in (0, 1) for times in net.values()):
                self._fail(f"I2: {net}", order_id, order)
            standing = set(+net) - order.by_hand
            if state == "processed" and standing != self._due(order) - order.by_hand:
                self._fail(f"I2: processed with {net}", order_id, order)
            if state == "compensated" and standing:
                self._fail(f"I2: compensated with {net}", order_id, order)

    def _due(self, order: KnownOrder) -> set[str]:
        """The steps and items that must have had their effect once the order is processed."""
        return {
            name
            for name in order.steps.keys() - order.items.keys() - order.skipped
            if self._workflow.step_of(name).operation in FORWARD
        }

    def check_messages(self, order_id: UUID, state: str, messages: Sequence[str], *, declined: int) -> None:
        """Q3: the application was told once that the order was received and started, once of each decline while the
        order was not being compensated, and last how it ended."""
        times = Counter(messages)
        ends = [kind for kind in messages if kind != "payment_declined"]
        counts = times["received"], times["payment_declined"], min(times["started"], 1)
        if counts != (1, declined, times["started"]) or ends[-1] != LAST_MESSAGE[state]:
            self._fail(
                f"Q3: {state}, and the application was told {messages}", order_id, self.orders[order_id]
            )

    def _fail(self, what: str, order_id: UUID, order: KnownOrder) -> None:
        story = "\n    ".join(order.story)
        raise Violation(f"{what}\n  order {order_id}\n    {story}")


def _settled(state: str) -> str:
    """The state without what changes all the time: whether a scheduler has the order in hand."""
    return "open" if state in ("pending", "processing") else state


def _net_effects(ledgers: Ledgers) -> dict[str, Counter[str]]:
    """How often each order's steps and items were done and not reversed."""
    effects: dict[str, Counter[str]] = {}
    for entry in (entry for of_service in ledgers.values() for entry in of_service):
        key = read_key(entry["key"])
        assert key is not None
        effects.setdefault(entry["order_id"], Counter())[key.step] += -1 if key.compensates else 1
    return effects
