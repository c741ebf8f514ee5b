"""One life: a system is born, takes orders while everything fails, and is watched until nothing is left to do."""

import os
import random
import secrets
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TextIO
from uuid import UUID

from orders import wiring
from orders.business import registry
from orders.engine.retry_rules import RetryRules
from orders.shop import fulfilment
from orders.shop.time_limits import present_limits
from tests.simulation import branches
from tests.simulation.corrections import Corrections
from tests.simulation.database import Database, hooked
from tests.simulation.faults import Faults
from tests.simulation.kernel import Kernel, Process, Violation
from tests.simulation.logs import strict_logs
from tests.simulation.people import Clients, People
from tests.simulation.remotes import RemoteServices
from tests.simulation.roles import Roles, configure
from tests.simulation.virtual import Clock
from tests.simulation.waits import Answers, waiting
from tests.simulation.watch import Watch
from tests.support.invariants import one_supervisor_at_a_time, outages_are_reported_while_they_last

ENDS_WITHIN = 180.0
"""Seconds after the last fault in which every order must have ended (P4)."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a seed decides before a life begins. Times are in seconds."""

    seed: int
    orders: int
    troubled: float
    """For how long orders come in and things go wrong."""
    statement: float
    """How long a statement takes on average."""
    density: float
    """The share of the statements before which others may run."""
    keyless: bool
    hangs: bool
    """Whether there are cards that hang for ever."""
    counts: dict[str, int]
    fault_every: float
    act_every: float
    reply_to: str
    """The response queue that the orders name, if they do."""
    waits: bool
    """Whether steps wait for what comes from outside. Drawn apart, so that it changes nothing else of a life."""
    branches: bool
    """Whether steps depend on conditions, and shipments on parcels. Drawn apart as well."""
    corrections: bool
    """Whether operators correct addresses of parcels that may have been sent. Drawn apart as well."""

    @classmethod
    def of(cls, seed: int, orders: int) -> "Plan":
        """The plan of a seed."""
        chance = random.Random(f"plan {seed}")
        return cls(
            seed=seed,
            orders=orders,
            troubled=chance.uniform(15, 40),
            statement=chance.choice([0.002, 0.006, 0.012]),
            density=chance.choice([0.15, 0.3, 1.0]),
            keyless=chance.random() < 0.25,
            hangs=chance.random() < 0.25,
            counts={
                "submission": chance.choice([1, 2]),
                "scheduler": chance.choice([1, 2, 3]),
                "agents": chance.choice([1, 2, 3]),
                "jobs": chance.choice([1, 2]),
            },
            fault_every=chance.choice([0.5, 1.5, 4.0]),
            act_every=chance.choice([0.1, 0.5, 2.0]),
            reply_to=chance.choice(["", "shop"]),
            waits=random.Random(f"waits 168 of {seed}").random() < 0.35,
            branches=random.Random(f"branches 97 of {seed}").random() < 0.35,
            corrections=random.Random(f"corrections of {seed}").random() < 0.35,
        )


@dataclass
class Report:
    """How a life went."""

    seed: int
    orders: int = 0
    states: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    acts: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    statements: int = 0
    checks: int = 0
    digest: int = 0
    lived: float = 0.0
    took: float = 0.0
    worked: float = 0.0
    """Seconds of processor time, without the server's."""
    failure: str = ""


