"""Orders of the shop in every legal combination of their steps' states, as their customers see them. Pure.

A step may have begun once the steps before it are finished; a step whose result another needs is never skipped; and on
the way back effects are reversed in the opposite order, with the notice last.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from babel import Locale

from orders.fields.money import Money
from orders.selectors.customer_order import CustomerLine, CustomerOrder, customer_step
from orders.selectors.order_waits import Waiting
from orders.selectors.tracked_orders import Occurrence, TrackedOrder
from orders.shop.fulfilment import fulfil_order
from orders.shop.time_limits import TimeLimits
from orders.vocabulary import WaitingFor
from orders.wording.customers.progress import Progress, progress

FULFIL = fulfil_order(TimeLimits())
STOCK, APPROVAL, SHIPMENT, CAPTURE, EMAIL = STEPS = tuple(FULFIL.by_name)
BOTH = {STOCK: "completed", APPROVAL: "completed"}
SENT = {**BOTH, SHIPMENT: "completed"}
PAID = {**SENT, CAPTURE: "completed"}
WHOLE = {**PAID, EMAIL: "completed"}
PLACED = datetime(2026, 11, 20, 12, tzinfo=UTC)
NEEDED = {need for step in FULFIL.steps for need in step.needs}
MOMENTS = (
    *("complete_by", "started_at", "completed_at", "not_before", "awaits_until"),
    *("waiting_since", "wanted_since", "paused_since", "compensation_sent_at"),
)
UNTOUCHED: Mapping[str, Any] = {
    **dict.fromkeys(("error", "awaits", *MOMENTS)),
    **{"state": "not_started", "attempt": 0, "outcome": "none"},
}


def at(seconds: float) -> datetime:
    """A moment, by the seconds since the order was placed."""
    return PLACED + timedelta(seconds=seconds)


AGAIN = {"attempt": 1, "outcome": "unknown"}
REFUSED = {"state": "failed", "attempt": 1, "outcome": "refused"}
OPEN: Mapping[str, Mapping[str, Any]] = {
    "not started": {},
    "held": {"waiting_since": PLACED},
    "held again": {**AGAIN, "waiting_since": PLACED},
    "paused": {"paused_since": PLACED},
    "to be retried": {**AGAIN, "not_before": at(500)},
    "running": {**AGAIN, "state": "running", "complete_by": at(500)},
    "running again": {"attempt": 2, "outcome": "unknown", "state": "running", "complete_by": at(500)},
    "probed": {**AGAIN, "state": "running", "wanted_since": PLACED, "complete_by": at(500)},
    "refused": {**REFUSED, "error": {"code": "no", "message": "no"}},
    "failed": {**REFUSED, "attempt": 3, "outcome": "unknown", "error": {"code": "http_503", "message": "no"}},
    "reversed first": {**AGAIN, "state": "compensating"},
    "declined": {
        **REFUSED,
        "error": {"code": "card_declined", "message": "no", "waits_for": "customer"},
        "not_before": at(3_600),
    },
}
ALIKE = ("held", "paused", "again", "probed", "reversed first", "settled")
"""What is like another state on the way back, where no step waits for its turn and nobody counts attempts."""
COMPLETED: Mapping[str, Any] = {"state": "completed", "attempt": 1, "outcome": "done"}
SKIPPED: Mapping[str, Any] = {"state": "skipped"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An order by its steps' columns and the moments of its events; `name` says how its steps stand."""

    name: str
    steps: Mapping[str, Mapping[str, Any]]
    events: Mapping[tuple[str, str], datetime]
    state: str
    goal: str = "complete"
    why: str = "operator_requested"
    quantity: int = 1
    is_paused: bool = False

    @property
    def tracked(self) -> TrackedOrder:
        """What the page has of it."""
        rows = [{**UNTOUCHED, **self.steps[name], "name": name} for name in STEPS]
        line = CustomerLine(
            sku="s", title="", quantity=self.quantity, unit_price=Money(amount=3_900, currency="EUR")
        )
        view = CustomerOrder(
            id=UUID(int=0), workflow=FULFIL.name, workflow_version=1, subject="", title="", version="1",
            state=self.state, goal=self.goal, placed_at=PLACED, updated_at=PLACED, promised_by=at(600),
            total=Money(amount=3_900 * self.quantity, currency="EUR"), lines=(line,),
            steps=[customer_step(row, self.goal) for row in rows],
            pause=Waiting(WaitingFor.OPERATOR) if self.is_paused else None,
        )  # fmt: skip
        details = {("compensation_requested", ""): {"why": self.why}}
        occurrences = {
            key: Occurrence(at=moment, attempt=1, detail=details.get(key, {}))
            for key, moment in self.events.items()
        }
        return TrackedOrder(order=view, email="", data={}, occurrences=occurrences)

    def read(self, *, after: float = 60, usual: float | None = 180) -> Progress:
        """What its customer reads so many seconds after she ordered."""
        return progress(self.tracked, now=at(after), locale=Locale("en"), usual=usual)


