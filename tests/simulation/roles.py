"""The processes of a life: each role as its command runs it, and a launcher that replaces those that have ended."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import connection

from orders import jobs, wiring
from orders.engine.channels.wakeups import Topic
from orders.engine.runtime import loop
from tests.simulation.database import Database
from tests.simulation.kernel import Kernel, Process
from tests.simulation.remotes import RemoteServices, connect_agents
from tests.simulation.virtual import VirtualLoop, VirtualThreading

REPLACED_AFTER = 0.3
"""Seconds after its end in which a process is replaced: the time that a new Python takes to start."""
SHIFT = 40.0
"""Seconds of a supervisor's shift. One begins in each process of jobs every twenty."""


class Roles:
    """The processes that run. `world` is the process of everything that is not part of the product."""

    def __init__(
        self, kernel: Kernel, database: Database, services: RemoteServices, counts: dict[str, int]
    ) -> None:
        self.processes: list[Process] = []
        self.world = Process("world")
        self._kernel = kernel
        self._database = database
        self._started = 0
        self._stops: dict[Process, Callable[[], None]] = {}
        real_agents = wiring.make_agents
        wiring.make_agents = lambda: dict(connect_agents(real_agents(), services))
        for module in (wiring, loop):
            module.instance_id = self._instance_id  # type: ignore[attr-defined]
        loop.threading = VirtualThreading  # type: ignore[assignment]
        self._kinds: dict[str, Callable[[Process], None]] = {
            "submission": self._run_submission,
            "scheduler": self._run_scheduler,
            "agents": self._run_agents,
            "jobs": self._run_jobs,
        }
        for kind, number in counts.items():
            for _ in range(number):
                self._start(kind)
        kernel.spawn(self.world, "launcher", self._watch)

    def stop(self, process: Process) -> None:
        """Stops a process in order, as SIGTERM does."""
        if process in self._stops:
            self._stops[process]()

    def resume_all(self) -> None:
        """Lets all stopped processes go on."""
        for process in self.processes:
            process.stopped_until = self._kernel.now

    def _instance_id(self, role: str) -> str:
        self._started += 1
        return f"{role}:sim:{self._started:04}"

    def _start(self, kind: str) -> None:
        process = Process(f"{kind} {self._started}")
        self._started += 1
        self.processes.append(process)
        self._kernel.spawn(process, "main", lambda: self._kinds[kind](process))

    def _watch(self) -> None:
        """Replaces the processes that have ended."""
        while True:
            for process in [process for process in self.processes if process.has_ended]:
                self.processes.remove(process)
                self._stops.pop(process, None)
                self._start(process.name.partition(" ")[0])
            self._kernel.pause(REPLACED_AFTER)

    def _run_submission(self, process: Process) -> None:
        self._run_worker(process, "submission", wiring.submission(), Topic.SUBMISSION)

    def _run_scheduler(self, process: Process) -> None:
        self._run_worker(process, "scheduler", wiring.scheduler(), Topic.SCHEDULER)

    def _run_worker(self, process: Process, name: str, role: Any, topic: Topic) -> None:
        worker = loop.Worker(name=name, run_once=role.run_once, health=role.health)
        self._stops[process] = worker.stop
        self._database.listen(process.tasks[0], topic, worker.wake.set)
        worker.run()

    def _run_agents(self, process: Process) -> None:
        host = wiring.agent_host([])
        self._stops[process] = host.stop
        self._database.listen(process.tasks[0], Topic.AGENTS, host.wake)
        event_loop = VirtualLoop(self._kernel, process)
        asyncio.set_event_loop(event_loop)
        event_loop.run_until_complete(host.run())

    def _run_jobs(self, process: Process) -> None:
        """Two supervisors overlap in each process, as the shifts of the cluster do."""

        def shifts() -> None:
            while True:
                jobs.supervisor_shift(SHIFT)
                connection.close()

        self._kernel.spawn(process, "second shift", shifts, after=SHIFT / 2)
        shifts()


def configure(**changes: Any) -> None:
    """Replaces settings of this process."""
    settings.CONFIG = replace(settings.CONFIG, **changes)