class Life:
    """A life on a database of its own, in a process of its own."""

    def __init__(self, plan: Plan, *, url: str, trace: TextIO | None = None) -> None:
        self._plan = plan
        self._kernel = Clock.kernel = Kernel(plan.seed, trace=trace)
        self._database = Database(self._kernel, url=url, statement=plan.statement, density=plan.density)
        self.report = Report(plan.seed, plan.orders)

    def live(self) -> Report:
        """Lives it to its end. The report says what failed, if anything did."""
        began, worked = time.perf_counter(), time.process_time()
        random.seed(self._plan.seed)
        with _named_by_the_seed(), strict_logs(), hooked(self._database):
            try:
                self._live()
            except Violation as violation:
                self.report.failure = str(violation)
            except Exception:  # noqa: BLE001 (whatever it is, the seed repeats it)
                self.report.failure = traceback.format_exc()
        Clock.kernel = None
        self.report.steps = self._kernel.steps
        self.report.statements = self._database.statements
        self.report.digest = self._kernel.digest
        self.report.lived = round(self._kernel.now, 1)
        self.report.took = round(time.perf_counter() - began, 2)
        self.report.worked = round(time.process_time() - worked, 2)
        return self.report

    def _live(self) -> None:
        plan, kernel, database = self._plan, self._kernel, self._database
        _hurry(keyless=plan.keyless)
        shops_own = registry.newest_workflows()["fulfil-order"]
        workflow = waiting(shops_own) if plan.waits else shops_own
        workflow = branches.branching(workflow) if plan.branches else workflow
        watch = Watch(database, workflow)
        database.on_commit = watch.look
        services = RemoteServices(kernel)
        kernel.run(until=0.001)
        services.clear(latency_ms=[5, 100], keyless=plan.keyless)
        roles = Roles(kernel, database, services, plan.counts)
        answers = Answers(kernel)
        if plan.waits:
            answers.join()
        if plan.branches:
            branches.join()
        faults = Faults(kernel, database, services, roles, pause=plan.fault_every, keyless=plan.keyless)
        clients = Clients(
            kernel,
            orders=plan.orders,
            within=plan.troubled * 0.7,
            hangs=plan.hangs,
            reply_to=plan.reply_to,
        )
        people = People(kernel, clients, services, pause=plan.act_every)
        corrections = Corrections(kernel)
        if plan.corrections:
            corrections.join()
        kernel.spawn(roles.world, "faults", faults.run)
        kernel.spawn(Process("clients"), "post", clients.run).pace = 0.05
        kernel.spawn(Process("people"), "act", people.run)
        try:
            kernel.run(until=plan.troubled)
            faults.end()
            people.have_left = corrections.have_left = True
            kernel.run(until=kernel.now + 60.0, while_=lambda: not clients.are_done)
            self._wait_for_the_end(watch)
        finally:
            self.report.faults = dict(faults.done)
            self.report.acts = dict(people.acts + answers.acts + corrections.acts)
            self.report.checks = watch.checks
            self.report.events = dict(watch.events)
        if not clients.are_done:
            raise Violation("P1: a client got no answer for a minute after the last fault")
        self._check(watch, clients, services)

    def _wait_for_the_end(self, watch: Watch) -> None:
        calm_since = self._kernel.now
        while self._count_open():
            if self._kernel.now - calm_since > ENDS_WITHIN:
                raise Violation(f"I11: not ended after {ENDS_WITHIN:.0f} s:\n{self._open_orders(watch)}")
            self._kernel.run(until=self._kernel.now + 2.0)
        self._kernel.run(until=self._kernel.now + 15.0)
        watch.look()

    def _open_orders(self, watch: Watch) -> str:
        rows = self._database.monitor.execute(
            "SELECT order_id, to_jsonb(p) FROM orders_orderprocess AS p"
            " WHERE process_state IN ('pending', 'processing') LIMIT 3"
        )
        lines = []
        for order_id, process in rows.fetchall():
            steps = self._database.monitor.execute(
                "SELECT to_jsonb(s) - 'request' - 'result' FROM orders_stepstate AS s WHERE order_id = %s",
                [order_id],
            )
            lines += [str(process), *(str(step) for (step,) in steps), *watch.orders[order_id].story]
        circuits = self._database.monitor.execute("SELECT to_jsonb(c) FROM orders_circuit AS c")
        return "\n    ".join([*lines, *(str(circuit) for (circuit,) in circuits)])

    def _count_open(self) -> int:
        ((number,),) = self._database.monitor.execute(
            "SELECT (SELECT count(*) FROM orders_orderprocess WHERE process_state IN ('pending', 'processing'))"
            " + (SELECT count(*) FROM orders_submissionmessage)"
        ).fetchall()
        return int(number)

    def _check(self, watch: Watch, clients: Clients, services: RemoteServices) -> None:
        rows = self._database.monitor.execute("SELECT order_id, process_state FROM orders_orderprocess")
        states: dict[UUID, str] = dict(rows.fetchall())
        self.report.states = dict(Counter(states.values()))
        if set(states) != set(clients.acknowledged):
            lost = set(clients.acknowledged) - set(states)
            raise Violation(f"I1: lost {lost}, nobody ordered {set(states) - set(clients.acknowledged)}")
        messages = {
            table: number
            for table in ("orders_submissionmessage", "orders_agentrequest", "orders_agentreply")
            for (number,) in self._database.monitor.execute(f"SELECT count(*) FROM {table}")
            if number
        }
        if messages:
            raise Violation(f"I13: messages left: {messages}")
        watch.check_effects(services.ledgers(), states)
        if self._plan.branches:
            branches.check_what_ran(self._database, watch)
        one_supervisor_at_a_time()
        outages_are_reported_while_they_last()
        if self._plan.reply_to:
            self._check_messages(watch, states)

    def _check_messages(self, watch: Watch, states: Mapping[UUID, str]) -> None:
        rows = self._database.monitor.execute(
            "SELECT order_id, kind, sequence FROM orders_statusmessage ORDER BY id"
        )
        messages: dict[UUID, list[str]] = {}
        for order_id, kind, sequence in rows:
            messages.setdefault(order_id, []).append(kind)
            if sequence != len(messages[order_id]):
                raise Violation(f"message {kind} of order {order_id} has the sequence number {sequence}")
        declined = dict(
            self._database.monitor.execute(
                """
                SELECT order_id, count(*) FROM orders_event AS event
                 WHERE kind = 'step_declined'
                   AND NOT EXISTS (SELECT FROM orders_event AS turn
                                    WHERE turn.order_id = event.order_id AND turn.kind = 'compensation_requested'
                                      AND turn.id < event.id)
                 GROUP BY order_id
                """
            )
        )
        for order_id, state in states.items():
            own = messages.get(order_id, [])
            watch.check_messages(order_id, state, own, declined=declined.get(order_id, 0))


def _hurry(*, keyless: bool) -> None:
    """Shortens the times of an installation, so that a life of some minutes holds what takes hours."""
    configure(supervisor_period=1.0, probe_period=2.0, ramp=4.0, retry_budget=500.0)
    limits = {"STEP_COMPLETE_BY": "8", "ORDER_COMPLETE_BY": "60", "CUSTOMER_WAIT": "8", "PATIENCE": "20"}
    os.environ.update(limits, KEY_RETENTION="0" if keyless else "604800")
    present_limits.cache_clear()
    wiring.RetryRules = partial(RetryRules, backoff_cap=5.0)  # type: ignore[misc, assignment]
    fulfilment.MAIL_WAITS = replace(fulfilment.MAIL_WAITS, wait=5.0)
    registry.forget()


@contextmanager
def _named_by_the_seed() -> Iterator[None]:
    """Nothing random that the seed does not decide."""
    numbers = count(1)
    original = secrets.token_hex
    secrets.token_hex = lambda nbytes=None: f"{next(numbers):0{2 * (nbytes or 8)}x}"
    try:
        yield
    finally:
        secrets.token_hex = original
