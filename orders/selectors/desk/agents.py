"""How each agent is doing: its circuit, what waits for it, its requests, and the processes that run it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings

from orders.engine.circuits.rules import HEARTBEAT_LIMIT as HEARTBEAT_LIMIT
from orders.engine.circuits.rules import (
    BreakerRules,
    CircuitRow,
    is_forced,
    is_probe_due,
    lets_calls_through,
    ramp,
    state_of,
)
from orders.engine.runtime.sql import fetch
from orders.models import AgentInstance, Circuit
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.vocabulary import CircuitState, Goal, ProcessState, StepStatus


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One process that runs the agent. `calls` and `failed_calls` are since it started; `recent_*`, the last minute.

    In quarantine since `quarantined_at`, it takes no requests: its calls fail while those of the others succeed.
    """

    name: str
    seen_at: datetime
    seen_seconds: float
    started_at: datetime
    alive: bool
    capacity: int
    in_flight: int
    calls: int
    failed_calls: int
    mean_seconds: float | None
    p95_seconds: float | None
    recent_calls: int
    recent_failures: int
    quarantined_at: datetime | None

    @property
    def is_quarantined(self) -> bool:
        """Whether it is alive and in quarantine."""
        return self.alive and self.quarantined_at is not None


class Requests(NamedTuple):
    """An agent's requests: all of them, those that an instance holds, and since when the oldest other one waits."""

    total: int = 0
    in_hand: int = 0
    oldest_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class HeldUp:
    """An agent that takes no calls: paused or, `until` a time, forced by somebody; or down `since` a time."""

    agent: str
    by: str
    until: datetime | None
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class AgentStatus:
    """An agent. `state` is the effective one: an operator's while it is forced, otherwise the circuit's own.

    `ramp` is the share of the usual load that is let through, from 0 to 1. The figures of calls cover the last minute
    and the processes that are alive; `p95` is the slowest process's. `waiting` counts the steps that wait, up to
    `MOST_COUNTED` + 1. `requests` are outstanding; `oldest_seconds` is how long the oldest one that nobody holds has
    waited.
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
    requests: int
    in_hand: int
    oldest_seconds: float | None
    instances: Sequence[Instance]

    @property
    def alive(self) -> Sequence[Instance]:
        """The processes with a recent heartbeat."""
        return [instance for instance in self.instances if instance.alive]

    @property
    def capacity(self) -> int:
        """How many calls it may have in flight at once."""
        return sum(instance.capacity for instance in self.alive)

    @property
    def in_flight(self) -> int:
        """How many calls it has in flight."""
        return sum(instance.in_flight for instance in self.alive)

    @property
    def recent_calls(self) -> int:
        """Calls in the last minute."""
        return sum(instance.recent_calls for instance in self.alive)

    @property
    def recent_failures(self) -> int:
        """Calls in the last minute that failed."""
        return sum(instance.recent_failures for instance in self.alive)

    @property
    def p95(self) -> float | None:
        """The 95th percentile of a call's duration in seconds, in the slowest process."""
        return max(
            (instance.p95_seconds for instance in self.alive if instance.p95_seconds is not None),
            default=None,
        )

    @property
    def lets_calls_through(self) -> bool:
        """Whether calls are made as usual: it is not paused, and its effective state is closed."""
        return self.state == CircuitState.CLOSED and not self.circuit.paused

    @property
    def is_down(self) -> bool:
        """Whether no process runs it."""
        return not self.alive

    @property
    def is_draining(self) -> bool:
        """Whether the steps that waited are being let through gradually."""
        return self.ramp < 1.0 and self.state == CircuitState.CLOSED and not self.circuit.paused

    @property
    def ramp_percent(self) -> int:
        """The ramp in whole percent."""
        return int(self.ramp * 100)


def agent_statuses(*, now: datetime, known_agents: Collection[str] = ()) -> list[AgentStatus]:
    """Every agent with a circuit, an instance or a request, and the `known_agents`, by name. Four queries."""
    circuits = {row["agent"]: row for row in Circuit.objects.values()}
    instances: dict[str, list[Instance]] = defaultdict(list)
    for row in AgentInstance.objects.order_by("agent", "-seen_at", "instance"):
        instances[row.agent].append(_instance(row, now))
    # The queue is no longer than the agents' credit, so counting all of it is cheap.
    requests = {
        agent: Requests(*counts)
        for agent, *counts in fetch(
            """
            SELECT agent, count(*), count(*) FILTER (WHERE leased_until > %(now)s),
                   min(posted_at) FILTER (WHERE leased_until IS NULL OR leased_until <= %(now)s)
              FROM orders_agentrequest GROUP BY agent
            """,
            {"now": now},
        )
    }
    names = sorted(circuits.keys() | instances.keys() | requests.keys() | set(known_agents))
    waiting = waiting_for(names)
    return [
        _status(
            name, circuits.get(name, {}), instances[name], waiting[name], requests.get(name, Requests()), now
        )
        for name in names
    ]


