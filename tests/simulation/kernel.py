"""One task runs at a time, in an order that a seed decides, on a clock that jumps.

A task is a thread. It runs until it pauses; then the kernel picks one of the tasks that are due, or lets the clock jump
to the next one. A task that waits inside the database for a lock is set apart until it gets the lock, and its session
is halted, because otherwise it would go on beside the task that releases the lock.
"""

import math
import random
import threading
import time
import zlib
from collections.abc import Callable
from typing import TextIO

REAL_MONOTONIC = time.monotonic
REAL_SLEEP = time.sleep
PATIENCE = 0.01
"""Real seconds for which a running task is left alone before the kernel looks whether it waits for a lock."""
LONGEST_PATIENCE = 0.05
"""The same, for a task that has been looked at and does not wait for a lock: its statement takes long."""
HUNG = 60.0
"""Real seconds after which a task that neither pauses nor waits for a lock makes the simulation fail."""


class Stuck(Exception):
    """Raised when no task can ever run again, or one does not come back."""


class Violation(BaseException):
    """Raised when an invariant does not hold. It is no `Exception`, which the product would take for an order's own
    fault and isolate (rule 11)."""


class Process:
    """What is killed or stopped at once: the tasks of one simulated process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: list[Task] = []
        self.is_dead = False
        self.stopped_until = -math.inf

    @property
    def has_ended(self) -> bool:
        """Whether it was killed, or has come to its end."""
        return self.is_dead or (bool(self.tasks) and self.tasks[0].has_ended)


class Task(threading.Thread):
    """A thread that runs only when the kernel lets it. `due` is when it next wants to, on the kernel's clock."""

    def __init__(self, kernel: "Kernel", process: Process, name: str, work: Callable[[], None]) -> None:
        super().__init__(name=f"{process.name}/{name}", daemon=True)
        self.process = process
        self.due = kernel.now
        self.has_ended = False
        self.error: BaseException | None = None
        self.backend = 0
        """The process id of its session at the server; 0 if it has none."""
        self.transaction_since: float | None = None
        self.session_time: float | None = None
        """What its session's clock says, if that is known."""
        self.pace = 1.0
        """How often others may come between its statements, and how long these take, compared with other tasks."""
        self.is_in_database = False
        self.is_blocked = False
        self.is_back = False
        self.go = threading.Lock()
        """Held by the task while it runs, and released to let it run."""
        self.go.acquire()
        self._kernel = kernel
        self._work = work

    def run(self) -> None:
        """Waits for its first turn, does its work, and ends."""
        self._kernel.adopt(self)
        self.go.acquire()
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 (the kernel raises it)
            self.error = error
        self.has_ended = True
        self._kernel.hand_back()


