"""The circuits in the database (A8): reading, locking and writing their rows, and what hosts report to them.

Only this package writes circuits. A circuit's row is locked after the rows of processes, and whoever has locked one
waits for neither a process nor a request. A scheduler skips a circuit that is locked already. So nobody deadlocks.
"""

import json
import random
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from orders.engine import alerts
from orders.engine.circuits.hosts import end_quarantines, read_hosts, write_host
from orders.engine.circuits.quarantine import judge
from orders.engine.circuits.rules import (
    HEARTBEAT_LIMIT,
    BreakerRules,
    CircuitRow,
    Tally,
    after_calls,
    lets_calls_through,
    probe_wait,
)
from orders.engine.role_health import ALIVE
from orders.engine.runtime.sql import database_now, fetch, run
from orders.engine.runtime.statements import Cursor, Sent, rows_of, send
from orders.vocabulary import CircuitState

COLUMNS = ", ".join(
    "ARRAY(SELECT jsonb_array_elements_text(c.window_orders))" if name == "window_orders" else f"c.{name}"
    for name in CircuitRow._fields[1:]
)

_OUTSTANDING = """
            SELECT agent, count(*)::int AS number, (count(*) FILTER (WHERE posted_by = %(scheduler)s::text))::int AS own
              FROM orders_agentrequest
             WHERE id >= %(start)s::bigint
             GROUP BY agent
"""
_OUTSTANDING_NOT_READ = """
            SELECT '' AS agent, 0 AS number, 0 AS own
"""


class Viewpoint(NamedTuple):
    """Which scheduler asks, and the id from which the requests are counted (see `LowWater`)."""

    scheduler: str
    start: int = 0


class Supply(NamedTuple):
    """An agent at the start of a pass. `has_waiting`: steps wait for it; `has_outage`: its outage alert is open.

    `outstanding` are the requests of all `schedulers`, `own` those of the scheduler that asks.
    """

    circuit: CircuitRow
    capacity: int
    outstanding: int
    own: int
    schedulers: int
    has_waiting: bool
    has_outage: bool


class HostChanges(NamedTuple):
    """Agents that no process runs any more although steps wait for them, and agents that a process runs again."""

    unhosted: Sequence[str]
    rehosted: Sequence[str]


def read_circuits(
    agents: Collection[str], *, lock: Literal["", "FOR UPDATE", "FOR UPDATE SKIP LOCKED"] = ""
) -> dict[str, CircuitRow]:
    """The circuits of these agents, by agent. Locks are taken in the order of the agents' names: no deadlocks."""
    rows = fetch(
        f"""
        SELECT c.agent, {COLUMNS}
          FROM orders_circuit AS c
         WHERE c.agent = ANY(%s)
         ORDER BY c.agent
        {lock}
        """,
        [list(agents)],
    )
    return {row[0]: CircuitRow(*row) for row in rows}


def send_circuits(agents: Collection[str]) -> Sent[tuple[datetime, dict[str, CircuitRow]]]:
    """The time by the database's clock, and the circuits of these agents as they are then."""

    def read(cursor: Cursor) -> tuple[datetime, dict[str, CircuitRow]]:
        rows = rows_of(cursor)
        return rows[0][0], {row[1]: CircuitRow(*row[1:]) for row in rows if row[1] is not None}

    return send(
        f"""
        SELECT clock_timestamp(), c.agent, {COLUMNS}
          FROM (SELECT) AS once
          LEFT JOIN orders_circuit AS c ON c.agent = ANY(%s::text[])
        """,
        [list(agents)],
        read,
    )


def write_circuit(circuit: CircuitRow, **override_columns: Any) -> None:
    """Writes a circuit that this transaction has locked, and the columns that only an override changes."""
    columns = {**circuit._asdict(), **override_columns}
    columns["window_orders"] = json.dumps(list(circuit.window_orders))
    agent = columns.pop("agent")
    settings = ", ".join(f"{name} = %s" for name in columns)
    run(f"UPDATE orders_circuit SET {settings} WHERE agent = %s", [*columns.values(), agent])


