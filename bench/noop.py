"""A workflow of four sequential steps whose agents answer at once, and the roles that run it: the engine alone.

python -m bench.noop fill N     inserts N orders, ready to be claimed
python -m bench.noop scheduler  runs a scheduler
python -m bench.noop agents     runs an agent host
"""

import asyncio
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
django.setup()

from django.db import transaction  # noqa: E402
from django.utils import timezone  # noqa: E402
from uuid_utils.compat import uuid7  # noqa: E402

from orders import wiring  # noqa: E402
from orders.engine import state_store  # noqa: E402
from orders.engine.agent_host import AgentHost, HostConfig  # noqa: E402
from orders.engine.channels.wakeups import Topic  # noqa: E402
from orders.engine.contracts import Accepted, Json, Request, Step, Submission, Workflow  # noqa: E402
from orders.engine.rows import EventRow  # noqa: E402
from orders.engine.scheduler import Scheduler, SchedulerConfig  # noqa: E402
from orders.engine.worker import Worker, instance_id, stop_on_signals  # noqa: E402

NAMES = ("first", "second", "third", "fourth")
FOUR = Workflow(
    name="four-steps",
    version=1,
    steps=tuple(
        Step(
            name=name,
            agent="noop",
            operation=name,
            data=lambda description: {"n": description["n"]},
            after=NAMES[:at][-1:],
        )
        for at, name in enumerate(NAMES)
    ),
)
WORKFLOWS = {(FOUR.name, FOUR.version): FOUR}


class Noop:
    """Answers at once."""

    name = "noop"
    capacity = 500
    call_timeout = 5.0

    async def perform(self, request: Request) -> Json:
        return {"ok": request.step}

    async def compensate(self, request: Request) -> Json:
        return {"undone": request.step}

    async def close(self) -> None:
        pass


def fill(count: int) -> None:
    """Inserts orders as submission does, in batches of 500."""
    for start in range(0, count, 500):
        batch = [
            Accepted(
                submission=Submission(order_id=uuid7(), client="guest", body={}, posted_at=timezone.now()),
                workflow=FOUR,
                priority=5,
                reply_to="",
                description={"n": number},
            )
            for number in range(start, min(start + 500, count))
        ]
        with transaction.atomic():
            state_store.create_processes(batch)
            state_store.record_events(
                EventRow(new.submission.order_id, "received", "submission:bench") for new in batch
            )


def run_scheduler() -> None:
    scheduler = Scheduler(config=SchedulerConfig(instance=instance_id("scheduler")), workflows=WORKFLOWS)
    worker = Worker(name="scheduler", run_once=scheduler.run_once)
    stop_on_signals(worker.stop)
    wiring.listener({Topic.SCHEDULER: worker.wake.set}).start()
    worker.run()


def run_agents() -> None:
    host = AgentHost(config=HostConfig(instance=instance_id("agents")), agents=[Noop()])
    stop_on_signals(host.stop)
    wiring.listener({Topic.AGENTS: host.wake}).start()
    asyncio.run(host.run())


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill(int(sys.argv[2]))
    elif sys.argv[1] == "scheduler":
        run_scheduler()
    else:
        run_agents()