def waiting_for(agents: Sequence[str]) -> dict[str, int]:
    """How many steps wait for each agent, counted up to `MOST_COUNTED` + 1. One query."""
    rows = fetch(
        """
        SELECT agents.agent, (SELECT count(*) FROM (
                                 SELECT 1 FROM orders_stepstate AS s
                                  WHERE s.waiting_since IS NOT NULL AND s.agent = agents.agent LIMIT %s) AS few)
          FROM unnest(%s::text[]) AS agents (agent)
        """,
        [MOST_COUNTED + 1, list(agents)],
    )
    return dict(rows)


def orders_needing(agents: Sequence[str]) -> dict[str, int]:
    """How many orders under way still need each agent, counted up to `MOST_COUNTED` + 1. One query.

    An order that is being compensated may need the agents of its completed steps again. `LATERAL … LIMIT` has the steps
    looked up order by order: the planner would read those of all orders, because ids are in no order in the table.
    """
    rows = fetch(
        """
        SELECT agents.agent, (SELECT count(*) FROM (
                                 SELECT 1 FROM orders_orderprocess AS p,
                                        LATERAL (SELECT FROM orders_stepstate AS s
                                                  WHERE s.order_id = p.order_id AND s.agent = agents.agent
                                                    AND (s.state = ANY(%(ahead)s)
                                                         OR p.goal = %(compensate)s AND s.state = %(completed)s)
                                                  LIMIT 1) AS needed
                                  WHERE p.process_state = ANY(%(under_way)s)
                                  LIMIT %(most)s) AS few)
          FROM unnest(%(agents)s::text[]) AS agents (agent)
        """,
        {
            "under_way": [ProcessState.PENDING.value, ProcessState.PROCESSING.value],
            "ahead": [
                StepStatus.NOT_STARTED.value,
                StepStatus.RUNNING.value,
                StepStatus.COMPENSATING.value,
            ],
            "compensate": Goal.COMPENSATE.value,
            "completed": StepStatus.COMPLETED.value,
            "most": MOST_COUNTED + 1,
            "agents": list(agents),
        },
    )
    return dict(rows)


def agent_exists(name: str) -> bool:
    """Whether there is an agent of this name: one that has a circuit."""
    return Circuit.objects.filter(agent=name).exists()


def agent_names() -> list[str]:
    """The names of all agents, by name. One statement."""
    return list(Circuit.objects.order_by("agent").values_list("agent", flat=True))


def held_up(agents: Collection[str], *, now: datetime) -> list[HeldUp]:
    """Those of these agents that take no calls now, by name. One query."""
    rows = Circuit.objects.filter(agent__in=agents).order_by("agent").values()
    return [_held_up(row, now) for row in rows if not lets_calls_through(_circuit(row), now)]


def _held_up(row: Mapping[str, Any], now: datetime) -> HeldUp:
    circuit = _circuit(row)
    is_by_hand = circuit.paused or is_forced(circuit, now)
    return HeldUp(
        agent=circuit.agent,
        by=row["held_by"] if is_by_hand else "",
        until=circuit.forced_until if is_by_hand and not circuit.paused else None,
        since=None if is_by_hand else circuit.opened_at,
    )


def _circuit(row: Mapping[str, Any]) -> CircuitRow:
    return CircuitRow(**{name: row[name] for name in CircuitRow._fields if name in row})


def _instance(row: AgentInstance, now: datetime) -> Instance:
    seen_seconds = (now - row.seen_at).total_seconds()
    return Instance(
        name=row.instance,
        seen_at=row.seen_at,
        seen_seconds=seen_seconds,
        started_at=row.started_at,
        alive=seen_seconds <= HEARTBEAT_LIMIT,
        capacity=row.capacity,
        in_flight=row.in_flight,
        calls=row.calls,
        failed_calls=row.failed_calls,
        mean_seconds=row.mean_seconds,
        p95_seconds=row.p95_seconds,
        recent_calls=row.recent_calls,
        recent_failures=row.recent_failures,
        quarantined_at=row.quarantined_at,
    )


def _status(
    name: str,
    row: Mapping[str, Any],
    instances: Sequence[Instance],
    waiting: int,
    requests: Requests,
    now: datetime,
) -> AgentStatus:
    circuit = _circuit({**row, "agent": name})
    oldest = requests.oldest_at
    return AgentStatus(
        name=name,
        circuit=circuit,
        held_by=row.get("held_by", ""),
        held_reason=row.get("held_reason", ""),
        state=state_of(circuit, now),
        is_forced=is_forced(circuit, now),
        is_probe_due=is_probe_due(circuit, now),
        ramp=ramp(circuit, rules=BreakerRules(ramp=settings.CONFIG.ramp), now=now),
        waiting=waiting,
        requests=requests.total,
        in_hand=requests.in_hand,
        oldest_seconds=(now - oldest).total_seconds() if oldest else None,
        instances=instances,
    )