def read_supplies(agents: Collection[str], *, counted_for: Viewpoint | None = None) -> dict[str, Supply]:
    """The circuits of these agents with their live capacity and the requests outstanding.

    The supervisor leaves the requests uncounted: it never touches a channel (V5) and does not need the number. Every
    scheduler that is alive has a share of the credit.
    """
    _, supplies = send_supplies(agents, counted_for=counted_for).result()
    return supplies


def send_supplies(
    agents: Collection[str], *, counted_for: Viewpoint | None = None
) -> Sent[tuple[datetime, dict[str, Supply]]]:
    """The time by the database's clock, and the same, without waiting for them. There is at least one agent."""
    viewpoint = counted_for or Viewpoint("")
    return send(
        f"""
        WITH live AS (
            SELECT agent,
                   coalesce(sum(capacity) FILTER (WHERE quarantined_at IS NULL), sum(capacity))::int AS capacity
              FROM orders_agentinstance
             WHERE seen_at > clock_timestamp() - %(alive)s::float8 * interval '1 second'
             GROUP BY agent
        ), outstanding AS (
            {_OUTSTANDING if counted_for else _OUTSTANDING_NOT_READ}
        ), others AS MATERIALIZED (
            SELECT count(*)::int AS number
              FROM orders_roleinstance
             WHERE role = 'scheduler'
               AND instance <> %(scheduler)s::text
               AND seen_at > clock_timestamp() - %(role_alive)s::float8 * interval '1 second'
        )
        SELECT clock_timestamp(), agents.agent,
               coalesce(live.capacity, 0),
               coalesce(outstanding.number, 0),
               coalesce(outstanding.own, 0),
               (SELECT number + 1 FROM others),
               (SELECT true
                  FROM orders_stepstate AS s
                 WHERE s.agent = agents.agent AND s.waiting_since IS NOT NULL
                 ORDER BY least(s.failure_count + s.compensation_failure_count, 1), s.priority DESC,
                          s.wanted_since
                 LIMIT 1) IS NOT NULL,
               EXISTS (SELECT 1
                         FROM orders_alert AS a
                        WHERE a.agent = agents.agent AND a.kind = 'outage' AND a.closed_at IS NULL),
               c.agent IS NOT NULL,
               {COLUMNS}
          FROM unnest(%(agents)s::text[]) AS agents (agent)
          LEFT JOIN live ON live.agent = agents.agent
          LEFT JOIN outstanding ON outstanding.agent = agents.agent
          LEFT JOIN orders_circuit AS c ON c.agent = agents.agent
        """,
        {"alive": HEARTBEAT_LIMIT, "role_alive": ALIVE, "agents": list(agents), **viewpoint._asdict()},
        _supplies_of,
    )


def recount(supplies: Mapping[str, Supply], *, counted_for: Viewpoint) -> dict[str, Supply]:
    """The supplies of agents whose circuits this transaction has locked, with the requests that are outstanding now.

    Whoever held a lock before may have posted some after the supplies were read. Only the snapshot of a new statement
    shows them.
    """
    rows = fetch(
        f"SELECT agent, number, own FROM ({_OUTSTANDING}) AS outstanding WHERE agent = ANY(%(agents)s::text[])",
        {"agents": list(supplies), **counted_for._asdict()},
    )
    counted = {agent: (number, own) for agent, number, own in rows}
    return {
        agent: supply._replace(outstanding=number, own=own)
        for agent, supply in supplies.items()
        for number, own in [counted.get(agent, (0, 0))]
    }


def _supplies_of(cursor: Cursor) -> tuple[datetime, dict[str, Supply]]:
    rows = rows_of(cursor)
    supplies = {}
    for _, name, *columns in rows:
        figures, has_circuit, circuit = columns[:6], columns[6], columns[7:]
        supplies[name] = Supply(CircuitRow(name, *circuit) if has_circuit else CircuitRow(name), *figures)
    return rows[0][0], supplies


