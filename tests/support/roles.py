"""The roles, ready for a test to run, and short names for what a test asks about an order."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeVar
from uuid import UUID

from django.db import connection

from orders.engine.agent_host.role import AgentHost, HostConfig
from orders.engine.contracts import Agent, Workflows
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.loop import Counts
from orders.engine.runtime.sql import fetch, run
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.engine.supervisor.role import Supervisor, SupervisorConfig
from orders.models import AgentReply, AgentRequest, Alert, Event, OrderProcess, StatusMessage, StepState
from tests.support.factories import make_reply
from tests.support.workflows import CAKES

T = TypeVar("T")


class Role(Protocol):
    """Anything that runs passes."""

    def run_once(self) -> Counts: ...


def a_scheduler(
    instance: str = "scheduler:a", *, batch: int = 200, workflows: Workflows = CAKES
) -> Scheduler:
    """A scheduler, and a live host for every agent, since nothing is sent to an agent that nobody runs."""
    staff(workflows)
    return Scheduler(config=SchedulerConfig(instance=instance, batch=batch), workflows=workflows)


def staff(workflows: Workflows = CAKES, *, capacity: int = 100_000) -> None:
    """A live host for every agent of these workflows."""
    run(
        """
        INSERT INTO orders_agentinstance (instance, agent, capacity, in_flight, calls, failed_calls, recent_calls,
                                          recent_failures, seen_at)
        SELECT 'agents:test', name, %s, 0, 0, 0, 0, 0, clock_timestamp() + interval '1 day'
          FROM unnest(%s::text[]) AS name
            ON CONFLICT DO NOTHING
        """,
        [capacity, sorted({step.agent for workflow in workflows.values() for step in workflow.steps})],
    )


def a_leader(
    instance: str = "supervisor:a",
    *,
    batch: int = 500,
    threshold: int = 3,
    workflows: Workflows = CAKES,
    confirm: float = 0.0,
    pause: Callable[[float], None] = time.sleep,
) -> Supervisor:
    """A supervisor that leads."""
    supervisor = a_supervisor(
        instance, batch=batch, threshold=threshold, workflows=workflows, confirm=confirm, pause=pause
    )
    assert supervisor.acquire()
    return supervisor


def a_supervisor(
    instance: str = "supervisor:a",
    *,
    batch: int = 500,
    threshold: int = 3,
    workflows: Workflows = CAKES,
    confirm: float = 0.0,
    pause: Callable[[float], None] = time.sleep,
) -> Supervisor:
    staff(workflows)
    rules = RetryRules(threshold=threshold)
    return Supervisor(
        config=SupervisorConfig(instance=instance, batch=batch, rules=rules, confirm=confirm),
        workflows=workflows,
        pause=pause,
    )


def a_host(*agents: Agent, instance: str = "agents:a", **config: float) -> AgentHost:
    return AgentHost(config=HostConfig(instance=instance, **config), agents=agents)


def drain(role: Role, *, passes: int = 60) -> Counter[str]:
    """Runs passes until the role has nothing to do, and adds up what it did. Fails after `passes`."""
    total: Counter[str] = Counter()
    for _ in range(passes):
        counts = role.run_once()
        total.update(counts.done)
        if not counts.busy:
            return total
    raise AssertionError(f"still busy after {passes} passes: {total}")


def in_thread(work: Callable[[], T]) -> "Future[T]":
    """Runs work in a thread of its own, with a database connection of its own that is closed at the end."""
    future: Future[T] = Future()

    def run_it() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the future hands it on
            future.set_exception(error)
        finally:
            connection.close()

    threading.Thread(target=run_it, daemon=True).start()
    return future


@contextmanager
def running(host: AgentHost) -> Iterator["Future[None]"]:
    """Runs a host in a thread until the block ends, and raises its error if it had one."""
    ended = in_thread(lambda: asyncio.run(host.run()))
    try:
        yield ended
    finally:
        host.stop()
        try:
            ended.result(timeout=60)
        except BaseException:
            # A host that broke leaves its connections open, which would disturb the next tests.
            for thread in (host._exchanges, host._care, host._reports):
                with suppress(RuntimeError):
                    thread._executor.submit(lambda: connection.close()).result(timeout=60)
            raise


def end_other_connections() -> int:
    """Cuts every other connection to the test's database; returns how many there were."""
    return len(
        fetch(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            """
        )
    )


# What a test asks about an order.


def stored(order: OrderProcess | UUID) -> OrderProcess:
    """The process as it is stored now."""
    return OrderProcess.objects.get(pk=_id(order))


def states(order: OrderProcess | UUID) -> dict[str, str]:
    """The state of every step that is not `not_started`."""
    rows = StepState.objects.filter(process_id=_id(order)).order_by("position")
    return {row.name: row.state for row in rows if row.state != "not_started"}


def everything(order: OrderProcess | UUID) -> tuple[Any, ...]:
    """The whole record of an order, to compare before and after."""
    return (
        OrderProcess.objects.filter(pk=_id(order)).values().get(),
        list(StepState.objects.filter(process_id=_id(order)).order_by("position").values()),
    )


def history(order: OrderProcess | UUID, *kinds: str) -> list[tuple[str, str]]:
    """The order's history as (kind, step), oldest first: all events, or those of these kinds."""
    events = Event.objects.filter(order_id=_id(order)).order_by("id").values_list("kind", "step")
    return [event for event in events if not kinds or event[0] in kinds]


def event_of(order: OrderProcess | UUID, kind: str) -> Event:
    """The one event of that kind."""
    return Event.objects.get(order_id=_id(order), kind=kind)


def status_kinds(order: OrderProcess | UUID) -> list[str]:
    """The status messages to the submitting application, oldest first."""
    return list(
        StatusMessage.objects.filter(order_id=_id(order)).order_by("id").values_list("kind", flat=True)
    )


def alerts_of(order: OrderProcess | UUID) -> list[tuple[str, str, str]]:
    """Every alert that the order ever had, as (kind, step, code)."""
    return list(Alert.objects.filter(order_id=_id(order)).order_by("id").values_list("kind", "step", "code"))


def requested_steps(order: OrderProcess | UUID | None = None) -> set[str]:
    """The steps that requests are waiting for."""
    requests = AgentRequest.objects.all()
    if order is not None:
        requests = requests.filter(order_id=_id(order))
    return set(requests.values_list("step", flat=True))


def answer(
    outcome: str = "done", body: Any = None, *, order: OrderProcess | UUID, only: Sequence[str] | None = None
) -> set[str]:
    """Plays the agents: takes the order's requests, or those of some steps, and replies. Returns their steps."""
    requests = list(AgentRequest.objects.filter(order_id=_id(order)))
    taken = [request for request in requests if only is None or request.step in only]
    for request in taken:
        step = StepState.objects.get(pk=request.step_id)
        result = {"did": request.step} if outcome == "done" and body is None else body
        make_reply(step, outcome, result, attempt=request.attempt, compensates=request.compensates)
        request.delete()
    return {request.step for request in taken}


def answer_everything() -> int:
    """Plays all agents in one statement: does every request, and returns how many there were."""
    return run(
        """
        WITH taken AS (DELETE FROM orders_agentrequest RETURNING order_id, step_id, attempt, compensates)
        INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
        SELECT order_id, step_id, attempt, compensates, 'done', '{}', 1, 'agents:test' FROM taken
        """
    )


def clones(order: OrderProcess, number: int) -> list[UUID]:
    """This many copies of an order with its steps, in two statements."""
    ids = [
        order_id
        for (order_id,) in fetch(
            f"""
            INSERT INTO orders_orderprocess ({_columns(OrderProcess)})
            SELECT {_columns(OrderProcess, order_id="gen_random_uuid()")}
              FROM orders_orderprocess, generate_series(1, %s) WHERE order_id = %s
            RETURNING order_id
            """,
            [number, order.order_id],
        )
    ]
    run(
        f"""
        INSERT INTO orders_stepstate ({_columns(StepState, without="id")})
        SELECT {_columns(StepState, without="id", order_id="new.order_id")}
          FROM orders_stepstate, unnest(%s::uuid[]) AS new(order_id) WHERE orders_stepstate.order_id = %s
        """,
        [ids, order.order_id],
    )
    return ids


def reply_to_all(order_ids: Sequence[UUID], step: str, outcome: str = "done") -> None:
    """Posts a reply to the current attempt of one step of each of these orders, in one statement."""
    run(
        """
        INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
        SELECT order_id, id, attempt, false, %s, '{"code": "no", "message": "no"}', 1, 'agents:test'
          FROM orders_stepstate WHERE order_id = ANY(%s) AND name = %s
        """,
        [outcome, list(order_ids), step],
    )


def all_due(order: OrderProcess | UUID) -> None:
    """Moves every wait of an order into the past."""
    run(
        "UPDATE orders_orderprocess SET not_before = now() - interval '1 s' WHERE not_before > now() AND order_id = %s",
        [_id(order)],
    )
    run(
        """
        UPDATE orders_stepstate
           SET not_before = not_before - interval '1 day', settles_at = settles_at - interval '1 day'
         WHERE order_id = %s
        """,
        [_id(order)],
    )


def expire(order: OrderProcess | UUID, *names: str) -> None:
    """Moves the complete-by of an order's running steps, or of these, into the past."""
    running_steps = StepState.objects.filter(process_id=_id(order), complete_by__isnull=False)
    if names:
        running_steps = running_steps.filter(name__in=names)
    for step in running_steps:
        StepState.objects.filter(pk=step.pk).update(complete_by=fetch("SELECT now() - interval '1 s'")[0][0])


def no_replies() -> bool:
    """Whether the reply queue is empty."""
    return not AgentReply.objects.exists()


def _id(order: OrderProcess | UUID) -> UUID:
    return order.order_id if isinstance(order, OrderProcess) else order


def _columns(model: type[OrderProcess] | type[StepState], without: str = "", **instead: str) -> str:
    names = [str(field.column) for field in model._meta.concrete_fields if field.column != without]
    values: Mapping[str, str] = instead
    return ", ".join(
        values.get(name, f"{model._meta.db_table}.{name}" if instead else name) for name in names
    )