class Kernel:
    """The tasks, and the clock, in seconds since the start."""

    def __init__(self, seed: int, *, trace: TextIO | None = None) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.steps = 0
        self.digest = 0
        """A checksum of who ran when: two lives with the same seed have the same."""
        self.waits_for_lock: Callable[[Task], bool] = lambda _: False
        self.halt_session: Callable[[Task], None] = lambda _: None
        self.resume_session: Callable[[Task], None] = lambda _: None
        self.end_session: Callable[[Task], None] = lambda _: None
        self.locks_may_be_free = False
        self._trace = trace
        self._tasks: list[Task] = []
        self._blocked: list[Task] = []
        self._returned = threading.Lock()
        self._returned.acquire()
        self._here = threading.local()

    # Called by anybody

    def spawn(self, process: Process, name: str, work: Callable[[], None], *, after: float = 0.0) -> Task:
        """Adds a task to a process; it is due `after` seconds from now."""
        task = Task(self, process, name, work)
        task.due = self.now + after
        process.tasks.append(task)
        self._tasks.append(task)
        task.start()
        return task

    def current(self) -> Task | None:
        """The task of this thread."""
        task: Task | None = getattr(self._here, "task", None)
        return task

    def wake(self, task: Task) -> None:
        """Makes a task due now."""
        task.due = min(task.due, self.now)

    def kill(self, process: Process) -> None:
        """Ends a process as SIGKILL does: its tasks never run again, and the server ends its sessions."""
        process.is_dead = True
        for task in process.tasks:
            self.end_session(task)
        self._tasks = [task for task in self._tasks if task.process is not process]
        self._blocked = [task for task in self._blocked if task.process is not process]

    @property
    def is_traced(self) -> bool:
        """Whether there is a trace."""
        return self._trace is not None

    def note(self, text: str) -> None:
        """Writes a line to the trace, if there is one."""
        if self._trace is not None:
            print(f"{self.now:12.6f}  {text}", file=self._trace)

    # Called by tasks

    def adopt(self, task: Task) -> None:
        """Makes this thread the task's own."""
        self._here.task = task

    def pause(self, seconds: float) -> None:
        """Lets the others run, for that many seconds or until the task is woken."""
        task = self.current()
        assert task is not None, "only a task can pause"
        task.due = self.now + seconds
        self.hand_back()
        task.go.acquire()

    def hand_back(self) -> None:
        """Ends the turn of the running task."""
        self._returned.release()

    def enter_database(self) -> None:
        """Notes that the running task is about to run a statement."""
        task = self.current()
        if task is not None:
            task.is_in_database = True

    def leave_database(self) -> None:
        """Notes that the statement is over. A task that was set apart meanwhile waits for its turn."""
        task = self.current()
        if task is None:
            return
        task.is_in_database = False
        if task.is_blocked:
            task.is_back = True
            task.go.acquire()

    # Called by the simulation

    def run(self, *, until: float, while_: Callable[[], bool] = lambda: True) -> None:
        """Runs tasks until the clock says `until`, or `while_` no longer holds. Raises the first error of a task."""
        while while_():
            ready = [task for task in self._tasks if task.due <= self.now and self._is_able(task)]
            if not ready:
                if not self._advance(until):
                    return
                continue
            self._step(ready[0] if len(ready) == 1 else self.chance.choice(ready))

    def _is_able(self, task: Task) -> bool:
        return not (task.is_blocked or task.process.stopped_until > self.now)

    def _advance(self, until: float) -> bool:
        """Lets the clock jump to when the next task is due; False if that is not before `until`."""
        next_due = math.inf
        for task in self._tasks:
            if not task.is_blocked:
                next_due = min(next_due, max(task.due, task.process.stopped_until))
        if self._blocked and next_due > self.now + 1.0:
            next_due = self.now + 1.0  # so that the locks that they wait for are not held too long
        if next_due == math.inf and until == math.inf:
            raise Stuck("no task will ever run again")
        if next_due >= until:
            self.now = until
            return False
        self.now = max(self.now, next_due)
        self._end_long_transactions()
        self._settle()
        return True

    def _end_long_transactions(self) -> None:
        """Does what the server does after `transaction_timeout`."""
        for task in list(self._tasks):
            if task.transaction_since is not None and self.now - task.transaction_since > 5.0:
                self.note(f"transaction timeout of {task.name}")
                self.end_session(task)

    def _step(self, task: Task) -> None:
        self.steps += 1
        self.digest = zlib.crc32(f"{task.name} {self.now:.6f}".encode(), self.digest)
        self.note(f"run {task.name}")
        task.due = math.inf
        task.go.release()
        self._await(task)
        if task.has_ended:
            self._tasks.remove(task)
            if task.error is not None:
                raise task.error
        self._settle()

    def _await(self, task: Task) -> None:
        """Waits until the running task pauses, or is found waiting for a lock."""
        began, patience = REAL_MONOTONIC(), PATIENCE
        while not self._returned.acquire(timeout=patience):
            patience = min(2 * patience, LONGEST_PATIENCE)
            if task.is_in_database and self.waits_for_lock(task):
                task.is_blocked = True
                self._blocked.append(task)
                self.note(f"blocked {task.name}")
                self.halt_session(task)
                return
            if REAL_MONOTONIC() - began > HUNG:
                raise Stuck(f"{task.name} does not come back")

    def _settle(self) -> None:
        """Finds out which blocked tasks have got their locks, once somebody has released locks.

        Their sessions go on one after another, each until its statement is over or waits for the next lock.
        """
        while self._blocked and self.locks_may_be_free:
            self.locks_may_be_free = False
            for task in list(self._blocked):
                if not self.waits_for_lock(task):
                    self._resume(task)

    def _resume(self, task: Task) -> None:
        """Has a session that has got its lock go on. It may have released another by that."""
        self.locks_may_be_free = True
        self.resume_session(task)
        began = REAL_MONOTONIC()
        while not task.is_back:
            if self.waits_for_lock(task):
                self.halt_session(task)
                return
            REAL_SLEEP(0.0002)
            if REAL_MONOTONIC() - began > HUNG:
                raise Stuck(f"{task.name} does not come back from the database")
        task.is_blocked = task.is_back = False
        task.due = self.now
        self._blocked.remove(task)
        self.note(f"unblocked {task.name}")
