"""What /metrics says of the system now (`orders.metrics` writes it down), in so many statements whatever is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from orders.business.intake_pause import read_pause
from orders.engine.runtime.sql import fetch
from orders.models import AgentTally
from orders.selectors.desk.agents import AgentStatus, agent_statuses
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.decisions import count_open_decisions
from orders.selectors.desk.overview import recent_counts
from orders.selectors.desk.pauses import PausedStep, count_paused_orders, paused_steps
from orders.selectors.desk.processes import RoleStatus, role_statuses
from orders.selectors.desk.queues import Queue, QueueName, queues
from orders.selectors.desk.set_aside import count_set_aside
from orders.selectors.desk.standing import StandingKind
from orders.selectors.desk.supervisor import SupervisorStatus, supervisor_status
from orders.vocabulary import AlertKind, BulkState, MessageState

RECENTLY = timedelta(minutes=5)
"""How far back finished orders are counted."""
MOST_ACTIONS = 1_000
"""How many of the newest bulk actions are looked at."""


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """The system at one moment. Counts stop at a bound, as their selectors say.

    Of `orders`, by state, those that are finished have finished `RECENTLY`. `steps` are counted by where they stand.
    `bulk_orders` wait in bulk actions that run, and `calls` are those of all agent hosts.
    """

    orders: Mapping[str, int]
    steps: Mapping[StandingKind, int]
    set_aside: int
    queues: Mapping[QueueName, Queue]
    agents: Sequence[AgentStatus]
    calls: Sequence[AgentTally]
    supervisor: SupervisorStatus
    roles: Sequence[RoleStatus]
    alerts: Mapping[str, int]
    failed_messages: int
    disabled_webhooks: int
    bulk_actions: Mapping[str, int]
    bulk_orders: int
    intake_paused: bool
    paused_orders: int
    paused_steps: Sequence[PausedStep]


def read_gauges(*, now: datetime) -> Gauges:
    """The system now. Twenty-four statements, each by an index."""
    agents, waiting, watch = agent_statuses(now=now), queues(now=now), supervisor_status(now=now)
    counts = _counts(now)
    return Gauges(
        orders=recent_counts(now=now, within=RECENTLY),
        steps={
            StandingKind.RUNNING: counts["running"],
            StandingKind.OVERDUE: watch.overdue_steps,
            StandingKind.AGENT: sum(agent.waiting for agent in agents),
            StandingKind.DECISION: count_open_decisions(now=now),
            StandingKind.ERROR: counts["failed"],
        },
        set_aside=count_set_aside(),
        queues=waiting,
        agents=agents,
        calls=list(AgentTally.objects.order_by("agent", "outcome")),
        supervisor=watch,
        roles=role_statuses(now=now, agents=agents, queues=waiting, supervisor=watch),
        alerts=_alerts(),
        failed_messages=counts["failed messages"],
        disabled_webhooks=counts["disabled webhooks"],
        bulk_actions=_bulk_actions(),
        bulk_orders=counts["bulk orders"],
        intake_paused=read_pause() is not None,
        paused_orders=count_paused_orders(now=now),
        paused_steps=paused_steps(now=now),
    )


def _counts(now: datetime) -> dict[str, int]:
    """What no other selector counts, each up to `MOST_COUNTED` + 1. One statement."""
    rows = fetch(
        """
        SELECT 'running', count(*) FROM (
               SELECT FROM orders_stepstate WHERE complete_by > %(now)s ORDER BY complete_by LIMIT %(most)s) AS few
         UNION ALL
        SELECT 'failed', count(*) FROM (
               SELECT FROM orders_orderprocess AS process
                 JOIN orders_stepstate AS step ON step.order_id = process.order_id AND step.state = 'failed'
                WHERE process.process_state = 'error' ORDER BY process.created_at DESC LIMIT %(most)s) AS few
         UNION ALL
        SELECT 'failed messages', count(*) FROM (
               SELECT FROM orders_outgoingmessage WHERE state = %(failed)s LIMIT %(most)s) AS few
         UNION ALL
        SELECT 'disabled webhooks', count(*) FROM (
               SELECT FROM orders_webhookendpoint WHERE disabled_at IS NOT NULL LIMIT %(most)s) AS few
         UNION ALL
        SELECT 'bulk orders', count(*) FROM (
               SELECT FROM orders_bulkaction AS action,
                           LATERAL (SELECT FROM orders_bulkitem
                                     WHERE action_id = action.id AND state = 'waiting' LIMIT %(most)s) AS waiting
                WHERE action.state = 'running' LIMIT %(most)s) AS few
        """,
        {"now": now, "most": MOST_COUNTED + 1, "failed": MessageState.FAILED},
    )
    return dict(rows)


def _alerts() -> dict[str, int]:
    """The open alerts by kind, `MOST_COUNTED` + 1 of the newest at most. One statement."""
    rows = fetch(
        """
        SELECT kind, count(*)
          FROM (SELECT kind FROM orders_alert WHERE closed_at IS NULL ORDER BY opened_at DESC LIMIT %s) AS newest
         GROUP BY kind
        """,
        [MOST_COUNTED + 1],
    )
    return {kind.value: 0 for kind in AlertKind} | dict(rows)


def _bulk_actions() -> dict[str, int]:
    """The bulk actions that have not ended, by state, among the newest `MOST_ACTIONS`. One statement."""
    unended = [BulkState.RUNNING.value, BulkState.PAUSED.value]
    rows = fetch(
        """
        SELECT state, count(*)
          FROM (SELECT state FROM orders_bulkaction ORDER BY created_at DESC LIMIT %s) AS newest
         WHERE state = ANY(%s)
         GROUP BY state
        """,
        [MOST_ACTIONS, unended],
    )
    return dict.fromkeys(unended, 0) | dict(rows)
