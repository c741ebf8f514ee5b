"""Two sessions at one order, step by step in every interleaving, as PostgreSQL's isolation tests do it.

Both sessions have begun a transaction; each acts and commits, and there are six ways to interleave that (when a
transaction begins makes no difference at READ COMMITTED). A step that has to wait for the other session goes on when
that one has committed. Whatever the interleaving, the order must be as if one
act had come after the other: as if that one had come first which acted first. Afterwards the world goes on, and the
order ends rightly.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from orders.engine.channels import leases
from orders.engine.channels.leases import Answer
from orders.engine.errors import LeadershipLost
from orders.engine.runtime.sql import run
from orders.models import AgentReply, AgentRequest, Alert, Event, LeaderLease, OrderProcess, StepState
from orders.services import orders as order_services
from tests.support import invariants
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, make_request, step_of
from tests.support.roles import a_leader, a_scheduler, a_supervisor, all_due, answer, drain
from tests.support.two_sessions import Session
from tests.support.wait import until
from tests.support.workflows import CAKE

NewSession = Callable[[], Session]
Act = Callable[[OrderProcess], Any]
BOUND = 30.0
TABLES = ("agentreply", "agentrequest", "statusmessage", "alert", "event", "stepstate", "orderprocess")
HOST = "agents:a"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An order, two acts on it, and what they say and leave behind if the one, or the other, comes first.

    What is left behind is (process state, goal, {step: (state, attempt, failures)}) of the steps that matter.
    """

    prepare: Callable[[], OrderProcess]
    acts: tuple[Act, Act]
    said: tuple[tuple[Any, Any], tuple[Any, Any]]
    left: tuple[Any, Any]
    end: str
    also: tuple[Any, ...] = ()
    """What else may be left where neither act saw the other's end: legal, though not as if one came after the other."""


# --- acts


def a_pass(order: OrderProcess) -> None:
    """A scheduler claims what is free and takes the replies that there are."""
    scheduler_a.run_once()


def another_pass(order: OrderProcess) -> None:
    scheduler_b.run_once()


def sweep(order: OrderProcess) -> str:
    """The leader of the first term sweeps."""
    try:
        leader.run_once()
    except LeadershipLost:
        return "lost"
    return "swept"


def take_over_and_sweep(order: OrderProcess) -> str:
    """Another supervisor takes the lead, which has lapsed, and sweeps."""
    successor = a_supervisor("supervisor:b")
    if not successor.acquire():
        return "stood by"
    successor.run_once()
    return "swept"


def cancel(order: OrderProcess) -> str:
    return order_services.compensate(order_id=order.order_id, by="customer").status.value


def resubmit(order: OrderProcess) -> str:
    return order_services.resubmit(order_id=order.order_id, by="operator").status.value


def take_request(order: OrderProcess) -> int:
    """A host takes a request out of its queue."""
    return len(leases.claim(room={"kitchen": 1}, me=HOST, seconds=30.0))


def post_answer(order: OrderProcess) -> int:
    """The host that holds the request answers it."""
    request_id, deliveries = held[order.pk]
    return leases.complete([Answer(request_id, deliveries, "done", '{"did": "mix"}', 1)], me=HOST)


scheduler_a: Any
scheduler_b: Any
leader: Any
held: dict[Any, tuple[int, int]] = {}


@pytest.fixture(autouse=True)
def roles(transactional_db: None) -> None:
    """The roles whose passes are the acts; the first supervisor leads."""
    global scheduler_a, scheduler_b, leader
    scheduler_a, scheduler_b, leader = a_scheduler("scheduler:a"), a_scheduler("scheduler:b"), a_leader()


# --- orders


def with_history(order: OrderProcess) -> OrderProcess:
    """The order with the events that must have led to its rows."""
    ends = {"completed": "step_completed", "failed": "step_refused", "not_started": "step_timed_out"}
    for step in StepState.objects.filter(process_id=order.pk, attempt=1):
        end = "step_timed_out" if step.answered == 0 and step.state == "failed" else ends.get(step.state)
        for kind in filter(None, ("step_started", end)):
            Event.objects.create(
                order_id=order.pk,
                kind=kind,
                step=step.name,
                attempt=1,
                actor_kind="scheduler",
                actor_name="scheduler:test",
                detail={},
            )
    return order


