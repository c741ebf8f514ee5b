"""The circuits of the agents, in the database (A8, A9): what may be dispatched, what hosts report, what operators hold.

Nothing else writes them. A circuit's row is locked after the rows of processes, and nothing that holds one waits for
a process or a request; a scheduler passes over a circuit that somebody else has in hand, so nobody deadlocks.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from orders.engine import alerts
from orders.engine.circuits import rules as breaker
from orders.engine.circuits.rules import BreakerRules, CircuitRow, Tally
from orders.engine.runtime.sql import database_now, fetch, run
from orders.vocabulary import CircuitState

HEARTBEAT_LIMIT = 15.0
"""Seconds without a heartbeat (one comes every 5 s) after which an instance's capacity does not count."""
BUDGET = "retries"

_COLUMNS = ", ".join(f"c.{name}" for name in CircuitRow._fields[1:])

_ASKED = "SELECT agent, count(*)::int AS number FROM orders_agentrequest GROUP BY agent"
_NOT_ASKED = "SELECT '' AS agent, 0 AS number"
"""The supervisor never touches a channel (V5), and need not know how many requests are outstanding."""


class Supply(NamedTuple):
    """An agent before a pass. `has_waiting`: steps wait for it; `has_outage`: the alert of its outage is open."""

    circuit: CircuitRow
    capacity: int
    outstanding: int
    has_waiting: bool
    has_outage: bool


@dataclass
class Credit:
    """What one pass may still dispatch: `rooms` by agent, and `retries` out of everybody's budget."""

    rooms: dict[str, int]
    waiting: frozenset[str] = frozenset()
    retries: int = 0
    probed: frozenset[str] = frozenset()
    limited: dict[str, CircuitRow] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def take(self, agent: str, is_retry: bool) -> bool:
        """Says whether a request may be sent to the agent, and counts it."""
        if self.rooms.get(agent, 0) <= 0 or (is_retry and self.retries <= 0):
            return False
        self.rooms[agent] -= 1
        self.used[agent] = self.used.get(agent, 0) + 1
        self.retries -= is_retry
        return True

    def for_waiting(self) -> dict[str, int]:
        """The room of those agents that steps wait for, apart from probes."""
        return {
            agent: room
            for agent, room in self.rooms.items()
            if room > 0 and agent in self.waiting and agent not in self.probed
        }

    def for_probes(self) -> list[str]:
        """The agents whose circuits want a probe that a waiting step can be."""
        return [agent for agent in self.probed if self.rooms[agent] > 0 and agent in self.waiting]


def credit(agents: Collection[str], *, rules: BreakerRules, now: datetime) -> Credit:
    """What may be dispatched. The circuits that count what is sent are locked, passing over those that others count at:
    those have no room for us in this pass."""
    supplies = _supplies(agents)
    limited = [
        agent
        for agent, supply in supplies.items()
        if breaker.is_limited(supply.circuit, rules=rules, now=now)
        and breaker.room(
            breaker.refilled(supply.circuit, rules=rules, now=now),
            capacity=supply.capacity,
            outstanding=supply.outstanding,
            rules=rules,
            now=now,
        )
    ]
    held = _lock(limited) if limited else {}
    rooms: dict[str, int] = {}
    for agent, supply in supplies.items():
        circuit = supply.circuit
        if breaker.is_limited(circuit, rules=rules, now=now):
            if agent not in held:
                rooms[agent] = 0
                continue
            circuit = held[agent] = breaker.refilled(held[agent], rules=rules, now=now)
        rooms[agent] = breaker.room(
            circuit, capacity=supply.capacity, outstanding=supply.outstanding, rules=rules, now=now
        )
    waiting = frozenset(agent for agent, supply in supplies.items() if supply.has_waiting)
    probed = frozenset(
        agent for agent, circuit in held.items() if not breaker.lets_calls_through(circuit, now)
    )
    return Credit(rooms=rooms, waiting=waiting, probed=probed, limited=held)


def settle(credit: Credit, *, rules: BreakerRules, now: datetime) -> None:
    """Writes down what a pass has dispatched at the circuits that it holds; what it sent to an open one is a probe."""
    for agent, circuit in credit.limited.items():
        used = credit.used.get(agent, 0)
        if not used:
            continue
        after = circuit._replace(tokens=circuit.tokens - used) if circuit.rate is not None else circuit
        if not breaker.lets_calls_through(circuit, now):
            after = breaker.probing(after, rules=rules, now=now)
        _write(after)


