"""What has become of orders that were resubmitted: of those of a cause, and of those of bulk actions.

The alert of an order closes when it is resubmitted, whether it gets through or not: it may still wait for its agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch
from orders.vocabulary import ProcessState

SINCE = timedelta(days=1)
"""How long ago an order may have been resubmitted to be counted."""
ONE_TIME = timedelta(minutes=10)
"""What lies no further apart is one time: a bulk action resubmits its orders one after the other."""
MOST_READ = 2_000
"""The closed alerts of a cause that are read, the newest, and the orders of each action."""

_WAITS = """
    waits AS (
        SELECT DISTINCT ON (s.order_id) s.order_id, s.agent FROM orders_stepstate AS s
         WHERE s.waiting_since IS NOT NULL AND s.order_id IN (SELECT order_id FROM acted)
         ORDER BY s.order_id, s.waiting_since
    )
"""
"""The agent that each of the orders `acted` waits for, the longest if for several: an order is counted once."""
_OF_GROUP = f"""
    WITH newest AS MATERIALIZED (
        SELECT order_id, closed_at, closed_by, resolution FROM orders_alert
         WHERE group_id = %(group)s AND closed_at > %(since)s
         ORDER BY closed_at DESC LIMIT %(most)s
    ), acted AS (
        SELECT DISTINCT ON (order_id) * FROM newest WHERE order_id IS NOT NULL ORDER BY order_id, closed_at DESC
    ), {_WAITS}
    SELECT acted.closed_by, p.process_state, waits.agent, min(acted.closed_at), max(acted.closed_at), count(*),
           count(*) FILTER (WHERE acted.resolution <> 'resubmitted')
      FROM acted
      JOIN orders_orderprocess AS p ON p.order_id = acted.order_id
      LEFT JOIN waits ON waits.order_id = acted.order_id
     WHERE acted.resolution IN ('resubmitted', 'edited and resubmitted', 'edited')
     GROUP BY acted.closed_by, p.process_state, waits.agent
     ORDER BY max(acted.closed_at) DESC, waits.agent
"""
_OF_ACTIONS = f"""
    WITH acted AS (
        SELECT a.id AS action_id, i.order_id
          FROM unnest(%s::bigint[]) AS a(id)
         CROSS JOIN LATERAL (
               SELECT order_id FROM orders_bulkitem WHERE action_id = a.id AND state = 'acted' LIMIT %s
         ) AS i
    ), {_WAITS}
    SELECT acted.action_id, waits.agent, count(*)
      FROM acted
      JOIN waits ON waits.order_id = acted.order_id
     GROUP BY acted.action_id, waits.agent ORDER BY acted.action_id, waits.agent
"""


@dataclass(frozen=True, kw_only=True)
class Resubmission:
    """What has become of the orders of a cause that somebody resubmitted, the first at `first_at` and the last `at`
    that time.

    `waiting` are those that wait for an agent, by its name, and `running` are the others that have not ended. `edited`
    of all of them were edited first.
    """

    by: str
    first_at: datetime
    at: datetime
    waiting: Mapping[str, int] = field(default_factory=dict)
    running: int = 0
    processed: int = 0
    cancelled: int = 0
    failed: int = 0
    edited: int = 0

    @property
    def under_way(self) -> int:
        """How many of its orders have not ended."""
        return sum(self.waiting.values()) + self.running

    @property
    def was_at_several_times(self) -> bool:
        """Whether more than `ONE_TIME` lies between the first and the last."""
        return self.at - self.first_at > ONE_TIME

    @property
    def orders(self) -> int:
        return self.under_way + self.processed + self.cancelled + self.failed


def resubmissions_of(group_id: int, *, now: datetime) -> list[Resubmission]:
    """Who resubmitted orders of a group since `SINCE`, the latest first. One statement."""
    rows = fetch(_OF_GROUP, {"group": group_id, "since": now - SINCE, "most": MOST_READ})
    people = dict.fromkeys(row[0] for row in rows)
    return [_resubmission(by, [row[1:] for row in rows if row[0] == by]) for by in people]


def _resubmission(
    by: str, rows: Sequence[tuple[str, str | None, datetime, datetime, int, int]]
) -> Resubmission:
    ended = {ProcessState.PROCESSED: 0, ProcessState.COMPENSATED: 0, ProcessState.ERROR: 0}
    waiting: dict[str, int] = {}
    running = 0
    for state, agent, _, _, count, _ in rows:
        if state in ended:
            ended[ProcessState(state)] += count
        elif agent:
            waiting[agent] = waiting.get(agent, 0) + count
        else:
            running += count
    return Resubmission(
        by=by,
        first_at=min(row[2] for row in rows),
        at=max(row[3] for row in rows),
        waiting=waiting,
        running=running,
        processed=ended[ProcessState.PROCESSED],
        cancelled=ended[ProcessState.COMPENSATED],
        failed=ended[ProcessState.ERROR],
        edited=sum(row[5] for row in rows),
    )


def waits_of_actions(action_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """For which agents orders wait that these actions have acted on, and how many. One statement."""
    waits: dict[int, dict[str, int]] = {}
    for action_id, agent, count in fetch(_OF_ACTIONS, [list(action_ids), MOST_READ]):
        waits.setdefault(action_id, {})[agent] = count
    return waits
