"""The process manager of `manage.py up`: runs commands side by side, restarts those that die, and stops them in order.

One loop in the main thread does everything, because the kernel ties a child's death signal to the thread that started
it. Children live in sessions of their own, so that Ctrl-C on the terminal reaches only the manager. Orphans of a dead
child become children of the manager (a "subreaper"), which kills them; orphans of a dead manager get their death
signal.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sasweb.launcher import children
from sasweb.launcher.children import Deaths, User
from sasweb.launcher.log_lines import LinePipe, Output

NEXT_IN_ORDER = 1.0  # seconds that a child has to stop before the next one is asked to stop as well
KILL_AFTER = 7.5  # seconds after the first was asked
FOUNDATION_UNTIL = (
    9.0,
    9.6,
    10.0,
)  # seconds after the first was asked, for each signal to the process that the others stand on

FOREVER: Callable[[], bool] = lambda: False  # noqa: E731 - a default argument


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A command to keep running. Processes are stopped in the order in which they were started, a foundation last."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] | None = None
    cwd: Path | None = None
    user: User | None = None
    death_signal: signal.Signals | None = signal.SIGKILL  # what it gets when the manager dies
    stops_slowly: bool = False  # is asked to stop with the first, and awaited in its turn
    has_pipe: bool = False  # its stdin is a pipe that closes when the manager ends
    is_foundation: bool = False  # the others depend on it
    stop_signals: Sequence[signal.Signals] = (
        signal.SIGTERM,
        signal.SIGKILL,
    )  # in order of force; the last one kills
    prepare: Callable[[], None] | None = None  # called before each start


class Child:
    """A spec and its current process, if any."""

    def __init__(self, spec: Spec, *, is_kept: bool) -> None:
        self.spec = spec
        self.is_kept = is_kept  # restarted when it ends
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.deaths = Deaths()
        self.restart_at: float | None = None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def send(self, signum: signal.Signals) -> None:
        if self.process and self.is_running:
            if signum == signal.SIGKILL:
                children.send_group(self.process.pid, signum)
            children.send(self.process.pid, signum)


class ProcessManager:
    """Starts, watches and stops children. It is a context manager: leaving it stops them all, whatever happens."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.children: list[Child] = []
        self.stop_requests = 0
        self._selector = selectors.PollSelector()
        self._pipes: set[LinePipe] = set()
        self._wake_up: tuple[int, int] | None = None
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "ProcessManager":
        children.become_subreaper()
        reader, writer = os.pipe()
        for fd in (reader, writer):
            os.set_blocking(fd, False)
        self._wake_up = (reader, writer)
        self._selector.register(reader, selectors.EVENT_READ)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._handlers[signum] = signal.signal(signum, self._on_stop_signal)
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            signal.set_wakeup_fd(-1)
            for signum, handler in self._handlers.items():
                signal.signal(signum, handler)
            for fd in self._wake_up or ():
                os.close(fd)
            for pipe in self._pipes:
                pipe.close()
            self._selector.close()
            self.output.flush(wait=0.5)

    @property
    def is_stopping(self) -> bool:
        return self.stop_requests > 0

    def start(self, spec: Spec) -> Child:
        """Starts a command and keeps it running. Raises `OSError` when its program cannot be started."""
        return self._add(Child(spec, is_kept=True))

    def run_to_end(self, spec: Spec) -> int:
        """Runs a command once, while the others go on. Returns its exit status, negative if a signal ended it."""
        child = self._add(Child(spec, is_kept=False))
        process = child.process
        assert process
        self.run(until=lambda: not child.is_running)
        if process.poll() is None:  # asked to stop
            return -signal.SIGTERM
        self._read_pipes()
        self.children.remove(child)
        return process.returncode

    @property
    def has_heard_all(self) -> bool:
        """Whether each process has written a line since it was started first."""
        return all(child.spec.name in self.output.heard for child in self.children)

    def run(self, until: Callable[[], bool] = FOREVER, *, poll: float = 0.5) -> None:
        """Keeps everything running until `until()`, checked every `poll` seconds, is true or a signal asks for the
        stop."""
        while not self.is_stopping and not until():
            self._turn(timeout=poll)
            self._restart()

    def stop(self) -> None:
        """Stops everything in order: within 10 s, or at once when a second signal asks for it."""
        began = time.monotonic()
        hurry_after = max(self.stop_requests, 1)  # the request that led here does not hurry the stop

        def wait_until_gone(children: Sequence[Child], until: float, *, may_hurry: bool = True) -> bool:
            while any(child.is_running for child in children):
                hurries = may_hurry and self.stop_requests > hurry_after
                if hurries or time.monotonic() > began + until:
                    return False
                self._turn(timeout=0.1)
            return True

        workers = [child for child in self.children if not child.spec.is_foundation]
        slow = [child for child in workers if child.spec.stops_slowly]
        for child in slow:
            child.send(child.spec.stop_signals[0])
        for child in workers:
            asked_at = time.monotonic() - began
            if child not in slow:
                child.send(child.spec.stop_signals[0])
            wait_until_gone([child], min(asked_at + NEXT_IN_ORDER, KILL_AFTER))
        wait_until_gone(workers, KILL_AFTER)
        for child in workers:
            if child.is_running:
                self._say(f"{child.spec.name} has not stopped; killing it")
                child.send(signal.SIGKILL)
        self._bury(workers)
        for child in (child for child in self.children if child.spec.is_foundation):
            for signum, until in zip(child.spec.stop_signals, FOUNDATION_UNTIL, strict=False):
                child.send(signum)
                wait_until_gone([child], until, may_hurry=signum == child.spec.stop_signals[0])
        self._bury(self.children)

    def _add(self, child: Child) -> Child:
        self._start(child)
        self.children.append(child)
        return child

    def _bury(self, children: Sequence[Child]) -> None:
        """Waits for killed children, and kills their orphans."""
        for child in children:
            if child.process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.process.wait(timeout=1.0)
        self._kill_orphans()
        self._read_pipes()
        self.output.flush()

    def _turn(self, *, timeout: float) -> None:
        """One turn of the loop: waits for something to happen and passes output on."""
        due = [child.restart_at for child in self.children if child.restart_at is not None]
        longest = min([timeout, *(at - time.monotonic() for at in due)])
        with self._writable_output():
            events = self._selector.select(max(0.0, longest))
        for key, _ in events:
            if isinstance(key.data, LinePipe) and not key.data.read():
                self._drop(key.data)
            elif self._wake_up and key.fd == self._wake_up[0]:
                os.read(key.fd, 1024)
        self.output.flush()

    def _restart(self) -> None:
        """Notes the children that have died, and restarts those whose pause is over."""
        dead = [child for child in self.children if child.is_kept and child.process and not child.is_running]
        for child in dead:
            self._on_death(child)
        if dead:
            self._kill_orphans()
        for child in self.children:
            if child.restart_at is not None and child.restart_at <= time.monotonic():
                child.restart_at = None
                try:
                    self._start(child)
                except (OSError, RuntimeError) as error:  # no memory, disk full: counts as a quick death
                    child.restart_at = time.monotonic() + child.deaths.count(lived=0.0)
                    self._say(f"cannot start {child.spec.name}: {error}")

    def _start(self, child: Child) -> None:
        spec = child.spec
        if spec.prepare:
            spec.prepare()
        reader, writer = os.pipe()
        try:
            child.process = children.spawn(
                spec.argv,
                env=spec.env,
                cwd=spec.cwd,
                stdin=subprocess.PIPE if spec.has_pipe else subprocess.DEVNULL,
                output=writer,
                user=spec.user,
                death_signal=spec.death_signal,
            )
        finally:
            os.close(writer)
        child.started_at = time.monotonic()
        pipe = LinePipe(reader, name=spec.name, output=self.output)
        self._pipes.add(pipe)
        self._selector.register(reader, selectors.EVENT_READ, pipe)

    def _on_death(self, child: Child) -> None:
        process, child.process = child.process, None
        assert process
        if process.stdin:
            process.stdin.close()
        pause = child.deaths.count(lived=time.monotonic() - child.started_at)
        child.restart_at = time.monotonic() + pause
        when = f"in {pause:.0f} s, because it keeps dying" if pause else "now"
        self._say(f"{child.spec.name} {children.describe_end(process.returncode)}; restarting it {when}")

    def _kill_orphans(self) -> None:
        child_pids = {child.process.pid for child in self.children if child.process}
        children.wait_until(lambda: not children.kill_adopted(child_pids), timeout=1.0, poll=0.01)

    def _read_pipes(self) -> None:
        """Reads what the pipes hold now: the last lines of processes that died."""
        for key, _ in self._selector.select(0):
            if isinstance(key.data, LinePipe) and not key.data.read():
                self._drop(key.data)

    def _drop(self, pipe: LinePipe) -> None:
        self._pipes.discard(pipe)
        self._selector.unregister(pipe.fd)

    @contextlib.contextmanager
    def _writable_output(self) -> Iterator[None]:
        """Makes the selector also wake up when the reader takes more output, while there is any."""
        is_waiting = self.output.is_waiting
        if is_waiting:
            self._selector.register(self.output.fd, selectors.EVENT_WRITE)
        yield
        if is_waiting:
            self._selector.unregister(self.output.fd)

    def _say(self, text: str) -> None:
        self.output.line("up", text)

    def _on_stop_signal(self, _signum: int, _frame: object) -> None:
        self.stop_requests += 1
