"""Which orders will be late at the present pace: before they are, as long as something can be done about it.

An order that waits for an agent is sent when all are that are before it in that agent's queue, which moves at the pace
of the last minute. Whoever is not sent before the time promised to her cannot be done by then. Later steps, and orders
that have not reached the queue, are left out: what is said here is the least that will happen if nothing changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple
from uuid import UUID

from orders.business import registry
from orders.engine.runtime.sql import fetch, recordset
from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.vocabulary import Goal

AHEAD = timedelta(hours=1)
"""How far ahead one looks for an agent that does nothing now, and may be well again by then. `orders.wording.outlook`
says "another hour"."""
LISTED = 20


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What becomes of the orders that wait for an agent. `pace` is in steps a second; None while nothing is done, or
    while the agent does not even take calls (`takes_calls`). `set_rate` and `set_capacity` are an operator's limits.

    Of the `waiting` orders, as far as they are among the next `MOST_COUNTED` steps, `late` are late already, and
    `misses` will be, the first at `first_miss`. These are worth `value` by currency, in minor units. The steps of
    `given_up` orders will have waited for as long as they may, the first at `first_given_up`.
    """

    agent: str
    takes_calls: bool
    pace: float | None
    set_rate: float | None
    set_capacity: int | None
    waiting: int
    late: int
    misses: int
    first_miss: datetime | None
    value: Mapping[str, int]
    given_up: int
    first_given_up: datetime | None

    @property
    def is_good(self) -> bool:
        """Whether nothing that waits will be late."""
        return not self.misses and not self.given_up


class ComingMiss(NamedTuple):
    """An order that will be late: its place in the queue (`turn`, from 1), when that comes at the present pace, and
    what is missed by then: the time promised, or the time until which its step may wait."""

    order_id: UUID
    title: str
    total: int | None
    currency: str
    agent: str
    step: str
    turn: int
    turn_at: datetime | None
    promised_by: datetime | None
    given_up_at: datetime | None


def pace_of(agent: AgentStatus) -> float | None:
    """How many steps of an agent are done a second: by the successes of the last minute, as far as its limits allow
    them. None while it takes no calls, or if none succeeded.

    A limit counts as soon as it is set, though more was done in the minute before. After an outage, while what waits is
    let through gradually, the pace is what its hosts can do of it.
    """
    if not _takes_calls(agent):
        return None
    done = (agent.recent_calls - agent.recent_failures) / 60
    if agent.is_draining:
        done = max(done, agent.ramp * min(_able(agent), _most(agent)))
    elif not agent.recent_calls and agent.circuit.set_rate is not None:
        done = agent.circuit.set_rate  # so slow that no call may have been due in this minute
    return min(done, _most(agent)) or None


def _takes_calls(agent: AgentStatus) -> bool:
    return not agent.is_down and agent.lets_calls_through


def _able(agent: AgentStatus) -> float:
    """How many calls a second the hosts of an agent can make, whatever its limits."""
    return sum(host.capacity / max(host.mean_seconds or 1.0, 0.001) for host in agent.alive)


def _most(agent: AgentStatus) -> float:
    """How many calls a second the limits of an agent allow."""
    rate, capacity = agent.circuit.rate_limit, agent.circuit.set_capacity
    by_rate = inf if rate is None else rate
    return by_rate if capacity is None else min(by_rate, _able(agent) * capacity / max(1, agent.capacity))


# `LIMIT 1` has each order looked up by its id. The server expects a hundred queues of any text of JSON, and so more
# orders than it would look up: it would read all there are.
_QUEUES = """
    WITH queues AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%(queues)s::json) AS queue (agent text, pace float)
    ), patience AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%(patience)s::json)
                   AS of (workflow text, version smallint, step text, seconds float)
    ), line AS (
        SELECT queues.agent, waiting.order_id, waiting.name AS step, waiting.wanted_since,
               row_number() OVER (PARTITION BY queues.agent
                                      ORDER BY waiting.has_failed, waiting.priority DESC, waiting.wanted_since) AS turn,
               queues.pace
          FROM queues
         CROSS JOIN LATERAL (
               SELECT step.order_id, step.name, step.priority, step.wanted_since,
                      LEAST(step.failure_count + step.compensation_failure_count, 1) AS has_failed
                 FROM orders_stepstate AS step
                WHERE step.waiting_since IS NOT NULL AND step.agent = queues.agent
                ORDER BY LEAST(step.failure_count + step.compensation_failure_count, 1), step.priority DESC,
                         step.wanted_since
                LIMIT %(most)s
               ) AS waiting
    ), turns AS (
        SELECT line.agent, line.order_id, max(line.turn) AS turn,
               (array_agg(line.step ORDER BY line.turn DESC))[1] AS step,
               min(line.wanted_since + patience.seconds * interval '1 second') AS given_up_at,
               %(now)s + max(line.turn) / line.pace * interval '1 second' AS turn_at
          FROM line
         CROSS JOIN LATERAL (
               SELECT * FROM orders_orderprocess WHERE order_id = line.order_id AND goal = %(complete)s LIMIT 1
               ) AS process
          LEFT JOIN patience ON patience.workflow = process.workflow AND patience.version = process.version
                            AND patience.step = split_part(line.step, ':', 1)
         GROUP BY line.agent, line.pace, line.order_id
    ), waits AS (
        SELECT turns.*, placed.title, placed.total, coalesce(placed.currency, '') AS currency, placed.promised_by,
               coalesce(turn_at, %(now)s + %(ahead)s) AS not_before
          FROM turns
          LEFT JOIN LATERAL (SELECT * FROM orders_order WHERE id = turns.order_id LIMIT 1) AS placed ON true
    ), judged AS (
        SELECT *, coalesce(promised_by <= %(now)s, false) AS is_late,
               coalesce(promised_by > %(now)s AND promised_by < not_before, false) AS is_missed,
               coalesce(given_up_at < not_before, false) AS is_given_up
          FROM waits
    )
"""