def unavailable_agents(agents: Collection[str], now: datetime) -> dict[str, str]:
    """The agents that nothing is sent to at present, each with the code of the cause.

    A step that timed out there ran into an outage, so no failure of its own is counted.
    """
    causes = {}
    for agent, supply in read_supplies(agents).items():
        if not supply.capacity:
            causes[agent] = "no_host"
        elif not lets_calls_through(supply.circuit, now):
            causes[agent] = supply.circuit.cause_code or "paused"
    return causes


def register_agents(rates: Mapping[str, float | None]) -> None:
    """Adds a circuit for each agent that has none, and sets its limit of calls a second; None is no limit. A host does
    so at its start.

    The rows are inserted in the order of their keys, so that two hosts that start together do not deadlock.
    """
    run(
        """
        INSERT INTO orders_circuit (agent, state, openings, cause_code, cause_message,
                                    window_calls, window_failures, window_orders, rate, tokens, forced, paused,
                                    held_by, held_reason)
        SELECT agent, 'closed', 0, '', '',
               0, 0, '[]', rate, 0, '', false,
               '', ''
          FROM unnest(%s::text[], %s::float8[]) AS limited (agent, rate)
         ORDER BY agent
            ON CONFLICT (agent) DO UPDATE SET rate = excluded.rate
        """,
        [list(rates), list(rates.values())],
    )


def report_calls(
    tallies: Mapping[str, Tally], *, rules: BreakerRules, host: str = "", rng: random.Random | None = None
) -> bool:
    """Counts how the calls of a host went, and opens or closes circuits accordingly.

    Returns whether any changed its state. A host that alone fails is put in quarantine instead (`quarantine`).

    The start of an outage opens its one alert, and the end of the outage closes it (O1).
    """
    has_changed_state = False
    locked = read_circuits(tallies, lock="FOR UPDATE")
    now = database_now()
    hosts = read_hosts(tallies) if host else {}

    def jitter(failures: int) -> float:
        return probe_wait(failures, rules=rules, rng=rng)

    for agent, circuit in locked.items():
        tally, counted = tallies[agent], circuit
        own = next((seen for seen in hosts.get(agent, ()) if seen.instance == host), None)
        if own is not None:
            others = [other for other in hosts[agent] if other is not own]
            verdict = judge(own, others, circuit, tally, rules=rules, now=now, jitter=jitter)
            tally, counted = verdict.tally, verdict.circuit
            write_host(verdict.host)
        changed = after_calls(counted, tally, rules=rules, now=now, jitter=jitter)
        if changed != circuit:
            write_circuit(changed)
        if changed.state == circuit.state:
            continue
        has_changed_state = True
        if changed.state == CircuitState.OPEN:
            end_quarantines(agent)
            message = f"{agent} does not answer, and its steps wait: {changed.cause_message}"
            alerts.open_outage(agent, code=changed.cause_code, message=message)
        elif changed.state == CircuitState.CLOSED:
            alerts.close_outage(
                agent, by="the circuit breaker", resolution="the remote service answers again"
            )
    return has_changed_state


def find_host_changes(agents: Collection[str]) -> HostChanges:
    """Finds the agents that steps wait for and no live process runs, and those that a process runs again."""
    supplies = read_supplies(agents).items()
    return HostChanges(
        unhosted=[
            agent
            for agent, supply in supplies
            if not supply.capacity and supply.has_waiting and not supply.has_outage
        ],
        rehosted=[
            agent
            for agent, supply in supplies
            if supply.capacity and supply.has_outage and supply.circuit.state == CircuitState.CLOSED
        ],
    )


def alert_host_changes(changes: HostChanges) -> None:
    """Opens the outage alerts of agents that nobody runs, and closes those of agents that run again."""
    for agent in changes.unhosted:
        message = f"no process runs the agent {agent}, and its steps wait"
        alerts.open_outage(agent, code="no_host", message=message)
    for agent in changes.rehosted:
        alerts.close_outage(agent, by="the supervisor", resolution="the agent runs again")
