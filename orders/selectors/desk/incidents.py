"""What is wrong now, as incidents: each with its cause, since when, and the orders, money and promises at risk.

Everything is counted up to a bound, so that the overview costs the same however much is wrong.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from orders.business.intake_pause import read_pause
from orders.engine.runtime.sql import fetch
from orders.models import IntakePause, StepPause
from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.alert_groups import OpenAlerts, open_groups
from orders.selectors.desk.pauses import held_by_paused_steps
from orders.selectors.desk.snoozes import snooze_of
from orders.selectors.desk.supervisor import SupervisorStatus
from orders.vocabulary import AlertKind

MOST_ORDERS = 2_000
"""The orders, in all incidents of a kind together, whose money and promises are read."""
LEAST_ORDERS = 50
"""The same for each of them, however many there are."""
MOST_GROUPS = 100
"""The alert groups that are read."""
SOON = timedelta(hours=1)
"""A promise whose time comes within this, or has come, is at risk."""

_PROMISED = """
    count(*) FILTER (WHERE o.promised_by < %(soon)s), count(*) FILTER (WHERE o.promised_by < %(now)s),
    min(o.promised_by) FILTER (WHERE o.promised_by >= %(now)s AND o.promised_by < %(soon)s),
    max(o.promised_by) FILTER (WHERE o.promised_by >= %(now)s AND o.promised_by < %(soon)s)
"""
"""How many promises are at risk, how many of those are broken, and when the first and the last of the rest are due."""
_OF_GROUPS = f"""
    SELECT g.id, coalesce(o.currency, ''), count(*), coalesce(sum(o.total), 0)::bigint, {_PROMISED}
      FROM unnest(%(groups)s::bigint[]) AS g(id)
     CROSS JOIN LATERAL (
           SELECT order_id FROM orders_alert
            WHERE group_id = g.id AND closed_at IS NULL AND order_id IS NOT NULL
            ORDER BY opened_at DESC LIMIT %(most)s
     ) AS a
      LEFT JOIN orders_order AS o ON o.id = a.order_id
     GROUP BY g.id, coalesce(o.currency, '')
"""
_OF_AGENTS = f"""
    SELECT agents.agent, coalesce(o.currency, ''), count(*), coalesce(sum(o.total), 0)::bigint, {_PROMISED}
      FROM unnest(%(agents)s::text[]) AS agents(agent)
     CROSS JOIN LATERAL (
           SELECT DISTINCT few.order_id
             FROM (SELECT s.order_id FROM orders_stepstate AS s
                    WHERE s.waiting_since IS NOT NULL AND s.agent = agents.agent LIMIT %(most)s) AS few
     ) AS waiting
      LEFT JOIN orders_order AS o ON o.id = waiting.order_id
     GROUP BY agents.agent, coalesce(o.currency, '')
"""
_LATE_DECISIONS = f"""
    SELECT coalesce(o.currency, ''), count(*), coalesce(sum(o.total), 0)::bigint, {_PROMISED}, min(late.complete_by)
      FROM (SELECT s.order_id, s.complete_by FROM orders_stepstate AS s
             WHERE s.state = 'awaiting' AND s.complete_by <= %(now)s
               AND (s.awaits -> 'kind') = '"decision"'::jsonb
             ORDER BY s.complete_by LIMIT %(most)s) AS late
      LEFT JOIN orders_order AS o ON o.id = late.order_id
     GROUP BY coalesce(o.currency, '')
"""

_PAUSED = f"""
    SELECT coalesce(o.currency, ''), count(*), coalesce(sum(o.total), 0)::bigint, {_PROMISED}, min(paused.paused_at)
      FROM (SELECT p.order_id, p.paused_at FROM orders_orderprocess AS p
             WHERE p.paused_at IS NOT NULL AND (p.paused_until IS NULL OR p.paused_until > %(now)s)
             ORDER BY p.paused_at LIMIT %(most)s) AS paused
      LEFT JOIN orders_order AS o ON o.id = paused.order_id
     GROUP BY coalesce(o.currency, '')
"""


_AT_PAUSED_STEPS = f"""
    SELECT held.pause, coalesce(o.currency, ''), count(*), coalesce(sum(o.total), 0)::bigint, {_PROMISED}
      FROM (SELECT DISTINCT pause.id AS pause, p.order_id
              FROM (SELECT order_id, split_part(name, ':', 1) AS step FROM orders_stepstate
                     WHERE paused_since IS NOT NULL ORDER BY paused_since LIMIT %(most)s) AS s
              JOIN orders_orderprocess AS p
                ON p.order_id = s.order_id AND p.process_state IN ('pending', 'processing')
              JOIN orders_steppause AS pause ON pause.workflow = p.workflow AND pause.step = s.step) AS held
      LEFT JOIN orders_order AS o ON o.id = held.order_id
     GROUP BY held.pause, coalesce(o.currency, '')
