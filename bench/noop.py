"""Workflows whose agents answer at once, and the roles that run them: the engine alone.

python -m bench.noop fill N [WORKFLOW]              inserts N orders, ready to be claimed
python -m bench.noop scheduler [--profile FILE]     runs a scheduler; FILE receives its cProfile
python -m bench.noop agents [NAME…]                 runs an agent host; without names, for the agent noop
python -m bench.noop supervisor                     runs a supervisor, sweeping every SUPERVISOR_PERIOD
"""

import argparse
import asyncio
import cProfile
import signal
import threading
import time
from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from uuid_utils.compat import uuid7

from bench import ready  # noqa: F401
from orders import wiring
from orders.engine import state_store
from orders.engine.agent_host.records import HostConfig
from orders.engine.agent_host.role import AgentHost
from orders.engine.channels.wakeups import Topic
from orders.engine.contracts import Agent, Compensation, Decision, Json, Request, Step, Workflow
from orders.engine.errors import Transient
from orders.engine.intakes import AcceptedOrder, Submission
from orders.engine.rows import Actor, EventRow
from orders.engine.runtime.loop import Worker, instance_id, stop_on_signals
from orders.engine.runtime.statements import prepare_statements
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.engine.supervisor.role import Supervisor, SupervisorConfig
from orders.vocabulary import ActorKind, EventKind

NAMES = ("first", "second", "third", "fourth")


def in_a_row(name: str, *, agent: str, steps: Sequence[str] = NAMES) -> Workflow:
    """A workflow whose steps follow one another and use one agent."""
    return Workflow(
        name=name,
        version=1,
        steps=tuple(
            Step(
                name=step,
                agent=agent,
                operation=step,
                data=lambda description: {"n": description["n"]},
                after=tuple(steps[:at][-1:]),
            )
            for at, step in enumerate(steps)
        ),
    )


FOUR = in_a_row("four-steps", agent="noop")
DOWN = in_a_row("down", agent="down")
"""Its agent's remote service is down at first."""
EXPIRING = in_a_row("expiring", agent="noop")
ONE_CALL = in_a_row("one-call", agent="caller", steps=("call",))
"""Its agent makes a real remote call (bench/concurrency.py)."""
DECIDED = Workflow(
    name="decided",
    version=1,
    steps=(
        Step(name="decide", waits_for=Decision(), compensation=Compensation.NONE),
        Step(name="confirm", waits_for=Decision(), compensation=Compensation.NONE, after=("decide",)),
    ),
)
"""Its orders wait for people (bench/parked.py)."""
ALL = (FOUR, DOWN, EXPIRING, ONE_CALL, DECIDED)
WORKFLOWS = {(workflow.name, workflow.version): workflow for workflow in ALL}


class Noop:
    """Answers at once."""

    capacity = 500
    call_timeout = 5.0

    def __init__(self, name: str) -> None:
        self.name = name

    async def perform(self, request: Request) -> Json:
        """Answers with what the shop's steps must hold, too."""
        return {"ok": request.step, "authorisation": "none", "tracking": "none"}

    async def compensate(self, request: Request) -> Json:
        return {"compensated": request.step}

    async def close(self) -> None:
        pass


class Down(Noop):
    """An agent whose remote service cannot be reached until the process gets SIGUSR1."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._is_back = False
        signal.signal(signal.SIGUSR1, self._come_back)

    async def perform(self, request: Request) -> Json:
        if not self._is_back:
            raise Transient("unreachable", "no connection to the remote service")
        return await super().perform(request)

    def _come_back(self, *_: object) -> None:
        self._is_back = True


def fill(count: int, workflow: Workflow = FOUR) -> None:
    """Inserts orders as submission does, in batches of 500."""
    for start in range(0, count, 500):
        batch = [
            AcceptedOrder(
                submission=Submission(order_id=uuid7(), client="guest", body={}, posted_at=timezone.now()),
                workflow=workflow,
                priority=5,
                reply_to="",
                description={"n": number},
            )
            for number in range(start, min(start + 500, count))
        ]
        with transaction.atomic():
            state_store.create_processes(batch)
            state_store.record_events(
                EventRow(
                    new.submission.order_id,
                    EventKind.RECEIVED,
                    Actor(ActorKind.SUBMISSION, "submission:bench"),
                )
                for new in batch
            )


def run_scheduler(profile: str | None = None) -> None:
    """Runs until a signal."""
    prepare_statements()
    scheduler = Scheduler(config=SchedulerConfig(instance=instance_id("scheduler")), workflows=WORKFLOWS)
    worker = Worker(name="scheduler", run_once=scheduler.run_once)
    stop_on_signals(worker.stop)
    wiring.listener({Topic.SCHEDULER: worker.wake.set}).start()
    profiled(worker.run, profile)


def profiled(run: Callable[[], None], file: str | None) -> None:
    """Calls `run`, and writes a profile of this thread's processor time to `file`, if given."""
    if file is None:
        run()
        return
    profiler = cProfile.Profile(time.thread_time)
    profiler.runcall(run)
    profiler.dump_stats(file)


def run_agents(agents: Sequence[Agent]) -> None:
    """Runs until a signal."""
    prepare_statements()
    host = AgentHost(config=HostConfig(instance=instance_id("agents")), agents=agents)
    stop_on_signals(host.stop)
    wiring.listener({Topic.AGENTS: host.wake}).start()
    asyncio.run(host.run())


def run_supervisor() -> None:
    """Runs until a signal, as `orders.jobs.supervisor_shift` does."""
    supervisor = Supervisor(config=SupervisorConfig(instance=instance_id("supervisor")), workflows=WORKFLOWS)
    stopping = threading.Event()
    stop_on_signals(stopping.set)
    while not stopping.wait(settings.CONFIG.supervisor_period):
        if supervisor.acquire():
            supervisor.run_once()
    supervisor.release()


def main() -> None:
    """Runs one role, or inserts orders."""
    parser = argparse.ArgumentParser(prog="python -m bench.noop", description=__doc__.partition("\n")[0])
    parser.add_argument("role", choices=("fill", "scheduler", "agents", "supervisor"))
    parser.add_argument("words", nargs="*", metavar="N, NAME")
    parser.add_argument("--profile", metavar="FILE", help="profile the scheduler into FILE")
    options = parser.parse_args()
    match options.role:
        case "fill":
            count, *workflow = options.words
            fill(int(count), WORKFLOWS[workflow[0], 1] if workflow else FOUR)
        case "scheduler":
            run_scheduler(options.profile)
        case "agents":
            run_agents([Down(name) if name == "down" else Noop(name) for name in options.words or ["noop"]])
        case "supervisor":
            run_supervisor()


if __name__ == "__main__":
    main()
