"""The loop of a role: no wake-up is lost, it waits for an unreachable database, and it stops when told to."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import Error, InterfaceError, InternalError, OperationalError

from orders.engine.runtime.loop import LOCKED_PAUSE, Counts, Worker, instance_id

NEVER = 3_600.0
"""Seconds between polls in tests that must pass without a poll."""
BOUND = 60.0
"""Seconds; no test here takes nearly as long, unless it fails."""
IDLE = Counts()
BUSY = Counts(busy=True, done={"orders": 1})
ROOT = Path(__file__).resolve().parents[2]


class Passes:
    """What the role does in each pass: return counts, raise an exception, or call a function. Then it stops."""

    def __init__(self, *script: Counts | Exception | Callable[[], Counts], poll: float = NEVER) -> None:
        self.worker = Worker(name="test", run_once=self, poll=poll)
        self.began: list[float] = []
        self._script = list(script)

    def __call__(self) -> Counts:
        self.began.append(time.monotonic())
        entry = self._script.pop(0)
        if not self._script:
            self.worker.stop()
        if isinstance(entry, Exception):
            raise entry
        return entry() if callable(entry) else entry

    def run(self) -> int:
        """Runs the worker to its end; returns the number of passes."""
        ended = run_bounded(self.worker)
        assert ended, f"the worker still waits after {len(self.began)} passes"
        return len(self.began)


def run_bounded(worker: Worker, seconds: float = BOUND) -> bool:
    """Runs the worker in a thread; returns whether it ended in time, and raises the error that ended it."""
    errors = []

    def run() -> None:
        try:
            worker.run()
        except Error as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return not thread.is_alive()


@pytest.mark.pattern("Q1")
def test_a_wake_up_that_arrives_during_a_pass_is_not_lost() -> None:
    def woken_meanwhile() -> Counts:
        passes.worker.wake.set()
        return IDLE

    passes = Passes(woken_meanwhile, IDLE)
    assert passes.run() == 2


def test_a_wake_up_from_another_thread_ends_the_wait() -> None:
    def woken_soon() -> Counts:
        threading.Thread(target=passes.worker.wake.set).start()
        return IDLE

    passes = Passes(woken_soon, woken_soon, IDLE)
    assert passes.run() == 3


def test_without_a_wake_up_there_is_a_pass_at_each_poll() -> None:
    passes = Passes(IDLE, IDLE, IDLE, poll=0.02)
    assert passes.run() == 3
    assert all(wait >= 0.015 for wait in waits(passes))


def test_another_pass_follows_at_once_while_there_is_work() -> None:
    assert Passes(BUSY, BUSY, BUSY, IDLE).run() == 4


@pytest.mark.pattern("C3")
def test_the_next_pass_waits_a_moment_while_others_hold_all_the_work() -> None:
    all_locked = Counts(busy=True, done={"orders": 0})
    passes = Passes(all_locked, all_locked, IDLE)
    assert passes.run() == 3
    assert all(wait >= LOCKED_PAUSE * 0.9 for wait in waits(passes))


def waits(passes: Passes) -> list[float]:
    return [later - earlier for earlier, later in zip(passes.began, passes.began[1:], strict=False)]


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("the connection was lost"),
        InterfaceError("the connection is closed"),
        # PostgreSQL's transaction_timeout and idle_in_transaction_session_timeout reach Django as this (rule 12).
        InternalError("terminating connection due to transaction timeout"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_worker_waits_for_an_unreachable_database(error: Exception) -> None:
    assert Passes(error, error, BUSY, error, IDLE).run() == 5


def test_an_unexpected_error_ends_the_process() -> None:
    passes = Passes(BUSY, ValueError("a bug"), IDLE)
    with pytest.raises(ValueError, match="a bug"):
        passes.worker.run()
    assert len(passes.began) == 2


def test_a_stop_during_a_pass_lets_it_finish_and_begins_no_other() -> None:
    finished = []

    def stopped_meanwhile() -> Counts:
        passes.worker.stop()
        finished.append(True)
        return BUSY

    passes = Passes(stopped_meanwhile, IDLE)
    assert (passes.run(), finished) == (1, [True])


def test_a_stop_ends_the_wait_for_the_poll() -> None:
    passes = Passes(IDLE, IDLE)

    def stop_soon() -> Counts:
        threading.Thread(target=passes.worker.stop).start()
        return IDLE

    passes._script = [stop_soon, IDLE]
    assert passes.run() == 1


def test_a_stop_ends_the_wait_for_the_database() -> None:
    passes = Passes(OperationalError("away"))
    assert passes.run() == 1


def test_a_worker_that_was_stopped_before_it_began_does_nothing() -> None:
    passes = Passes(IDLE)
    passes.worker.stop()
    assert passes.run() == 0


def test_a_stop_that_arrives_between_two_passes_does_not_wait_for_the_poll() -> None:
    """It arrives just before the flag is cleared, which also clears the wake-up that came with the stop."""

    class StopsFirst(threading.Event):
        def clear(self) -> None:
            worker.stop()
            super().clear()

    worker = Worker(name="test", run_once=lambda: IDLE, poll=NEVER)
    worker.wake = StopsFirst()
    assert run_bounded(worker, seconds=2.0)


INTERRUPTED = """
import os, signal, threading
from orders.engine.runtime.loop import Counts, Worker, stop_on_signals

class Interrupted(threading.Event):
    def clear(self):
        with self._cond:  # as the original does, and here the signal arrives
            os.kill(os.getpid(), signal.SIGTERM)
            self._flag = False

worker = Worker(name="test", run_once=Counts, poll=0.1)
worker.wake = Interrupted()
stop_on_signals(worker.stop)
worker.run()
"""


def test_a_signal_that_arrives_while_the_flag_is_held_does_not_hang_the_process() -> None:
    """The handler runs in the main thread, between two of its instructions, and a flag's lock cannot be taken twice."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "sasweb.settings"},
        timeout=BOUND,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_no_two_instances_share_a_name() -> None:
    names = {instance_id("scheduler") for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("scheduler:") and f":{os.getpid()}:" in name for name in names)
    assert max(map(len, names)) <= 80