def outlooks(agents: Sequence[AgentStatus], *, now: datetime) -> list[Outlook]:
    """What becomes of what waits for each of these agents; nothing is said of one for which nothing waits. One
    statement."""
    waited_for = [agent for agent in agents if agent.waiting]
    if not waited_for:
        return []
    rows = fetch(
        _QUEUES
        + """
        SELECT agent, currency, count(*), count(*) FILTER (WHERE is_late), count(*) FILTER (WHERE is_missed),
               min(promised_by) FILTER (WHERE is_missed), sum(total) FILTER (WHERE is_missed),
               count(*) FILTER (WHERE is_given_up), min(given_up_at) FILTER (WHERE is_given_up)
          FROM judged GROUP BY agent, currency ORDER BY agent, currency
        """,
        _terms(waited_for, now),
    )
    return [
        _outlook(agent, [row[1:] for row in rows if row[0] == agent.name])
        for agent in waited_for
        if any(row[0] == agent.name for row in rows)
    ]


def coming_misses(
    agents: Sequence[AgentStatus], *, now: datetime, limit: int = LISTED, order_id: UUID | None = None
) -> list[ComingMiss]:
    """The orders that will be late, or this one if it will be, the earliest first. One statement."""
    waited_for = [agent for agent in agents if agent.waiting]
    if not waited_for:
        return []
    rows = fetch(
        _QUEUES
        + """
        SELECT order_id, coalesce(title, ''), total, currency, agent, step, turn, turn_at,
               CASE WHEN is_missed THEN promised_by END, CASE WHEN is_given_up THEN given_up_at END
          FROM judged
         WHERE (is_missed OR is_given_up) AND (%(order_id)s::uuid IS NULL OR order_id = %(order_id)s::uuid)
         ORDER BY LEAST(CASE WHEN is_missed THEN promised_by END, CASE WHEN is_given_up THEN given_up_at END),
                  order_id, agent
         LIMIT %(limit)s
        """,
        {**_terms(waited_for, now), "limit": limit, "order_id": order_id},
    )
    return [ComingMiss(*row) for row in rows]


def _terms(agents: Sequence[AgentStatus], now: datetime) -> dict[str, object]:
    patience = [
        {"workflow": name, "version": version, "step": step.name, "seconds": step.patience}
        for (name, version), workflow in registry.workflows().items()
        for step in workflow.steps
    ]
    return {
        "queues": recordset([{"agent": agent.name, "pace": pace_of(agent)} for agent in agents]),
        "patience": recordset(patience),
        "now": now,
        "ahead": AHEAD,
        "most": MOST_COUNTED,
        "complete": Goal.COMPLETE.value,
    }


def _outlook(agent: AgentStatus, rows: Sequence[tuple[object, ...]]) -> Outlook:
    currencies, waiting, late, misses, first_miss, totals, given_up, first_given_up = zip(*rows, strict=True)
    return Outlook(
        agent=agent.name,
        takes_calls=_takes_calls(agent),
        pace=pace_of(agent),
        set_rate=agent.circuit.set_rate,
        set_capacity=agent.circuit.set_capacity,
        waiting=sum(waiting),
        late=sum(late),
        misses=sum(misses),
        first_miss=min((at for at in first_miss if at is not None), default=None),
        value={currency: int(total) for currency, total in zip(currencies, totals, strict=True) if total},
        given_up=sum(given_up),
        first_given_up=min((at for at in first_given_up if at is not None), default=None),
    )