def new() -> OrderProcess:
    return make_order()


def answered(outcome: str = "done") -> Callable[[], OrderProcess]:
    """Its first step is answered; the one beside it is done."""

    def prepare() -> OrderProcess:
        order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
        make_reply(step_of(order, "mix"), outcome)
        return with_history(order)

    return prepare


def overdue(*, with_reply: bool) -> Callable[[], OrderProcess]:
    """Its first step is past its complete-by; perhaps its reply was posted in time, and not yet read."""

    def prepare() -> OrderProcess:
        late = {"state": "running", "complete_by": ago(1)}
        order = make_order({"mix": late, "heat-oven": "completed"}, process_state="processing")
        if with_reply:
            make_reply(step_of(order, "mix"))
        return with_history(order)

    return prepare


def in_error(*, unknown: bool = False) -> Callable[[], OrderProcess]:
    """Its first step has failed: refused, or given up on with its reply still on its way."""

    def prepare() -> OrderProcess:
        mix: dict[str, Any] = {"state": "failed"}
        if unknown:
            mix |= {"outcome": "unknown", "answered": 0, "settles_at": ago(1), "failure_count": 3}
        failures = mix.get("failure_count", 0)
        order = make_order(
            {"mix": mix, "heat-oven": "completed"}, process_state="error", failure_count=failures
        )
        make_alert(order.order_id, step="mix")
        if unknown:
            make_reply(step_of(order, "mix"))
        return with_history(order)

    return prepare


def lapsed() -> OrderProcess:
    """An overdue step, and a leader whose lease has lapsed without its knowing."""
    LeaderLease.objects.update(expires_at=ago(1))
    return overdue(with_reply=False)()


def being_undone() -> OrderProcess:
    """It is to be undone while its first request waits for an agent."""
    order = make_order({"mix": "running", "heat-oven": "completed"}, goal="compensate")
    make_request(step_of(order, "mix"))
    return with_history(order)


def due_again() -> OrderProcess:
    """Its first step was given up on and is due again, while a host still holds the old request."""
    mix = {
        "state": "not_started",
        "attempt": 1,
        "outcome": "unknown",
        "failure_count": 1,
        "settles_at": ago(1),
    }
    order = make_order({"mix": mix, "heat-oven": "completed"})
    request = make_request(
        step_of(order, "mix"), leased_by=HOST, leased_until=ahead(30), deliveries=1, complete_by=ahead(20)
    )
    held[order.pk] = (request.pk, 1)
    return with_history(order)


