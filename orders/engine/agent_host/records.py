"""The database work of an agent host, done in its threads; each method uses its own transactions.

An exchange never waits for a circuit, and a report never locks a request, so hosts do not deadlock.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db import transaction

from orders.engine import state_store
from orders.engine.agent_host import heartbeat
from orders.engine.agent_host.circuit_view import Quarantine
from orders.engine.agent_host.statistics import CallFigures
from orders.engine.channels import leases, oldest_requests, suspects, unheld
from orders.engine.channels.low_water import LowWater
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.circuits.hosts import read_quarantines
from orders.engine.circuits.retry_budget import draw_retries
from orders.engine.circuits.rules import BreakerRules, CircuitRow, Tally
from orders.engine.circuits.store import register_agents, report_calls, send_circuits
from orders.engine.rows import EventRow
from orders.engine.runtime.age_turns import AgeTurns
from orders.engine.runtime.statements import pipelined, pipelined_transaction


@dataclass(frozen=True, kw_only=True)
class HostConfig:
    """Times are in seconds. `lease` is how long a request is held without renewal; a quarter of it passes between
    renewals, so that two may fail before the lease lapses."""

    instance: str
    lease: float = 8.0
    poll: float = 1.0
    heartbeat: float = 5.0
    grace: float = 2.0
    """How long calls under way may take to end after a stop."""
    rate: float | None = None
    """The most calls a second to one agent's remote service, by all hosts together. None: no limit."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """The same for agents that have a limit of their own."""
    retries: float = 100.0
    """The global budget of retries a second."""
    breaker: BreakerRules = field(default_factory=BreakerRules)


class CircuitSnapshot(NamedTuple):
    """The circuits as they were at one moment, and, if they were read for a report, this host's quarantines."""

    at: datetime
    circuits: Mapping[str, CircuitRow]
    quarantines: Mapping[str, Quarantine] | None = None


class Results(NamedTuple):
    """What has come of calls: answers, events about failed tries, and requests to be handed over."""

    answers: Sequence[leases.Answer] = ()
    notes: Sequence[EventRow] = ()
    handed_over: Sequence[leases.GivenBack] = ()


class Load(NamedTuple):
    """What one agent of a host can take, what it has under way, and how its calls go."""

    capacity: int
    in_flight: int
    figures: CallFigures


class HostRecords:
    """One host's reads and writes for these agents."""

    def __init__(
        self,
        *,
        config: HostConfig,
        agents: Sequence[str],
        operations: leases.Operations = leases.ANY_OPERATION,
    ) -> None:
        self._config = config
        self._operations = operations
        self._agents = list(agents)
        self._requests = LowWater("orders_agentrequest")
        self._turns = AgeTurns()
        self._crowded = set(agents)
        """The agents that may have had more requests than the last claim had room for. The others have no need of turns
        by age: all that they had has been claimed."""

    def post(self, results: Results) -> None:
        """Hands results over: one statement, unless there is more than answers."""
        me = self._config.instance
        if not results.notes and not results.handed_over:
            leases.complete(results.answers, me=me)
            return
        with pipelined_transaction():
            leases.complete(results.answers, me=me)
            released_count = leases.release(results.handed_over, me=me) if results.handed_over else 0
            state_store.record_events(results.notes)
            topics = {Topic.PROGRESS: len(results.notes), Topic.AGENTS: released_count}
            wake(*(topic for topic, number in topics.items() if number))

    def claim(self, room: Mapping[str, int], suspicion: int) -> tuple[list[leases.Lease], CircuitSnapshot]:
        """Claims new requests; first those that may have killed their hosts, up to a weight of `suspicion`, then, for
        the agents whose turn it is, the oldest ones, then by priority.

        Also returns the circuits, read afterwards: a probe is committed together with the half-open state that makes it
        one, so the host sees both at once.
        """
        me, seconds, start = self._config.instance, self._config.lease, self._requests.start
        new_leases: list[leases.Lease] = []
        turns = self._turns.take(agent for agent in self._crowded if room.get(agent, 0) > 0)
        with pipelined_transaction() if suspicion or turns else pipelined():
            refresh = self._requests.send_refresh()
            if suspicion:
                new_leases = suspects.claim(
                    room=room, free=suspicion, me=me, seconds=seconds, operations=self._operations
                )
                room = _what_is_left(room, new_leases)
            if turns:
                oldest = oldest_requests.claim(
                    room={agent: room[agent] for agent in turns},
                    me=me,
                    seconds=seconds,
                    start=start,
                    operations=self._operations,
                )
                new_leases += oldest
                room = _what_is_left(room, oldest)
            claimed = leases.send_claim(
                room=room, me=me, seconds=seconds, start=start, operations=self._operations
            )
            circuits = send_circuits(self._agents)
        # By now all results have come with the commit.
        refresh.result()
        by_priority, snapshot = claimed.result(), CircuitSnapshot(*circuits.result())
        self._crowded = {agent for agent, free in _what_is_left(room, by_priority).items() if free <= 0}
        return new_leases + by_priority, snapshot

    def renew(self, held: Sequence[tuple[int, int]]) -> tuple[set[tuple[int, int]], bool]:
        """Renews leases; returns those confirmed, and whether a request waits that may have killed its hosts."""
        with transaction.atomic():
            confirmed = leases.renew(held, me=self._config.instance, seconds=self._config.lease)
            unheld.delete_expired(start=self._requests.start)
            if unheld.free_lapsed(start=self._requests.start):
                wake(Topic.AGENTS)
            return confirmed, suspects.has_suspects(self._agents)

    def report(self, tallies: Mapping[str, Tally], retries: int) -> tuple[CircuitSnapshot, int]:
        """Reports how calls went and asks for retries; returns the circuits, and how many retries were granted."""
        granted = 0
        if retries:
            with transaction.atomic():
                granted = draw_retries(retries, rate=self._config.retries)
        with transaction.atomic():
            if tallies and report_calls(tallies, rules=self._config.breaker, host=self._config.instance):
                wake(Topic.SCHEDULER, Topic.PROGRESS)
            snapshot = CircuitSnapshot(*send_circuits(self._agents).result())
            quarantines = {
                agent: Quarantine(since, probe_at, is_due=probe_at <= snapshot.at)
                for agent, (since, probe_at) in read_quarantines(self._config.instance).items()
            }
            return snapshot._replace(quarantines=quarantines), granted

    def beat(self, loads: Mapping[str, Load], *, is_first: bool) -> None:
        """Records that the host is alive. The first time it also wakes the schedulers, which send nothing to absent
        hosts."""
        if is_first:
            register_agents({name: self._config.rates.get(name, self._config.rate) for name in sorted(loads)})
        for name, load in loads.items():
            heartbeat.beat(instance=self._config.instance, agent=name, **load._asdict())
        if is_first:
            wake(Topic.SCHEDULER)

    def give_back(self, unfinished: Sequence[leases.GivenBack]) -> None:
        """Gives back the requests that the host will not finish, and takes the host off the list."""
        with transaction.atomic():
            if leases.release(unfinished, me=self._config.instance):
                wake(Topic.AGENTS)
            heartbeat.forget(self._config.instance)


def _what_is_left(room: Mapping[str, int], new_leases: Sequence[leases.Lease]) -> dict[str, int]:
    taken = Counter(lease.agent for lease in new_leases)
    return {agent: free - taken[agent] for agent, free in room.items()}
