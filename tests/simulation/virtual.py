"""Python's own means of waiting, on the kernel's clock: sleep, events, and event loops with their threads."""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from tests.simulation.kernel import REAL_MONOTONIC, REAL_SLEEP, Kernel, Process, Task


class Clock:
    """What `time.monotonic` and `time.sleep` are in this process: the kernel's, once there is one."""

    kernel: Kernel | None = None

    @classmethod
    def monotonic(cls) -> float:
        """The kernel's time, a thousand seconds after an imaginary start."""
        return REAL_MONOTONIC() if cls.kernel is None else 1_000.0 + cls.kernel.now

    @classmethod
    def sleep(cls, seconds: float) -> None:
        """Pauses the running task."""
        if cls.kernel is None or cls.kernel.current() is None:
            REAL_SLEEP(seconds)
        else:
            cls.kernel.pause(seconds)


def install_clock() -> None:
    """Replaces the clock of this Python. Called before the product is imported, which keeps references to it."""
    time.monotonic = Clock.monotonic
    time.sleep = Clock.sleep


class VirtualEvent:
    """A `threading.Event` for tasks."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: list[Task] = []

    def is_set(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Sets it, and wakes those who wait."""
        self._is_set = True
        for task in self._waiting:
            _kernel().wake(task)

    def clear(self) -> None:
        """Clears it."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is set, or for that many seconds."""
        if self._is_set:
            return True
        kernel = _kernel()
        task = kernel.current()
        assert task is not None, "only a task can wait"
        self._waiting.append(task)
        kernel.pause(math.inf if timeout is None else timeout)
        self._waiting.remove(task)
        return self._is_set


class VirtualThreading:
    """What the roles' loop uses of the module `threading`."""

    Event = VirtualEvent


class WorkerThread:
    """The thread of an executor with one thread, as a task."""

    def __init__(self, kernel: Kernel, process: Process, name: str) -> None:
        self._kernel = kernel
        self._queue: deque[Callable[[], None]] = deque()
        self._task = kernel.spawn(process, name, self._work)

    def submit(self, work: Callable[[], None]) -> None:
        """Has `work` done after what was submitted before."""
        self._queue.append(work)
        self._kernel.wake(self._task)

    def _work(self) -> None:
        while True:
            while self._queue:
                self._queue.popleft()()
            self._kernel.pause(math.inf)


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop that waits on the kernel's clock. Its executors' threads are tasks of the same process."""

    def __init__(self, kernel: Kernel, process: Process) -> None:
        super().__init__()
        self._kernel = kernel
        self._process = process
        self._selector = self
        self._threads: dict[int, WorkerThread] = {}
        self._task = kernel.current()

    def time(self) -> float:
        """The kernel's time."""
        return self._kernel.now

    def select(self, timeout: float | None) -> list[Any]:
        """Pauses until the next timer, or until something calls into the loop."""
        if timeout is None or timeout > 0:
            self._kernel.pause(math.inf if timeout is None else timeout)
        return []

    def call_soon_threadsafe(self, callback: Any, *arguments: Any, context: Any = None) -> asyncio.Handle:
        """Calls back from another task."""
        handle = self.call_soon(callback, *arguments, context=context)
        if self._task is not None:
            self._kernel.wake(self._task)
        return handle

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> Any:
        """Runs `func` in a task."""
        thread = self._threads.get(id(executor))
        if thread is None:
            name = getattr(executor, "_thread_name_prefix", "thread")
            thread = self._threads[id(executor)] = WorkerThread(self._kernel, self._process, name)
        future = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 (the loop raises it)
                self.call_soon_threadsafe(_settle, future, None, error)
            else:
                self.call_soon_threadsafe(_settle, future, result, None)

        thread.submit(work)
        return future

    def _process_events(self, event_list: list[Any]) -> None:
        """Nothing comes from outside."""

    def _write_to_self(self) -> None:
        """`call_soon_threadsafe` wakes the loop."""


def _settle(future: "asyncio.Future[Any]", result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _kernel() -> Kernel:
    assert Clock.kernel is not None, "there is no simulation"
    return Clock.kernel
