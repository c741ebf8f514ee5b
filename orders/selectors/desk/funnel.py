"""Each workflow as a funnel: how many orders are at each step and for how long, and how many were lost there.

Read from the same indexes as the workflow's graph, each up to a bound. An order is at a step while the step runs or is
parked, waits for its agent, or has failed with the order in Error. One that ended in the last 24 hours because it was
cancelled was lost at the step that had failed, or else at the first one that had not been done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.engine.runtime.sql import fetch
from orders.selectors.desk.workflows import MOST

LOST_WITHIN = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class AtStep:
    """The orders at a step, counted up to `MOST` of each kind. The median and the longest time that they have been
    there are in seconds, None if there are none. `failed` of them are in Error; `cancelled` were lost lately."""

    here: int = 0
    median_seconds: float | None = None
    oldest_seconds: float | None = None
    failed: int = 0
    cancelled: int = 0


def orders_at_steps(*, now: datetime) -> Mapping[tuple[str, int], Mapping[str, AtStep]]:
    """What is at each step, by workflow and version and by the step's name. Two queries."""
    funnels: dict[tuple[str, int], dict[str, AtStep]] = {}
    cancelled = _cancelled(now)
    here = _here(now)
    for workflow, version, step in here.keys() | cancelled.keys():
        orders, median, oldest, failed = here.get((workflow, version, step), (0, None, None, 0))
        funnels.setdefault((workflow, version), {})[step] = AtStep(
            here=orders,
            median_seconds=median,
            oldest_seconds=oldest,
            failed=failed,
            cancelled=cancelled.get((workflow, version, step), 0),
        )
    return funnels


def _here(now: datetime) -> Mapping[tuple[str, int, str], tuple[int, float, float, int]]:
    rows = fetch(
        """
        WITH at AS (
            (SELECT order_id, name, started_at AS since, false AS failed FROM orders_stepstate
              WHERE complete_by IS NOT NULL ORDER BY complete_by LIMIT %(most)s)
            UNION ALL
            SELECT waits.order_id, waits.name, coalesce(waits.wanted_since, waits.waiting_since), false
              FROM (SELECT agent FROM orders_circuit UNION SELECT agent FROM orders_agentinstance) AS known,
                   LATERAL (SELECT order_id, name, wanted_since, waiting_since FROM orders_stepstate
                             WHERE waiting_since IS NOT NULL AND agent = known.agent LIMIT %(most)s) AS waits
            UNION ALL
            (SELECT order_id, name, paused_since, false FROM orders_stepstate
              WHERE paused_since IS NOT NULL ORDER BY paused_since LIMIT %(most)s)
            UNION ALL
            SELECT s.order_id, s.name, s.started_at, false
              FROM (SELECT order_id FROM orders_orderprocess
                     WHERE process_state IN ('pending', 'processing') AND not_before IS NOT NULL
                     ORDER BY not_before LIMIT %(most)s) AS later
              JOIN orders_stepstate AS s ON s.order_id = later.order_id
               AND s.not_before > %(now)s AND s.waiting_since IS NULL AND s.complete_by IS NULL
               AND s.paused_since IS NULL
            UNION ALL
            SELECT s.order_id, s.name, s.started_at, true
              FROM (SELECT order_id FROM orders_orderprocess WHERE process_state = 'error'
                     ORDER BY created_at DESC LIMIT %(most)s) AS wrong
             CROSS JOIN LATERAL (
                   SELECT order_id, name, started_at FROM orders_stepstate
                    WHERE order_id = wrong.order_id AND state = 'failed'
                   OFFSET 0) AS s  -- order by order, rather than all that have failed
        ), of_order AS (
            SELECT order_id, split_part(name, ':', 1) AS step, min(since) AS since, bool_or(failed) AS failed
              FROM at GROUP BY 1, 2
        ), aged AS (
            SELECT p.workflow, p.version, step, failed,
                   greatest(0, extract(epoch FROM %(now)s - coalesce(since, p.created_at)))::float8 AS age
              FROM of_order JOIN orders_orderprocess AS p ON p.order_id = of_order.order_id
        )
        SELECT workflow, version, step, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY age), max(age),
               count(*) FILTER (WHERE failed)
          FROM aged GROUP BY 1, 2, 3
        """,
        {"most": MOST, "now": now},
    )
    return {(row[0], row[1], row[2]): (row[3], row[4], row[5], row[6]) for row in rows}


def _cancelled(now: datetime) -> Mapping[tuple[str, int, str], int]:
    rows = fetch(
        """
        SELECT p.workflow, p.version, split_part(lost.name, ':', 1), count(*)
          FROM (SELECT order_id, workflow, version FROM orders_orderprocess
                 WHERE finished_at > %s AND process_state = 'compensated'
                 ORDER BY finished_at DESC LIMIT %s) AS p
         CROSS JOIN LATERAL (SELECT name FROM orders_stepstate AS s
                              WHERE s.order_id = p.order_id
                                AND s.state NOT IN ('completed', 'compensated', 'skipped')
                              ORDER BY (s.state = 'failed') DESC, s.position LIMIT 1) AS lost
         GROUP BY 1, 2, 3
        """,
        [now - LOST_WITHIN, MOST],
    )
    return {(row[0], row[1], row[2]): row[3] for row in rows}
