"""How much a scheduler may dispatch in one pass (A9, rule 9)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from orders.engine.circuits.rules import (
    BreakerRules,
    CircuitRow,
    is_limited,
    lets_calls_through,
    probing,
    refilled,
    room,
)
from orders.engine.circuits.store import Supply, Viewpoint, read_circuits, recount, write_circuit


@dataclass
class Credit:
    """What one pass may still dispatch: `rooms` by agent, and `retries` out of the global budget, of which it has used
    `used_retries`.

    `waiting` are the agents that steps wait for, `probed` those whose next request is a probe. `limited` are the locked
    circuits at which every dispatch is counted, `used` counts this pass's dispatches by agent, and `succeeded_at` says
    when a call of each agent last succeeded. `others` are the agents that have room left for other schedulers when ours
    is used up, and `is_left_to_others` says that a step was refused there.
    """

    rooms: dict[str, int]
    waiting: frozenset[str] = frozenset()
    retries: int = 0
    used_retries: int = 0
    probed: frozenset[str] = frozenset()
    succeeded_at: dict[str, datetime | None] = field(default_factory=dict)
    limited: dict[str, CircuitRow] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    is_left_to_others: bool = False

    def take(self, agent: str, is_retry: bool) -> bool:
        """Takes the credit for one request to this agent; False if there is none left."""
        if self.rooms.get(agent, 0) <= 0:
            self.is_left_to_others = self.is_left_to_others or agent in self.others
            return False
        if is_retry and self.retries <= 0:
            return False
        self.rooms[agent] -= 1
        self.used[agent] = self.used.get(agent, 0) + 1
        self.retries -= is_retry
        self.used_retries += is_retry
        return True

    def for_waiting(self) -> dict[str, int]:
        """The room of the agents that steps wait for, probes apart."""
        return {
            agent: room
            for agent, room in self.rooms.items()
            if room > 0 and agent in self.waiting and agent not in self.probed
        }

    def for_probes(self) -> list[str]:
        """The agents whose circuits are due a probe, and that have a waiting step to send as one."""
        return [agent for agent in self.probed if self.rooms[agent] > 0 and agent in self.waiting]


def credit_of(
    supplies: Mapping[str, Supply], *, counted_for: Viewpoint, rules: BreakerRules, now: datetime
) -> Credit:
    """What one scheduler may dispatch in this pass, from what it has read of the agents.

    Circuits that count what is dispatched are locked, one scheduler at a time. Those that another scheduler has locked
    are skipped: they have no room for us in this pass. Where an operator limits what is outstanding, that is counted
    again under the lock, so the limit is exact.
    """
    limited = [
        agent
        for agent, supply in supplies.items()
        if is_limited(supply.circuit, rules=rules, now=now)
        and _room(refilled(supply.circuit, rules=rules, now=now), supply, rules, now)
    ]
    locked = read_circuits(limited, lock="FOR UPDATE SKIP LOCKED") if limited else {}
    counted = {name: supplies[name] for name, circuit in locked.items() if circuit.set_capacity is not None}
    if counted:
        supplies = {**supplies, **recount(counted, counted_for=counted_for)}
    rooms: dict[str, int] = {}
    others: set[str] = set()
    for agent, supply in supplies.items():
        circuit = supply.circuit
        if is_limited(circuit, rules=rules, now=now):
            if agent not in locked:
                rooms[agent] = 0
                continue
            circuit = locked[agent] = refilled(locked[agent], rules=rules, now=now)
        rooms[agent] = _room(circuit, supply, rules, now)
        if rooms[agent] < _room(circuit, supply._replace(own=0, schedulers=1), rules, now):
            others.add(agent)
    return Credit(
        rooms=rooms,
        waiting=frozenset(agent for agent, supply in supplies.items() if supply.has_waiting),
        probed=frozenset(agent for agent, circuit in locked.items() if not lets_calls_through(circuit, now)),
        succeeded_at={agent: supply.circuit.succeeded_at for agent, supply in supplies.items()},
        limited=locked,
        others=frozenset(others),
    )


def charge_credit(credit: Credit, *, rules: BreakerRules, now: datetime) -> None:
    """Counts what the pass has dispatched at the circuits it has locked. A dispatch to an open one is its probe."""
    for agent, circuit in credit.limited.items():
        used = credit.used.get(agent, 0)
        if not used:
            continue
        charged = (
            circuit._replace(tokens=circuit.tokens - used) if circuit.rate_limit is not None else circuit
        )
        if not lets_calls_through(circuit, now):
            charged = probing(charged, rules=rules, now=now)
        write_circuit(charged)


def _room(circuit: CircuitRow, supply: Supply, rules: BreakerRules, now: datetime) -> int:
    return room(
        circuit,
        capacity=supply.capacity,
        outstanding=supply.outstanding,
        own=supply.own,
        schedulers=supply.schedulers,
        rules=rules,
        now=now,
    )