SCENARIOS = {
    "claim and claim": Scenario(
        prepare=new,
        acts=(a_pass, another_pass),
        said=((None, None), (None, None)),
        left=(("processing", "complete", {"mix": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "claim and cancel": Scenario(
        prepare=new,
        acts=(a_pass, cancel),
        said=((None, "done"), (None, "done")),
        left=(
            ("processing", "compensate", {"mix": ("not_started", 1, 0)}),
            ("processing", "compensate", {"mix": ("not_started", 0, 0)}),
        ),
        end="compensated",
    ),
    "reply and reply": Scenario(
        prepare=answered(),
        acts=(a_pass, another_pass),
        said=((None, None), (None, None)),
        left=(("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),) * 2,
        end="processed",
    ),
    "reply and cancel": Scenario(
        prepare=answered(),
        acts=(a_pass, cancel),
        said=((None, "done"), (None, "done")),
        left=(
            ("processing", "compensate", {"mix": ("compensating", 2, 0), "bake": ("not_started", 1, 0)}),
            ("processing", "compensate", {"mix": ("compensating", 2, 0), "bake": ("not_started", 0, 0)}),
        ),
        end="compensated",
    ),
    "refusal and cancel": Scenario(
        prepare=answered("refused"),
        acts=(a_pass, cancel),
        said=((None, "done"), (None, "done")),
        left=(("processing", "compensate", {"mix": ("failed", 1, 0)}),) * 2,
        end="compensated",
    ),
    "reply and sweep": Scenario(
        prepare=overdue(with_reply=True),
        acts=(a_pass, sweep),
        said=((None, "swept"), (None, "swept")),
        left=(
            ("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("completed", 1, 1), "bake": ("running", 1, 0)}),
        ),
        end="processed",
    ),
    "sweep and cancel": Scenario(
        prepare=overdue(with_reply=False),
        acts=(sweep, cancel),
        said=(("swept", "done"), ("swept", "done")),
        left=(
            ("pending", "compensate", {"mix": ("not_started", 1, 1)}),
            ("pending", "compensate", {"mix": ("not_started", 1, 0)}),
        ),
        end="compensated",
    ),
    "sweep and the sweep of a new leader": Scenario(
        prepare=lapsed,
        acts=(sweep, take_over_and_sweep),
        said=(("swept", "stood by"), ("lost", "swept")),
        left=(("pending", "complete", {"mix": ("not_started", 1, 1)}),) * 2,
        end="processed",
    ),
    "resubmit and resubmit": Scenario(
        prepare=in_error(),
        acts=(resubmit, resubmit),
        said=(("done", "already"), ("already", "done")),
        left=(("processing", "complete", {"mix": ("running", 2, 0)}),) * 2,
        end="processed",
    ),
    "resubmit and cancel": Scenario(
        prepare=in_error(),
        acts=(resubmit, cancel),
        said=(("done", "done"), ("already", "done")),
        left=(
            ("processing", "compensate", {"mix": ("not_started", 1, 0)}),
            ("processing", "compensate", {"mix": ("failed", 1, 0)}),
        ),
        end="compensated",
    ),
    "resubmit and late reply": Scenario(
        prepare=in_error(unknown=True),
        acts=(resubmit, a_pass),
        said=(("done", None), ("done", None)),
        left=(
            ("processing", "complete", {"mix": ("completed", 1, 0), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("completed", 1, 3), "bake": ("running", 1, 0)}),
        ),
        end="processed",
    ),
    "an agent takes a request and it is recalled": Scenario(
        prepare=being_undone,
        acts=(take_request, a_pass),
        said=((1, None), (0, None)),
        left=(
            ("processing", "compensate", {"mix": ("running", 1, 0)}),
            ("processing", "compensate", {"mix": ("not_started", 1, 0)}),
        ),
        end="compensated",
    ),
    "an answer and the next attempt": Scenario(
        prepare=due_again,
        acts=(post_answer, a_pass),
        said=((1, None), (0, None)),
        left=(
            ("processing", "complete", {"mix": ("completed", 1, 1), "bake": ("running", 1, 0)}),
            ("processing", "complete", {"mix": ("running", 2, 1)}),
        ),
        end="processed",
        # The pass had looked for replies before the answer was there: a call too many, under the same key.
        also=(("processing", "complete", {"mix": ("running", 2, 1)}),),
    ),
}


# --- every interleaving


def interleavings() -> Iterator[tuple[int, ...]]:
    """Which session takes the next of its two steps, in all six ways."""
    for mine in combinations(range(4), 2):
        yield tuple(0 if place in mine else 1 for place in range(4))


class Side:
    """One session on its way through an act and its commit."""

    def __init__(self, session: Session, act: Act) -> None:
        self.session = session
        self.act = act
        self.acted: Future[Any] | None = None
        self._owes_commit = False
        session.begin()

    def step(self, order: OrderProcess) -> None:
        """Takes the next step; owes the commit while the act waits for the other session."""
        if self.acted is None:
            self.acted = self.session.start(lambda: self.act(order))
            until(self.is_settled, seconds=BOUND, what="an act that ends or waits")
        else:
            self._owes_commit = True
            self.catch_up()

    def catch_up(self) -> None:
        """Commits, if that is owed and can be done by now."""
        if self._owes_commit:
            until(self.is_settled, seconds=BOUND, what="an act that goes on or waits")
            if self.acted is not None and self.acted.done():
                self._owes_commit = False
                self.session.commit()

    def is_settled(self) -> bool:
        """Whether the act has ended, or waits for the other session."""
        return self.acted is not None and (self.acted.done() or self.session.is_waiting())


def interleave(
    sessions: tuple[Session, Session], scenario: Scenario, turns: tuple[int, ...], order: OrderProcess
) -> tuple[Any, Any]:
    """Runs both acts in this interleaving; returns what they said."""
    sides = [Side(session, act) for session, act in zip(sessions, scenario.acts, strict=True)]
    for turn in turns:
        sides[turn].step(order)
        sides[1 - turn].catch_up()
    said = [side.acted.result(timeout=BOUND) for side in sides if side.acted is not None]
    return said[0], said[1]


def left_by(order: OrderProcess, steps: Any) -> tuple[str, str, dict[str, tuple[str, int, int]]]:
    """What is stored of an order and of these steps."""
    row = OrderProcess.objects.get(pk=order.pk)
    found = {
        step.name: (step.state, step.attempt, step.failure_count)
        for step in StepState.objects.filter(process_id=order.pk, name__in=list(steps))
    }
    return row.process_state, row.goal, found


def poll(scenario: Scenario) -> None:
    """Whoever passed over a locked order comes again at its next poll."""
    if sweep in scenario.acts and leader._term is not None:
        with suppress(LeadershipLost):
            leader.run_once()
    if take_over_and_sweep not in scenario.acts:  # the step that is to be tried again may be due by now
        drain(scheduler_a)


def let_it_end(order: OrderProcess) -> str:
    """Every agent answers, every wait is over: the state that the order ends in."""
    for _ in range(30):
        run("UPDATE orders_agentrequest SET leased_by = NULL, leased_until = NULL")
        all_due(order)
        drain(scheduler_a)
        if not answer(order=order) and not AgentReply.objects.exists():
            state = OrderProcess.objects.get(pk=order.pk).process_state
            if state in ("processed", "compensated", "error"):
                return state
    raise AssertionError(f"no end: {left_by(order, CAKE.by_name)}")


def check_history(order: OrderProcess) -> None:
    """The invariants that an order's history and rows must keep."""
    ids = [order.order_id]
    invariants.predecessors_first(ids, CAKE)
    invariants.attempts_only_grow(ids)
    invariants.undone_in_reverse(ids, CAKE)
    invariants.one_instance_per_transition(ids)
    invariants.every_error_has_one_alert()
    assert not AgentRequest.objects.exists()
    assert Alert.objects.filter(closed_at=None).count() == 0


@pytest.mark.pattern("C2", "C3", "C6", "C9", "C10", "V2", "V6", "O2", "A5", "F5", "F9", "F13", "F19", "F33")
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_two_sessions_in_every_interleaving(scenario: Scenario, new_session: NewSession) -> None:
    """I4, I5, I6, I9, I10."""
    sessions = new_session(), new_session()
    for session in sessions:
        session.do(allow_time)
    seen: list[Any] = []
    for turns in interleavings():
        order = scenario.prepare()
        said = interleave(sessions, scenario, turns, order)
        first = turns[0]
        poll(scenario)
        left = left_by(order, CAKE.by_name)
        come_to = (said, left)
        as_if_serial = (scenario.said[first], scenario.left[first])
        legal = [as_if_serial, *((scenario.said[first], one) for one in scenario.also)]
        assert any(said == words and _agrees(left, rows) for words, rows in legal), (turns, come_to, legal)
        if come_to not in seen:
            seen.append(come_to)
            assert let_it_end(order) == scenario.end, turns
            check_history(order)
        start_afresh()


def _agrees(left: Any, expected: Any) -> bool:
    """Whether an order is as it is expected to be, in the steps that are named."""
    steps = {name: left[2][name] for name in expected[2]}
    return bool((left[0], left[1], steps) == expected)


def allow_time() -> None:
    """Lets transactions of this session stay open for as long as a busy machine may need for the other session."""
    run("SET transaction_timeout = '60s'")
    run("SET idle_in_transaction_session_timeout = '60s'")


def start_afresh() -> None:
    """Takes everything about the order away, and gives the lead back to the first supervisor."""
    for table in TABLES:
        run(f"DELETE FROM orders_{table}")
    LeaderLease.objects.update(holder=None, expires_at=None)
    leader._term = None
    assert leader.acquire()
