"""How many orders wait at each step for its agent, and how that agent does."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from orders.engine.runtime.sql import fetch
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.pauses import steps_to_pause


@dataclass(frozen=True, kw_only=True)
class AgentWait:
    """How many orders wait at a step for its agent, and the agent as it is now."""

    orders: int
    agent: AgentStatus


def agent_waits(*, now: datetime) -> Mapping[tuple[str, str], AgentWait]:
    """By workflow and step, those at which an order waits for its agent on its way forward. Five statements.

    Of each agent, the first `MOST_COUNTED` + 1 waits are counted.
    """
    agents = sorted({agent for _, _, agent in steps_to_pause()})
    statuses = {status.name: status for status in agent_statuses(now=now, known_agents=agents)}
    rows = fetch(
        """
        SELECT p.workflow, split_part(waits.name, ':', 1), known.agent, count(DISTINCT p.order_id)
          FROM unnest(%(agents)s::text[]) AS known (agent)
         CROSS JOIN LATERAL (
               SELECT order_id, name FROM orders_stepstate
                WHERE waiting_since IS NOT NULL AND agent = known.agent
                  AND state <> 'compensating'  -- a pause does not hold back what reverses the step
                LIMIT %(most)s) AS waits
          JOIN orders_orderprocess AS p
            ON p.order_id = waits.order_id AND p.process_state IN ('pending', 'processing')
         GROUP BY 1, 2, 3
        """,
        {"agents": agents, "most": MOST_COUNTED + 1},
    )
    return {
        (workflow, step): AgentWait(orders=orders, agent=statuses[agent])
        for workflow, step, agent, orders in rows
    }
