"""Two acts on one order by two sessions: the orders, the acts, and what happens after them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from orders.engine.callbacks import issue_token
from orders.engine.channels import leases
from orders.engine.channels.leases import Answer
from orders.engine.errors import LeadershipLost
from orders.engine.runtime.sql import run
from orders.models import AgentReply, Event, LeaderLease, OrderProcess, StepState
from orders.services import order_changes
from orders.services.answers import AlreadyAnsweredError, TooLateError, answer_callback
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, make_request, step_of
from tests.support.roles import a_leader, a_scheduler, a_supervisor, all_due, answer, drain
from tests.support.workflows import CAKE

Act = Callable[[OrderProcess], Any]
BOUND = 60.0
TABLES = (
    "agentreply",
    "agentrequest",
    "statusmessage",
    "statuscount",
    "alert",
    "event",
    "stepstate",
    "orderprocess",
)
HOST = "agents:a"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """An order, two acts on it, and for either act coming first the results and the state that is left.

    That state is (process state, goal, {step: (state, attempt, failures)}), with the steps that matter.
    """

    prepare: Callable[[], OrderProcess]
    acts: tuple[Act, Act]
    results: tuple[tuple[Any, Any], tuple[Any, Any]]
    states: tuple[Any, Any]
    end: str
    also: tuple[Any, ...] = ()
    """Other legal states, where neither act saw the end of the other and the result is not that of a serial run."""


def a_pass(order: OrderProcess) -> None:
    """A scheduler claims free orders and takes the waiting replies."""
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
    """Another supervisor takes the lapsed lead and sweeps."""
    successor = a_supervisor("supervisor:b")
    if not successor.acquire():
        return "stood by"
    successor.run_once()
    return "swept"


def cancel(order: OrderProcess) -> str:
    return order_changes.compensate_order(order_id=order.order_id, by="customer").status.value


def resubmit(order: OrderProcess) -> str:
    return order_changes.resubmit_order(order_id=order.order_id, by="operator").status.value


def take_request(order: OrderProcess) -> int:
    """A host takes a request out of its queue."""
    return len(leases.claim(room={"kitchen": 1}, me=HOST, seconds=30.0))


def post_answer(order: OrderProcess) -> int:
    """The host that holds the request answers it."""
    request_id, deliveries = held[order.pk]
    return leases.complete([Answer(request_id, deliveries, "done", '{"did": "mix"}', 1)], me=HOST)


def call_back(order: OrderProcess) -> str:
    """The remote service answers the call that it has taken."""
    try:
        answer_callback(token=issue_token(f"{order.pk}/mix/1"), result={"did": "mix"})
    except AlreadyAnsweredError:
        return "already"
    except TooLateError:
        return "late"
    return "taken"


scheduler_a: Any
scheduler_b: Any
leader: Any
held: dict[Any, tuple[int, int]] = {}


@pytest.fixture(autouse=True)
def roles(transactional_db: None) -> None:
    """The roles whose passes are the acts. The first supervisor leads."""
    global scheduler_a, scheduler_b, leader
    scheduler_a, scheduler_b, leader = a_scheduler("scheduler:a"), a_scheduler("scheduler:b"), a_leader()


def with_history(order: OrderProcess) -> OrderProcess:
    """The order, with the events that must have led to its rows."""
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
    """An order whose first step is answered and whose parallel step is done."""

    def prepare() -> OrderProcess:
        order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
        make_reply(step_of(order, "mix"), outcome)
        return with_history(order)

    return prepare


def overdue(*, with_reply: bool) -> Callable[[], OrderProcess]:
    """An order whose first step is past its complete-by, with or without a reply posted in time and not yet read."""

    def prepare() -> OrderProcess:
        late = {"state": "running", "complete_by": ago(1)}
        order = make_order({"mix": late, "heat-oven": "completed"}, process_state="processing")
        if with_reply:
            make_reply(step_of(order, "mix"))
        return with_history(order)

    return prepare


def in_error(*, unknown: bool = False) -> Callable[[], OrderProcess]:
    """An order whose first step has failed: refused, or given up on with its reply still on its way."""

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


def parked(**fields: Any) -> Callable[[], OrderProcess]:
    """An order whose first step waits for an answer that comes later."""

    def prepare() -> OrderProcess:
        waits = {
            "state": "awaiting",
            "outcome": "unknown",
            "awaits": {"kind": "answer", "reference": "job-7"},
        }
        times = {"sent_at": ago(9), "awaits_until": ahead(600), "complete_by": ahead(600)}
        of_now = {name: value() if callable(value) else value for name, value in fields.items()}
        order = make_order({"mix": waits | times | of_now, "heat-oven": "completed"}, not_before=ago(1))
        return with_history(order)

    return prepare


def put_off() -> OrderProcess:
    """An order whose first step is about to be parked."""
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    pending = {"within": 600.0, "reference": "job-7", "poll_after": None}
    make_reply(step_of(order, "mix"), "pending", pending)
    return with_history(order)


def lapsed() -> OrderProcess:
    """An order with an overdue step, and a leader that does not know that its lease has lapsed."""
    LeaderLease.objects.update(expires_at=ago(1))
    return overdue(with_reply=False)()


def being_compensated() -> OrderProcess:
    """An order to compensate, whose first request waits for an agent."""
    order = make_order({"mix": "running", "heat-oven": "completed"}, goal="compensate")
    make_request(step_of(order, "mix"))
    return with_history(order)


def due_again() -> OrderProcess:
    """An order whose first step was given up on and is due again, while a host still holds the old request."""
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


def left_by(order: OrderProcess, steps: Any) -> tuple[str, str, dict[str, tuple[str, int, int]]]:
    """The stored state of an order and of these steps."""
    row = OrderProcess.objects.get(pk=order.pk)
    step_states = {
        step.name: (step.state, step.attempt, step.failure_count)
        for step in StepState.objects.filter(process_id=order.pk, name__in=list(steps))
    }
    return row.process_state, row.goal, step_states


def poll(scenario: Scenario) -> None:
    """Runs the next poll of the roles that passed over the locked order."""
    if sweep in scenario.acts and leader._term is not None:
        with suppress(LeadershipLost):
            leader.run_once()
    if take_over_and_sweep not in scenario.acts:  # a step that waits for its retry may be due by now
        drain(scheduler_a)


def let_it_end(order: OrderProcess) -> str:
    """Has every agent answer and every wait end; returns the state in which the order ends."""
    for _ in range(30):
        run("UPDATE orders_agentrequest SET leased_by = NULL, leased_until = NULL")
        all_due(order)
        drain(scheduler_a)
        if not answer(order=order) and not AgentReply.objects.exists():
            state = OrderProcess.objects.get(pk=order.pk).process_state
            if state in ("processed", "compensated", "error"):
                return state
    raise AssertionError(f"no end: {left_by(order, CAKE.by_name)}")


def start_afresh() -> None:
    """Deletes everything about the order, and gives the lead back to the first supervisor."""
    for table in TABLES:
        run(f"DELETE FROM orders_{table}")
    LeaderLease.objects.update(holder=None, expires_at=None)
    leader._term = None
    assert leader.acquire()
