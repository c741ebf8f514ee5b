"""The loop that submission and scheduler run in: passes, wake-ups, polling and an orderly stop.

A role is a `run_once()` that returns `Counts`. The loop runs it again at once while there is work, and otherwise waits
for a wake-up or for its poll, whichever comes first. The wake-up flag is cleared before the pass, never after it, or a
message that arrives during the pass would wait for the poll.
"""

import gc
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Protocol

import structlog
from django.db import connection

from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import DATABASE_TROUBLE, drop_if_stuck, log_trouble, ran_out_of_time

log = structlog.get_logger()

LOCKED_PAUSE = 0.01
"""Seconds to wait while other instances have locked all available work. About as long as a pass takes."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What one pass did. `busy` asks for the next pass at once, `wait` for one after so many seconds at the latest;
    `error` is what kept this one from being completed."""

    busy: bool = False
    wait: float | None = None
    done: dict[str, int] = field(default_factory=dict)
    error: Exception | None = field(default=None, compare=False)


class Health(Protocol):
    """Where a worker notes how its passes go (`orders.engine.role_health.RoleHealth`)."""

    def note_pass(self) -> None:
        """Notes that a pass was completed."""

    def note_failure(self, error: Exception, *, is_slow: bool) -> None:
        """Notes that a pass ended with an error that is not about an order."""

    def beat(self) -> None:
        """Records the health of this process, if that is due."""

    def forget(self) -> None:
        """Takes this process off the list."""


class Role(Protocol):
    """A role that a worker can run."""

    @property
    def health(self) -> Health:
        """Where its worker notes how passes go."""

    def run_once(self) -> Counts:
        """Makes one pass."""


def instance_id(role: str) -> str:
    """A unique and readable name for this process: role, host, process id and a random part."""
    return f"{role}:{socket.gethostname()[:32]}:{os.getpid()}:{token_hex(4)}"


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Calls `stop` on SIGTERM and SIGINT; the present pass is finished first.

    In a separate thread, because a handler interrupts the main thread, which may hold the very lock that `stop`
    needs.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=stop).start())


def collect_garbage_seldom() -> None:
    """Makes the garbage collector run less often.

    A pass makes hundreds of thousands of tuples that are gone at its end, none of them in a cycle. Looking for cycles
    among them took a fifth of a scheduler's time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


class Worker:
    """Runs one role until it is stopped. `poll` is the longest wait between passes, in seconds."""

    def __init__(
        self, *, name: str, run_once: Callable[[], Counts], poll: float = 1.0, health: Health | None = None
    ) -> None:
        self.wake = threading.Event()
        self._health = health
        self._name = name
        self._run_once = run_once
        self._poll = poll
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Ends `run` after the present pass."""
        self._stopping.set()
        self.wake.set()

    def run(self) -> None:
        """Runs passes until `stop`.

        It waits for a database that cannot be reached. Any other error ends the process, for its launcher to replace.
        """
        failures = 0
        collect_garbage_seldom()
        log.info("started", action="start", worker=self._name)
        if self._health is not None:
            self._health.beat()  # before the first pass, since the other processes count this one from now on
        while not self._stopping.is_set():
            self.wake.clear()
            if self._stopping.is_set():  # `stop` may have set the flag that was just cleared
                break
            began = time.monotonic()
            try:
                counts = self._run_once()
            except DATABASE_TROUBLE as error:
                failures += 1
                self._recover(error, failures, is_slow=ran_out_of_time(error, time.monotonic() - began))
                continue
            failures = 0
            drop_if_stuck()
            if self._health is not None:
                if counts.error is None:
                    self._health.note_pass()
                else:
                    self._health.note_failure(counts.error, is_slow="slow_passes" in counts.done)
                self._health.beat()
            if any(counts.done.values()):
                log.debug("pass", action="pass", worker=self._name, **counts.done)
            if not counts.busy:
                poll = self._poll * random.uniform(0.8, 1.2)
                self.wake.wait(poll if counts.wait is None else min(poll, counts.wait))
            elif not any(counts.done.values()):
                self._stopping.wait(LOCKED_PAUSE)
        if self._health is not None:
            self._health.forget()
        connection.close()
        log.info("stopped", action="stop", worker=self._name)

    def _recover(self, error: Exception, failures: int, *, is_slow: bool) -> None:
        """Closes the connection and waits. Every transaction can be repeated, so the pass is simply tried again."""
        wait = full_jitter(failures, first=0.05, cap=2.0)
        log_trouble(error, is_slow=is_slow, worker=self._name, wait=round(wait, 3))
        connection.close()
        if self._health is not None:
            self._health.note_failure(error, is_slow=is_slow)
            self._health.beat()
        self._stopping.wait(wait)
