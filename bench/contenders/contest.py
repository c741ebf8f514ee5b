"""Measures a contender: orders a second from a filled queue, and milliseconds of single orders."""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import servers
from bench.contenders.app import Times
from bench.contenders.environments import PROJECT, Unavailable, last_line, python

WARM_UP = 10
"""Single orders before those that count."""


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A system that the engine is compared with, and how it is run on two cores."""

    name: str
    app: str
    server: Callable[[Path], AbstractContextManager[str]]
    """Runs what keeps its state; yields the app's address."""
    workers: int
    """Processes of the app that do the work."""
    share: float = 0.1
    """The share of the engine's orders that it gets, so that it takes about as long."""

    @property
    def module(self) -> str:
        return f"bench.contenders.{self.app}_app"


CONTENDERS = {
    contender.name: contender
    for contender in (
        # Hypercorn's two processes are started with its server.
        Contender(name="restate", app="restate", server=servers.restate, workers=0, share=0.25),
        Contender(name="dbos", app="dbos", server=servers.postgres, workers=2),
        Contender(name="procrastinate", app="procrastinate", server=servers.postgres, workers=2),
        # Its cluster has two worker processes.
        Contender(name="django-q2", app="django_q", server=servers.postgres, workers=1),
        Contender(name="temporal", app="temporal", server=servers.temporal, workers=2, share=0.05),
    )
}


class Contest:
    """A contender with its server, in a temporary folder."""

    def __init__(self, contender: Contender, address: str, place: Path) -> None:
        self._contender = contender
        self._command = [python(contender.app), "-m", contender.module]
        self._address = address
        self._place = place
        self._workers: list[tuple[subprocess.Popen[bytes], Path]] = []
        self.act("prepare")

    def act(self, act: str, *words: object) -> str:
        """Runs the app to its end. Returns what it printed. Raises `Unavailable` also when a worker ends meanwhile."""
        command = [*self._command, act, self._address, *map(str, words)]
        with subprocess.Popen(
            command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as app:
            try:
                output, errors = self._communicate(app)
            finally:
                app.kill()
        if app.returncode != 0:
            raise Unavailable(f"{act} failed: {last_line(errors)}")
        return output

    def _communicate(self, app: subprocess.Popen[str]) -> tuple[str, str]:
        """What the app prints until it ends. Raises `Unavailable` when a worker ends before it does."""
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return app.communicate(timeout=1)
            for worker, output in self._workers:
                if (status := worker.poll()) is not None:
                    reason = last_line(output.read_text(errors="replace"))
                    raise Unavailable(f"a worker ended with status {status}: {reason}")

    @contextlib.contextmanager
    def workers(self) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Runs the processes that do the work. Yields them."""
        with ExitStack() as stack:
            for number in range(self._contender.workers):
                log = self._place / f"worker-{number}.log"
                command = [*self._command, "work", self._address, str(number)]
                self._workers.append((stack.enter_context(servers.running(command, log)), log))
            stack.callback(self._workers.clear)
            yield [worker for worker, _ in self._workers]

    def times(self, batch: str, count: int) -> list[Times]:
        """Waits until so many orders of a batch have ended. Returns their times."""
        times = [Times(*row) for row in json.loads(self.act("times", batch, count))]
        assert len(times) == count, f"{len(times)} of {count} orders went through every step"
        return times


@contextlib.contextmanager
def ready(contender: Contender) -> Iterator[Contest]:
    """Runs the contender's server."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, contender.server(Path(folder)) as address:
        yield Contest(contender, address, Path(folder))


def measure_throughput(contender: Contender, count: int) -> float:
    """Orders a second, from the start of the first to the end of the last, all submitted in advance."""
    with ready(contender) as contest:
        for batch, number in (("warm", max(1, min(1_000, count // 10))), ("full", count)):
            contest.act("fill", batch, number)
            with contest.workers():
                times = contest.times(batch, number)
    return count / (max(each.finished for each in times) - min(each.started for each in times))


def measure_latency(contender: Contender, count: int) -> list[float]:
    """Milliseconds from accepted to ended of orders that are submitted one at a time."""
    with ready(contender) as contest, contest.workers():
        contest.act("one_by_one", "warm", WARM_UP)
        contest.act("one_by_one", "idle", count)
        times = contest.times("idle", count)
    return [1000 * (each.finished - each.accepted) for each in times]


def leave_out(name: str, reason: Unavailable) -> None:
    """Says that a contender takes no part."""
    print(f"{name} is left out: {reason}", file=sys.stderr, flush=True)