"""


class IncidentKind(StrEnum):
    """What kind of thing is wrong, the most urgent first."""

    INTAKE = "intake"
    """New orders are refused, because an operator has paused them."""
    OURS = "ours"
    """The system itself: a role, a release, the delivery of alerts."""
    CANCELLATION = "cancellation"
    """Orders whose cancellation failed, so that money or goods are not given back."""
    OUTAGE = "outage"
    """A service that takes no calls; its orders wait."""
    LATE = "late"
    """Orders that will be late at the present pace of a service that takes calls."""
    FAILED = "failed"
    """Orders that failed alike, and wait for an operator."""
    DECISION = "decision"
    """Orders that wait for a person's decision past its time."""
    PAUSED = "paused"
    """Orders that an operator has paused, and steps that are paused in all orders."""


ORDER = tuple(IncidentKind)


@dataclass(frozen=True, kw_only=True)
class AtRisk:
    """The orders of an incident, their money by currency in minor units, and how many of their promises are at risk.

    `late` of these are broken, and the others are due from `first_due` to `last_due`. With `more`, there are more
    orders, and all else is of the first.
    """

    orders: int = 0
    money: Mapping[str, int] = field(default_factory=dict)
    promises: int = 0
    late: int = 0
    first_due: datetime | None = None
    last_due: datetime | None = None
    more: bool = False


NO_RISK = AtRisk()


@dataclass(frozen=True, kw_only=True)
class Incident:
    """One thing that is wrong, `since` a time if that is known.

    It is about the pause of the `intake` or of a step, a group of open `alerts`, an `agent`, the `supervisor`,
    decisions, or paused orders. If orders will be late, it is about both the alerts and the agent that they wait for;
    `is_held` if a pause of their step holds them. `alert_count` is how many open alerts an agent's incident stands for.
    """

    kind: IncidentKind
    since: datetime | None
    at_risk: AtRisk = NO_RISK
    alerts: OpenAlerts | None = None
    agent: AgentStatus | None = None
    supervisor: SupervisorStatus | None = None
    intake: IntakePause | None = None
    step_pause: StepPause | None = None
    is_held: bool = False
    alert_count: int = 0


def incidents(*, agents: Sequence[AgentStatus], watch: SupervisorStatus, now: datetime) -> Sequence[Incident]:
    """What is wrong now, in the order of `IncidentKind`, and the most money first.

    Nine statements. `agents` and `watch` have been read already.
    """
    groups = [alerts for alerts in open_groups(now=now) if not _is_snoozed(alerts, now)][:MOST_GROUPS]
    troubled = [agent for agent in agents if _is_troubled(agent)]
    unsorted = [
        *_of_intake(),
        *_of_supervisor(watch),
        *_of_groups(groups, {agent.name: agent for agent in agents}, now),
        *_of_agents(troubled, groups, now),
        *_of_rows(IncidentKind.DECISION, _LATE_DECISIONS, now),
        *_of_rows(IncidentKind.PAUSED, _PAUSED, now),
        *_of_steps(now),
    ]
    return sorted(unsorted, key=_urgency)


def _urgency(incident: Incident) -> tuple[int, int, int]:
    risk = incident.at_risk
    return ORDER.index(incident.kind), -sum(risk.money.values()), -risk.orders


def _is_snoozed(alerts: OpenAlerts, now: datetime) -> bool:
    return snooze_of(alerts.group, count=alerts.open, now=now) is not None


def _is_troubled(agent: AgentStatus) -> bool:
    return agent.is_down or not agent.lets_calls_through or (agent.is_draining and agent.waiting > 0)


def _is_incident(agent: AgentStatus | None) -> bool:
    return agent is not None and _is_troubled(agent)


def _of_intake() -> Iterator[Incident]:
    if (pause := read_pause()) is not None:
        yield Incident(kind=IncidentKind.INTAKE, since=pause.at, intake=pause)


def _of_steps(now: datetime) -> Iterator[Incident]:
    """The paused steps, each with the orders that wait because of that."""
    pauses = list(StepPause.objects.exclude(until__lte=now).order_by("at"))
    rows = (
        fetch(_AT_PAUSED_STEPS, {"most": MOST_ORDERS + 1, "soon": now + SOON, "now": now}) if pauses else []
    )
    risks = _risks(rows)
    for pause in pauses:
        risk = risks.get(pause.pk, NO_RISK)
        if sum(row[2] for row in rows) > MOST_ORDERS:
            risk = replace(risk, more=True)
        yield Incident(kind=IncidentKind.PAUSED, since=pause.at, at_risk=risk, step_pause=pause)