def forward(states: Mapping[str, str], **fields: Any) -> Case:
    """An order on its way forward, by the names of its steps' states: of `OPEN`, "completed", "settled" or
    "skipped". Steps are done every ten seconds."""
    columns: dict[str, Mapping[str, Any]] = {}
    events: dict[tuple[str, str], datetime] = {}
    for number, name in enumerate(STEPS, 1):
        word = states.get(name, "not started")
        columns[name] = OPEN.get(word, SKIPPED if word == "skipped" else COMPLETED)
        if word in ("completed", "settled"):
            columns[name] = {**COMPLETED, "completed_at": at(10 * number)}
            events["step_completed" if word == "completed" else "settled_done", name] = at(10 * number)
    return Case(
        **{
            "name": ", ".join(f"{name} {word}" for name, word in states.items()) or "untouched",
            "steps": columns,
            "events": events,
            "state": _state_of(columns),
            **fields,
        }
    )


def _state_of(columns: Mapping[str, Mapping[str, Any]]) -> str:
    states = {step.get("state", "not_started") for step in columns.values()}
    if any(step.get("state") == "failed" and "not_before" not in step for step in columns.values()):
        return "error"
    if states <= {"completed", "skipped"}:
        return "processed"
    return "processing" if states & {"running", "compensating"} else "pending"


def every_way_forward() -> Iterator[Case]:
    """Every legal combination of the states of an order's steps on its way forward."""
    for stock in _words_of(STOCK):
        for approval in _words_of(APPROVAL):
            for states in _further({STOCK: stock, APPROVAL: approval}, (SHIPMENT, CAPTURE, EMAIL)):
                yield forward(states)


def _further(states: Mapping[str, str], rest: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    if not rest or any(word in OPEN for word in states.values()):
        yield states
        return
    for word in _words_of(rest[0]):
        yield from _further({**states, rest[0]: word}, rest[1:])


def _words_of(step: str) -> list[str]:
    words = [word for word in OPEN if word != "declined" or step == APPROVAL]
    return [*words, "completed", "settled", *([] if step in NEEDED else ["skipped"])]


def every_way_back(begun: Case) -> Iterator[Case]:
    """An order as it is cancelled, and after each thing that can happen until all of it is reversed."""
    if any(word in begun.name for word in ALIKE):
        return
    cancelled = cancel(begun)
    yield cancelled
    *effects, notice = [*_to_reverse(begun), EMAIL]
    for name in (*effects, notice):
        if cancelled.steps[name].get("state") == "running":
            return  # it is awaited first
        for word, columns in REVERSING.items():
            steps = {**cancelled.steps, name: {**cancelled.steps[name], **columns}}
            state = "error" if word == "failed" else "processing" if word == "under way" else "pending"
            yield replace(cancelled, name=f"{cancelled.name}; {name} {word}", steps=steps, state=state)
        cancelled = reversed_step(cancelled, name)
        yield cancelled
    yield end(cancelled)


REVERSING: Mapping[str, Mapping[str, Any]] = {
    "under way": {"state": "compensating", "attempt": 4, "complete_by": at(1_500)},
    "held": {"state": "compensating", "attempt": 4, "waiting_since": at(1_000), "not_before": None},
    "probed": {"state": "compensating", "attempt": 4, "wanted_since": at(1_000), "complete_by": at(1_500)},
    "tried again": {"state": "compensating", "attempt": 4, "not_before": at(1_500)},
    "failed": {
        "state": "failed",
        "attempt": 6,
        "not_before": None,
        "error": {"code": "no", "message": "no"},
    },
}


def cancel(begun: Case, why: str = "operator_requested") -> Case:
    """The order at the moment at which it is cancelled."""
    steps = {
        name: {**step, "waiting_since": None, "wanted_since": None} for name, step in begun.steps.items()
    }
    return replace(
        begun,
        name=f"{begun.name}; cancelled",
        steps=steps,
        events={**begun.events, ("compensation_requested", ""): at(1_000)},
        goal="compensate",
        why=why,
        state="pending",
    )


def reversed_step(case: Case, name: str) -> Case:
    """The order once one more step is reversed, ten seconds after the one before."""
    number = sum(kind == "step_compensated" for kind, _ in case.events) + 1
    columns = {**case.steps[name], "state": "compensated", "attempt": 4, "not_before": None, "error": None}
    columns |= {"waiting_since": None, "wanted_since": None}
    return replace(
        case,
        name=f"{case.name}; {name} reversed",
        steps={**case.steps, name: columns},
        events={**case.events, ("step_compensated", name): at(1_000 + 10 * number)},
    )


def end(case: Case) -> Case:
    """The order once all of it is reversed."""
    return replace(
        case,
        name=f"{case.name}; all of it",
        state="compensated",
        events={**case.events, ("compensated", ""): at(1_200)},
    )


def all_reversed(begun: Case, why: str = "operator_requested") -> Case:
    """The order, cancelled and over."""
    case = cancel(begun, why)
    for name in (*_to_reverse(begun), EMAIL):
        case = reversed_step(case, name)
    return end(case)


def _to_reverse(case: Case) -> list[str]:
    """The steps that have or may have an effect, the last first, without the notice."""
    return [
        name
        for name in reversed(STEPS[:-1])
        if case.steps[name].get("outcome", "none") in ("done", "unknown")
    ]


def every_order() -> Iterator[Case]:
    """Every legal combination, forward and back; of those that go forward also as an operator pauses them."""
    for case in every_way_forward():
        yield case
        if case.state in ("pending", "error"):
            yield replace(case, name=f"{case.name}; paused", is_paused=True)
        yield from every_way_back(case)
