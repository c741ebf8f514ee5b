"""The soak: orders come in while the roles, the database and the remote services fail in every way; a seed decides how.

At the end it removes the faults, waits until nothing is left to do, and checks all invariants against the remote
services' ledgers.
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from django.db import InterfaceError, InternalError, OperationalError, connection

from orders.models import Event, LeaderLease
from orders.services.order_changes import compensate_order
from orders.services.order_lock import NoSuchOrderError
from orders.shop.placing import place_order
from tests.support.factories import new_order
from tests.support.own_database import OwnDatabase
from tests.support.proxy import Moment
from tests.support.system import SERVICES, Process, System
from tests.support.wait import until

ROLES = ("submission", "scheduler", "scheduler", "agents", "agents", "jobs")
TROUBLE = (OperationalError, InterfaceError, InternalError)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Length in seconds, number of orders, seed of all random choices, and `pause`: the mean seconds between faults."""

    seconds: float
    orders: int
    seed: int
    pause: float = 2.0
    patience: float = 600.0


@dataclass
class Report:
    """What the soak did, and the results."""

    done: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """The report as lines of text."""
        return [
            *(f"{number:>7} × {what}" for what, number in sorted(self.done.items())),
            f"orders: {', '.join(f'{number} {state}' for state, number in sorted(self.states.items()))}",
            f"all invariants hold; {self.seconds:.0f} s",
        ]


class Soak:
    """One run, on a server of its own."""

    def __init__(self, *, plan: Plan, system: System, database: OwnDatabase) -> None:
        self.report = Report()
        self._plan = plan
        self._system = system
        self._database = database
        self._chance = random.Random(plan.seed)
        self._running: list[Process] = []
        self._stopped: dict[int, float] = {}
        self._placed = 0
        self._pending_key: str | None = None

    def run(self) -> Report:
        """Runs to the end. Raises `AssertionError` if an invariant does not hold."""
        begun = time.monotonic()
        self._running = [self._system.start(role) for role in ROLES]
        next_fault = begun
        while (now := time.monotonic()) < begun + self._plan.seconds:
            due = int(self._plan.orders * (now - begun) / self._plan.seconds)
            while self._placed < due and self._place():
                pass
            if now >= next_fault:
                self._fault()
                next_fault = now + self._chance.expovariate(1 / self._plan.pause)
            self._replace_the_dead()
            self._wake(now)
            time.sleep(0.02)
        self._calm()
        self.report.states = Counter(self._system.wait_until_ended(seconds=self._plan.patience))
        self._system.check()
        self._count_events()
        self.report.seconds = time.monotonic() - begun
        return self.report

    def _place(self) -> bool:
        """Places an order as a client does: it repeats the post with the same key until the order is acknowledged."""
        key = self._pending_key or str(uuid4())
        order = new_order(self._system.sku)
        try:
            placed = place_order(client="guest", order=order, idempotency_key=key)
        except TROUBLE:
            self._pending_key = key
            self.report.done["post without an answer"] += 1
            connection.close()
            return False
        self._pending_key = None
        self._system.acknowledged.append(placed.order_id)
        self._placed += 1
        return True

    def _fault(self) -> None:
        acts: dict[Callable[[], str], int] = {
            self._kill: 6,
            self._stop: 3,
            self._kill_a_job: 1,
            self._crash_the_database: 2,
            self._cut_commits: 4,
            self._cut_everything: 2,
            self._end_backends: 2,
            self._trouble_a_remote: 5,
            self._clear_remote_faults: 3,
            self._compensate_an_order: 2,
        }
        (act,) = self._chance.choices(list(acts), weights=list(acts.values()))
        with contextlib.suppress(*TROUBLE):
            self.report.done[act()] += 1
            return
        connection.close()

    def _kill(self) -> str:
        process = self._chance.choice(self._running)
        process.end() if process.name == "jobs" else process.kill()
        return f"SIGKILL of {process.name}"

    def _stop(self) -> str:
        process = self._chance.choice([process for process in self._running if process.name != "jobs"])
        process.pause()
        self._stopped[process.pid] = time.monotonic() + self._chance.uniform(1, 12)
        return f"SIGSTOP of {process.name}"

    def _kill_a_job(self) -> str:
        holder = LeaderLease.objects.values_list("holder", flat=True).first()
        if holder:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(holder.split(":")[2]), signal.SIGKILL)
        return "SIGKILL of the leading supervisor"

    def _crash_the_database(self) -> str:
        self._database.crash()
        time.sleep(self._chance.uniform(0, 2))
        self._database.start()
        return "immediate stop of PostgreSQL"

    def _cut_commits(self) -> str:
        moment = self._chance.choice([Moment.BEFORE_COMMIT, Moment.AFTER_COMMIT])
        self._database.proxy.forget_cuts()
        self._database.proxy.cut(moment, "orders_", times=self._chance.randint(1, 5))
        return f"connections cut {moment.value}"

    def _cut_everything(self) -> str:
        self._database.proxy.cut_all()
        return "all connections cut"

    def _end_backends(self) -> str:
        sessions = self._database.act("SELECT pid FROM pg_stat_activity WHERE datname = 'sasweb'")
        for (pid,) in self._chance.sample(sessions, k=len(sessions) // 3):
            self._database.act(f"SELECT pg_terminate_backend({pid})")
        return "random backends ended"

    def _trouble_a_remote(self) -> str:
        service = self._chance.choice(SERVICES)
        name, faults = self._chance.choice(
            [
                ("slow", {"latency_ms": [100, 3000]}),
                ("failing", {"error_rate": 0.4}),
                ("forgetful", {"lost_reply_rate": 0.4}),
                ("hanging", {"hang_rate": 0.3}),
                ("down", {"down": True}),
            ]
        )
        self._system.faults(service, **faults)
        return f"remote {name}"

    def _clear_remote_faults(self) -> str:
        self._system.no_faults()
        return "remote services fixed"

    def _compensate_an_order(self) -> str:
        if self._system.acknowledged:
            with contextlib.suppress(NoSuchOrderError):
                order_id: UUID = self._chance.choice(self._system.acknowledged[-50:])
                compensate_order(order_id=order_id, by="operator:soak")
        return "order compensated"

    def _replace_the_dead(self) -> None:
        """Restarts dead processes, as an installation's process manager does."""
        for place, process in enumerate(self._running):
            if process.has_ended:
                process.end()
                self._stopped.pop(process.pid, None)
                self._running[place] = self._system.start(process.name)
                self.report.done["process replaced"] += 1

    def _wake(self, now: float) -> None:
        for process in self._running:
            if self._stopped.get(process.pid, now + 1) <= now:
                del self._stopped[process.pid]
                process.resume()

    def _calm(self) -> None:
        """Ends the faults, and places the orders that are still missing."""
        self._database.proxy.forget_cuts()
        for process in self._running:
            if process.pid in self._stopped:
                process.resume()
        self._system.no_faults()
        self._replace_the_dead()
        until(
            lambda: (
                self._placed >= self._plan.orders or not self._place() or self._placed >= self._plan.orders
            ),
            seconds=self._plan.patience,
            what="the last orders placed",
        )

    def _count_events(self) -> None:
        for kind in ("call_failed", "step_timed_out", "step_deferred", "reply_ignored", "resubmitted"):
            self.report.done[f"event {kind}"] = Event.objects.filter(kind=kind).count()