def _supplies(agents: Collection[str], asked: str = _ASKED) -> dict[str, Supply]:
    rows = fetch(
        f"""
        WITH live AS (
            SELECT agent, sum(capacity)::int AS capacity FROM orders_agentinstance
             WHERE seen_at > clock_timestamp() - %s * interval '1 second' GROUP BY agent
        ), asked AS (
            {asked}
        )
        SELECT wanted.agent, coalesce(live.capacity, 0), coalesce(asked.number, 0),
               EXISTS (SELECT 1 FROM orders_stepstate AS s
                        WHERE s.agent = wanted.agent AND s.waiting_since IS NOT NULL),
               EXISTS (SELECT 1 FROM orders_alert AS a
                        WHERE a.agent = wanted.agent AND a.order_id IS NULL AND a.closed_at IS NULL),
               c.agent IS NOT NULL, {_COLUMNS}
          FROM unnest(%s::text[]) AS wanted (agent)
          LEFT JOIN live ON live.agent = wanted.agent LEFT JOIN asked ON asked.agent = wanted.agent
          LEFT JOIN orders_circuit AS c ON c.agent = wanted.agent
        """,
        [HEARTBEAT_LIMIT, list(agents)],
    )
    return {
        name: Supply(
            CircuitRow(name, *columns) if known else CircuitRow(name),
            capacity,
            outstanding,
            has_waiting,
            has_outage,
        )
        for name, capacity, outstanding, has_waiting, has_outage, known, *columns in rows
    }


def _lock(agents: Sequence[str], *, wait: bool = False) -> dict[str, CircuitRow]:
    rows = fetch(
        f"""
        SELECT c.agent, {_COLUMNS} FROM orders_circuit AS c WHERE c.agent = ANY(%s)
         ORDER BY c.agent FOR UPDATE {"" if wait else "SKIP LOCKED"}
        """,
        [list(agents)],
    )
    return {row[0]: CircuitRow(*row) for row in rows}


def _write(circuit: CircuitRow, **also: Any) -> None:
    columns = {**circuit._asdict(), **also}
    agent = columns.pop("agent")
    settings = ", ".join(f"{name} = %s" for name in columns)
    run(f"UPDATE orders_circuit SET {settings} WHERE agent = %s", [*columns.values(), agent])


def read(agents: Collection[str]) -> dict[str, CircuitRow]:
    """The circuits of these agents, as they are."""
    rows = fetch(
        f"SELECT c.agent, {_COLUMNS} FROM orders_circuit AS c WHERE c.agent = ANY(%s)", [list(agents)]
    )
    return {row[0]: CircuitRow(*row) for row in rows}


def unavailable(agents: Collection[str], now: datetime) -> dict[str, str]:
    """The agents that nothing is sent to at present, each with the code of the cause. A step that timed out there has
    met with an outage, and no failure of its own is counted."""
    found = {}
    for agent, supply in _supplies(agents, _NOT_ASKED).items():
        if not supply.capacity:
            found[agent] = "no_host"
        elif not breaker.lets_calls_through(supply.circuit, now):
            found[agent] = supply.circuit.cause_code or "paused"
    return found


def declare(agents: Collection[str], *, rate: float | None) -> None:
    """Enters agents that have none yet, and their limit in calls a second. Called by a host when it starts."""
    run(
        """
        INSERT INTO orders_circuit (agent, state, openings, cause_code, cause_message, window_calls, window_failures,
                                    rate, tokens, forced, paused, held_by, held_reason)
        SELECT agent, 'closed', 0, '', '', 0, 0, %s, 0, '', false, '', '' FROM unnest(%s::text[]) AS agent
         ORDER BY agent
            ON CONFLICT (agent) DO UPDATE SET rate = excluded.rate
        """,
        [rate, list(agents)],
    )