def _of_supervisor(watch: SupervisorStatus) -> Iterator[Incident]:
    if watch.late:
        yield Incident(kind=IncidentKind.OURS, since=watch.swept_at, supervisor=watch)


def _of_groups(
    groups: Sequence[OpenAlerts], agents: Mapping[str, AgentStatus], now: datetime
) -> Iterator[Incident]:
    ids = [alerts.group.pk for alerts in groups if alerts.has_orders]
    most = max(LEAST_ORDERS, MOST_ORDERS // max(1, len(ids)))
    rows = fetch(_OF_GROUPS, {"groups": ids, "most": most, "soon": now + SOON, "now": now}) if ids else []
    risks = _risks(rows)
    late = [alerts.group.agent for alerts in groups if alerts.group.kind == AlertKind.LATE]
    queues = _waiting_risks([agents[name] for name in late if name in agents], now)
    for alerts in groups:
        group = alerts.group
        if (alerts.is_outage or group.kind == AlertKind.LATE) and _is_incident(agents.get(group.agent)):
            continue  # the agent itself is an incident, which knows more
        risk = risks.get(group.pk, NO_RISK)
        if alerts.open > risk.orders and alerts.has_orders:
            risk = replace(risk, orders=alerts.open, more=True)
        agent = agents.get(group.agent) if group.kind == AlertKind.LATE else None
        kind = _kind_of(group.kind)
        if agent is not None:
            risk = queues.get(agent.name, NO_RISK)
        yield Incident(
            kind=kind,
            since=alerts.first_at,
            at_risk=risk,
            alerts=alerts,
            agent=agent,
            is_held=agent is not None and not agent.waiting and bool(held_by_paused_steps([agent.name])),
        )


def _kind_of(kind: str) -> IncidentKind:
    return {
        AlertKind.STALLED.value: IncidentKind.OURS,
        AlertKind.RELEASE.value: IncidentKind.OURS,
        AlertKind.COMPENSATION_FAILED.value: IncidentKind.CANCELLATION,
        AlertKind.OUTAGE.value: IncidentKind.OUTAGE,
        AlertKind.LATE.value: IncidentKind.LATE,
    }.get(kind, IncidentKind.FAILED)


def _of_agents(
    agents: Sequence[AgentStatus], groups: Sequence[OpenAlerts], now: datetime
) -> Iterator[Incident]:
    risks = _waiting_risks(agents, now)
    outages = {alerts.group.agent: alerts for alerts in groups if alerts.is_outage}
    about = Counter(alerts.group.agent for alerts in groups if alerts.makes_orders_wait)
    for agent in agents:
        risk = risks.get(agent.name, NO_RISK)
        kind = IncidentKind.OURS if agent.is_down else IncidentKind.OUTAGE
        since = None if agent.is_down or agent.is_forced or agent.circuit.paused else agent.circuit.opened_at
        alerts = outages.get(agent.name)
        count = about[agent.name]
        yield Incident(kind=kind, since=since, at_risk=risk, agent=agent, alerts=alerts, alert_count=count)


def _waiting_risks(agents: Sequence[AgentStatus], now: datetime) -> dict[str, AtRisk]:
    """The orders that wait for each of these agents. One statement, if there are any."""
    if not agents:
        return {}
    most = max(LEAST_ORDERS, MOST_ORDERS // len(agents))
    names = [agent.name for agent in agents]
    risks = _risks(fetch(_OF_AGENTS, {"agents": names, "most": most, "soon": now + SOON, "now": now}))
    for agent in agents:
        if agent.waiting > most:
            risk = risks.get(agent.name, NO_RISK)
            risks[agent.name] = replace(risk, orders=agent.waiting, more=True)
    return risks


def _of_rows(kind: IncidentKind, sql: str, now: datetime) -> Iterator[Incident]:
    rows = fetch(sql, {"now": now, "most": MOST_ORDERS + 1, "soon": now + SOON})
    if rows:
        risk = _risks([(0, *row[:-1]) for row in rows])[0]
        if risk.orders > MOST_ORDERS:
            risk = replace(risk, more=True)
        yield Incident(kind=kind, since=min(row[-1] for row in rows), at_risk=risk)


def _risks(rows: Sequence[Sequence[Any]]) -> dict[Any, AtRisk]:
    """The orders, money and promises by key, from one row for each key and currency."""
    risks: dict[Any, AtRisk] = {}
    for key, currency, orders, total, promises, late, first_due, last_due in rows:
        risk = risks.get(key, NO_RISK)
        money = {**risk.money, **({currency: total} if currency and total else {})}
        risks[key] = AtRisk(
            orders=risk.orders + orders,
            money=money,
            promises=risk.promises + promises,
            late=risk.late + late,
            first_due=min(filter(None, (risk.first_due, first_due)), default=None),
            last_due=max(filter(None, (risk.last_due, last_due)), default=None),
        )
    return risks
