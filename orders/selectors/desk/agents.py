"""How each agent is: its circuit, what waits for it, what it has in hand, and the processes that run it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from orders.engine.circuits import rules as breaker
from orders.engine.circuits.rules import BreakerRules, CircuitRow
from orders.engine.runtime.sql import fetch
from orders.models import AgentInstance, Circuit
from orders.selectors.desk.health import STALE
from orders.selectors.desk.status_bar import MOST_COUNTED
from orders.vocabulary import CircuitState


@dataclass(frozen=True, kw_only=True)
class Running:
    """One process that runs the agent."""

    name: str
    seen_at: datetime
    started_at: datetime
    alive: bool
    capacity: int
    in_flight: int
    p95_seconds: float | None
    recent_calls: int
    recent_failures: int


@dataclass(frozen=True, kw_only=True)
class AgentStatus:
    """An agent. `state` is the one that counts: an operator's while it is forced, or else the circuit's own.

    `ramp` is how much of the usual is let through, from 0 to 1. The figures of calls are of the last minute and of the
    processes that are alive; `p95` is that of the slowest. `waiting` are steps, counted up to a bound.
    """

    name: str
    circuit: CircuitRow
    held_by: str
    held_reason: str
    state: str
    is_forced: bool
    is_probe_due: bool
    ramp: float
    waiting: int
    asked: int
    in_hand: int
    instances: Sequence[Running]

    @property
    def alive(self) -> Sequence[Running]:
        """The processes with a recent heartbeat."""
        return [one for one in self.instances if one.alive]

    @property
    def capacity(self) -> int:
        """How many calls it may have in flight at once."""
        return sum(one.capacity for one in self.alive)

    @property
    def in_flight(self) -> int:
        """How many calls it has in flight."""
        return sum(one.in_flight for one in self.alive)

    @property
    def recent_calls(self) -> int:
        """Calls of the last minute."""
        return sum(one.recent_calls for one in self.alive)

    @property
    def recent_failures(self) -> int:
        """Calls of the last minute that failed."""
        return sum(one.recent_failures for one in self.alive)

    @property
    def p95(self) -> float | None:
        """The 95th percentile of a call's seconds, in the slowest process."""
        return max((one.p95_seconds for one in self.alive if one.p95_seconds is not None), default=None)

    @property
    def lets_calls_through(self) -> bool:
        """Whether calls are made as usual: it is not paused, and the state that counts is closed."""
        return self.state == CircuitState.CLOSED and not self.circuit.paused

    @property
    def is_down(self) -> bool:
        """Whether no process runs it."""
        return not self.alive

    @property
    def is_draining(self) -> bool:
        """Whether what has waited is being let through little by little."""
        return self.ramp < 1.0 and self.state == CircuitState.CLOSED and not self.circuit.paused

    @property
    def ramp_percent(self) -> int:
        """The ramp in whole percent."""
        return int(self.ramp * 100)


def agent_statuses(*, now: datetime, known: Collection[str] = ()) -> list[AgentStatus]:
    """All agents that have ever been met, and those that are `known`, by name. Four queries."""
    circuits = {row["agent"]: row for row in Circuit.objects.values()}
    running: dict[str, list[Running]] = defaultdict(list)
    for row in AgentInstance.objects.order_by("agent", "-seen_at", "instance"):
        running[row.agent].append(_running(row, now))
    asked = {
        agent: (number, in_hand)
        for agent, number, in_hand in fetch(
            """
            SELECT agent, count(*), count(*) FILTER (WHERE leased_until > %s)
              FROM orders_agentrequest GROUP BY agent
            """,
            [now],
        )
    }
    names = sorted(circuits.keys() | running.keys() | asked.keys() | set(known))
    waiting = waiting_for(names)
    return [
        _status(name, circuits.get(name, {}), running[name], waiting[name], asked.get(name, (0, 0)), now)
        for name in names
    ]


def waiting_for(agents: Sequence[str]) -> dict[str, int]:
    """How many steps wait for each agent, counted up to `MOST_COUNTED`. One query."""
    rows = fetch(
        """
        SELECT known.agent, (SELECT count(*) FROM (
                                 SELECT 1 FROM orders_stepstate AS s
                                  WHERE s.waiting_since IS NOT NULL AND s.agent = known.agent LIMIT %s) AS few)
          FROM unnest(%s::text[]) AS known (agent)
        """,
        [MOST_COUNTED + 1, list(agents)],
    )
    return dict(rows)


def _running(row: AgentInstance, now: datetime) -> Running:
    return Running(
        name=row.instance,
        seen_at=row.seen_at,
        started_at=row.started_at,
        alive=(now - row.seen_at).total_seconds() <= STALE,
        capacity=row.capacity,
        in_flight=row.in_flight,
        p95_seconds=row.p95_seconds,
        recent_calls=row.recent_calls,
        recent_failures=row.recent_failures,
    )


def _status(
    name: str,
    row: Mapping[str, Any],
    running: Sequence[Running],
    waiting: int,
    asked: tuple[int, int],
    now: datetime,
) -> AgentStatus:
    circuit = CircuitRow(name, **{key: row[key] for key in CircuitRow._fields[1:] if key in row})
    return AgentStatus(
        name=name,
        circuit=circuit,
        held_by=row.get("held_by", ""),
        held_reason=row.get("held_reason", ""),
        state=breaker.state_of(circuit, now),
        is_forced=bool(circuit.forced and circuit.forced_until and circuit.forced_until > now),
        is_probe_due=breaker.is_probe_due(circuit, now),
        ramp=breaker.ramp(circuit, rules=BreakerRules(ramp=settings.CONFIG.ramp), now=now),
        waiting=waiting,
        asked=asked[0],
        in_hand=asked[1],
        instances=running,
    )
