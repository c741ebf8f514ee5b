"""What a host knows about each of its agents. Used only in the host's event loop."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from orders.engine.agent_host.call import Call
from orders.engine.agent_host.circuit_view import CircuitView
from orders.engine.agent_host.database_thread import DatabaseThread
from orders.engine.agent_host.records import CircuitSnapshot, Load
from orders.engine.agent_host.statistics import CallStats
from orders.engine.agent_host.tallies import add_calls
from orders.engine.channels import leases, suspects
from orders.engine.contracts import Agent
from orders.engine.role_health import Trouble
from orders.engine.runtime.sql import DATABASE_TROUBLE
from orders.engine.runtime.text import first_line
from orders.vocabulary import ActorKind, AlertKind

log = structlog.get_logger()


@dataclass
class HostedAgent:
    """An agent, the calls it has under way, and how they have gone."""

    agent: Agent
    circuit: CircuitView
    calls: dict[tuple[int, int], Call] = field(default_factory=dict)
    stats: CallStats = field(default_factory=CallStats)

    @property
    def room(self) -> int:
        """How many requests may be claimed for it."""
        return self.circuit.room(self.agent.capacity - len(self.calls))

    @property
    def suspicion(self) -> int:
        """The weight of its calls that may be killing hosts."""
        return sum(suspects.weight(call.lease.lapses) for call in self.calls.values())


def suspicion_left(hosted_agents: Iterable[HostedAgent]) -> int:
    """The weight of the suspects that a host may run besides those under way."""
    return max(0, suspects.SUSPICION - sum(hosted.suspicion for hosted in hosted_agents))


def loads_of(hosted_agents: Mapping[str, HostedAgent]) -> dict[str, Load]:
    """What each agent can take, what it has under way, and how its calls go, by agent."""
    return {
        name: Load(hosted.agent.capacity, len(hosted.calls), hosted.stats.figures())
        for name, hosted in hosted_agents.items()
    }


async def add_new_calls(hosted_agents: Mapping[str, HostedAgent], thread: DatabaseThread) -> None:
    """Adds the calls that no heartbeat has reported yet to the tally of all hosts; keeps them if the database fails.

    A host that is killed takes with it those since its last heartbeat. If the connection is lost in the very moment of
    the commit, they are counted twice: the host cannot tell, and an outage is when they must not be missing.
    """
    # A stop does not interrupt it, or it would not be known whether the calls are counted.
    await asyncio.shield(_add_new_calls(hosted_agents, thread))


async def _add_new_calls(hosted_agents: Mapping[str, HostedAgent], thread: DatabaseThread) -> None:
    taken = {name: hosted.stats.take_unreported() for name, hosted in hosted_agents.items()}
    try:
        await thread.run(partial(add_calls, taken))
    except DATABASE_TROUBLE as error:
        log.warning("calls not added", action="heartbeat", error=first_line(error))
        for name, calls in taken.items():
            hosted_agents[name].stats.put_back(calls)


def follow(hosted_agents: Mapping[str, HostedAgent], snapshot: CircuitSnapshot) -> bool:
    """Takes over the circuits, and the quarantines if they were read; says whether one of these is due a call."""
    for name, circuit in snapshot.circuits.items():
        hosted_agents[name].circuit.follow(circuit, snapshot.at)
    if snapshot.quarantines is None:
        return False
    for name, hosted in hosted_agents.items():
        hosted.circuit.follow_quarantine(snapshot.quarantines.get(name))
    return any(hosted.circuit.room(1) and hosted.circuit.is_quarantined for hosted in hosted_agents.values())


def operations_of(agents: Iterable[Agent]) -> leases.Operations:
    """The operations of each agent that says which it has (`operations`). The others are asked for any (rule 10)."""
    return {agent.name: frozenset(agent.operations) for agent in agents if hasattr(agent, "operations")}


def quarantine_troubles(instance: str, hosted_agents: Iterable[HostedAgent]) -> list[Trouble]:
    """What to tell operators about a host that is in quarantine while others' calls succeed (O1)."""
    agents = sorted(hosted.agent.name for hosted in hosted_agents if hosted.circuit.is_alone_in_failing)
    if not agents:
        return []
    message = (
        f"calls of the agent host {instance} to {', '.join(agents)} fail while those of other hosts succeed. It has "
        "handed its requests over, and takes no more until a call succeeds; look at its network and its configuration"
    )
    return [Trouble(AlertKind.STALLED, ActorKind.AGENTS.value, "quarantined", message)]