def report(tallies: Mapping[str, Tally], *, rules: BreakerRules, rng: random.Random | None = None) -> bool:
    """Counts how calls went, and opens or closes the circuits where that is called for; says whether any changed so.

    An outage that begins opens its one alert; one that ends closes it (O1).
    """

    def jitter(openings: int) -> float:
        ceiling = min(rules.probe_cap, rules.first_probe * 2.0 ** min(openings - 1, 30))
        return (rng or random).uniform(ceiling / 2, ceiling)

    has_news = False
    held = _lock(sorted(tallies), wait=True)
    now = database_now()
    for agent, circuit in held.items():
        changed = breaker.after_calls(circuit, tallies[agent], rules=rules, now=now, jitter=jitter)
        if changed != circuit:
            _write(changed)
        if changed.state == circuit.state:
            continue
        has_news = True
        if changed.state == CircuitState.OPEN:
            alerts.open_outage(agent, code=changed.cause_code, message=_what_happens(agent, changed))
        elif changed.state == CircuitState.CLOSED:
            alerts.close_outage(
                agent, by="the circuit breaker", resolution="the remote service answers again"
            )
    return has_news


def _what_happens(agent: str, circuit: CircuitRow) -> str:
    return f"{agent} does not answer, and its steps wait: {circuit.cause_message}"


class Hosts(NamedTuple):
    """The agents whose outage, that nobody runs them, begins or ends."""

    gone: Sequence[str]
    back: Sequence[str]


def hosts(agents: Collection[str]) -> Hosts:
    """Finds the agents that steps wait for and no live process runs, and those that one runs again."""
    found = _supplies(agents, _NOT_ASKED).items()
    return Hosts(
        gone=[
            agent
            for agent, supply in found
            if not supply.capacity and supply.has_waiting and not supply.has_outage
        ],
        back=[
            agent
            for agent, supply in found
            if supply.capacity and supply.has_outage and supply.circuit.state == CircuitState.CLOSED
        ],
    )


def alert_of_hosts(found: Hosts) -> None:
    """Opens and closes the alerts of agents that nobody runs."""
    for agent in found.gone:
        message = f"no process runs the agent {agent}, and its steps wait"
        alerts.open_outage(agent, code="no_host", message=message)
    for agent in found.back:
        alerts.close_outage(agent, by="the supervisor", resolution="the agent runs again")


def draw_retries(wanted: int, *, rate: float) -> int:
    """Takes up to `wanted` retries out of the global budget, which fills at `rate` a second up to twice that (I8).

    The budget's row is held until the transaction ends.
    """
    if wanted <= 0:
        return 0
    run(
        "INSERT INTO orders_retrybudget (name, tokens) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING",
        [BUDGET, 2 * rate],
    )
    ((tokens, passed),) = fetch(
        """
        SELECT tokens, extract(epoch FROM clock_timestamp() - refilled_at)::float8
          FROM orders_retrybudget WHERE name = %s FOR UPDATE
        """,
        [BUDGET],
    )
    full = min(2 * rate, tokens + max(0.0, passed) * rate)
    granted = min(wanted, int(full))
    run(
        "UPDATE orders_retrybudget SET tokens = %s, refilled_at = clock_timestamp() WHERE name = %s",
        [full - granted, BUDGET],
    )
    return granted


def pause(agent: str, *, by: str, reason: str) -> bool:
    """Has nothing new sent to an agent; False if it is paused already, or there is none. Calls under way go on."""
    return _hold(agent, by=by, reason=reason, paused=True)


def resume(agent: str, *, by: str) -> bool:
    """Has work sent to an agent again; what has waited is met by a ramp."""
    return _hold(agent, by=by, reason="", paused=False)


def force(agent: str, state: str, *, seconds: float, by: str, reason: str) -> bool:
    """Keeps a circuit open or closed for that long, whatever its calls say. False if there is no such agent."""
    circuit = _lock([agent], wait=True).get(agent)
    if circuit is None:
        return False
    until = database_now() + timedelta(seconds=seconds)
    _write(circuit._replace(forced=state, forced_until=until), held_by=by, held_reason=reason)
    return True


def unforce(agent: str, *, by: str) -> bool:
    """Leaves a circuit to its calls again; False if it was not forced."""
    circuit = _lock([agent], wait=True).get(agent)
    if circuit is None or not circuit.forced:
        return False
    changed = circuit._replace(forced="", forced_until=None)
    if circuit.forced == CircuitState.OPEN:
        changed = changed._replace(closed_at=database_now())  # what has waited is met by a ramp
    _write(changed, held_by=by, held_reason="")
    return True


def _hold(agent: str, *, by: str, reason: str, paused: bool) -> bool:
    circuit = _lock([agent], wait=True).get(agent)
    if circuit is None or circuit.paused == paused:
        return False
    changed = circuit._replace(paused=paused)
    if not paused:
        changed = changed._replace(closed_at=database_now())
    _write(changed, held_by=by, held_reason=reason)
    return True
