"""How the system is: agents and their queue, the supervisor, the alerts, the submissions that were set aside."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q

from orders.models import AgentInstance, AgentRequest, Alert, LeaderLease, OrderProcess, SetAside, StepState
from orders.vocabulary import ProcessState, StepStatus

STALE = 15.0
"""Seconds without a heartbeat (one comes every 5 s) after which an instance does not count as alive."""

LATE = 20.0
"""Seconds without a sweep after which the supervisor counts as gone: a killed leader is replaced in about 12."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One agent in one process."""

    agent: str
    instance: str
    seen_seconds: float
    alive: bool
    capacity: int
    in_flight: int
    calls: int
    failed_calls: int
    mean_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class AgentQueue:
    """An agent's requests: those that wait, those that are in hand, and how long the oldest has waited."""

    agent: str
    waiting: int
    in_hand: int
    oldest_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Agents:
    """`missing` has the agents with no live instance, each with the number of orders that still need it."""

    instances: list[Instance]
    queues: list[AgentQueue]
    missing: dict[str, int]


def agents(known: Collection[str], *, now: datetime) -> Agents:
    """How the agents are; `known` are those of the workflows. Three queries."""
    instances = [
        Instance(
            agent=row.agent,
            instance=row.instance,
            seen_seconds=(now - row.seen_at).total_seconds(),
            alive=(now - row.seen_at).total_seconds() <= STALE,
            capacity=row.capacity,
            in_flight=row.in_flight,
            calls=row.calls,
            failed_calls=row.failed_calls,
            mean_seconds=row.mean_seconds,
        )
        for row in AgentInstance.objects.order_by("agent", "instance")
    ]
    free = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    counted = AgentRequest.objects.values("agent").order_by("agent")
    queues = [
        AgentQueue(
            agent=row["agent"],
            waiting=row["waiting"],
            in_hand=row["all"] - row["waiting"],
            oldest_seconds=(now - row["oldest"]).total_seconds() if row["oldest"] else None,
        )
        for row in counted.annotate(
            all=Count("id"), waiting=Count("id", filter=free), oldest=Min("posted_at", filter=free)
        )
    ]
    alive = {one.agent for one in instances if one.alive}
    needed = dict.fromkeys(known, 0) | _needed()
    missing = {agent: orders for agent, orders in sorted(needed.items()) if agent not in alive}
    return Agents(instances=instances, queues=queues, missing=missing)


def _needed() -> dict[str, int]:
    """How many orders under way still need each agent. A step of an order that is being undone may be needed again."""
    ahead = Q(state__in=[StepStatus.NOT_STARTED, StepStatus.RUNNING, StepStatus.COMPENSATING])
    undo = Q(process__goal="compensate", state=StepStatus.COMPLETED)
    rows: Any = (
        StepState.objects.filter(
            ahead | undo, process__process_state__in=[ProcessState.PENDING, ProcessState.PROCESSING]
        )
        .values_list("agent")
        .annotate(orders=Count("process_id", distinct=True))
        .order_by()
    )
    return dict(rows)


@dataclass(frozen=True, kw_only=True)
class SupervisorHealth:
    """Who leads, what the last sweep did, and what is overdue at this moment."""

    leader: str | None
    term: int
    lease_seconds: float | None
    swept_seconds: float | None
    last_sweep: dict[str, Any]
    overdue_orders: int
    overdue_steps: int
    oldest_seconds: float | None

    @property
    def late(self) -> bool:
        """Whether the supervisor does not do its work."""
        return self.swept_seconds is None or self.swept_seconds > LATE


def supervisor(*, now: datetime) -> SupervisorHealth:
    """How the supervisor is. Three queries."""
    lease = LeaderLease.objects.filter(name=LeaderLease.SUPERVISOR).first() or LeaderLease(term=0)
    steps = list(
        StepState.objects.filter(complete_by__lte=now).values_list("process_id", "complete_by").order_by()
    )
    orders = list(
        OrderProcess.objects.filter(process_state=ProcessState.PROCESSING, complete_by__lte=now)
        .values_list("order_id", "complete_by")
        .order_by()
    )
    oldest = min((when for _, when in [*steps, *orders] if when), default=None)
    leads = lease.holder is not None and lease.expires_at is not None and lease.expires_at > now
    return SupervisorHealth(
        leader=lease.holder if leads else None,
        term=lease.term,
        lease_seconds=(lease.expires_at - now).total_seconds() if lease.expires_at else None,
        swept_seconds=(now - lease.swept_at).total_seconds() if lease.swept_at else None,
        last_sweep=lease.last_sweep,
        overdue_orders=len({order_id for order_id, _ in [*steps, *orders]}),
        overdue_steps=len(steps),
        oldest_seconds=(now - oldest).total_seconds() if oldest else None,
    )


@dataclass(frozen=True, kw_only=True)
class AlertGroup:
    """Alerts with one cause, newest order first. `message` is the newest one's; `messages` how many differ.

    An outage is about an agent and has no orders.
    """

    kind: str
    agent: str
    code: str
    count: int
    open: int
    first_at: datetime
    last_at: datetime
    message: str
    messages: int
    closed: dict[str, int]
    orders: list[UUID]


def alert_groups(*, closed: bool = False) -> list[AlertGroup]:
    """The open alerts by kind, agent and code, the largest group first; with `closed`, all. One query."""
    found = Alert.objects.all() if closed else Alert.objects.filter(closed_at__isnull=True)
    grouped: dict[tuple[str, str, str], list[Alert]] = defaultdict(list)
    for alert in found.order_by("-opened_at", "-id"):
        grouped[alert.kind, alert.agent, alert.code].append(alert)
    groups = [_group(alerts) for alerts in grouped.values()]
    return sorted(groups, key=lambda group: (-group.open, -group.count, group.kind, group.agent, group.code))


def _group(alerts: list[Alert]) -> AlertGroup:
    newest = alerts[0]
    closed: dict[str, int] = defaultdict(int)
    for alert in alerts:
        if alert.closed_at is not None:
            closed[f"{alert.resolution} by {alert.closed_by}"] += 1
    return AlertGroup(
        kind=newest.kind,
        agent=newest.agent,
        code=newest.code,
        count=len(alerts),
        open=sum(alert.closed_at is None for alert in alerts),
        first_at=alerts[-1].opened_at,
        last_at=newest.opened_at,
        message=newest.message,
        messages=len({alert.message for alert in alerts}),
        closed=dict(closed),
        orders=list(dict.fromkeys(alert.order_id for alert in alerts if alert.order_id is not None)),
    )


def orders_with_alert(code: str, *, agent: str | None = None, kind: str | None = None) -> list[UUID]:
    """The orders with an open alert of this code, and of this agent and kind if any, oldest first. One query."""
    wanted = {"agent": agent, "kind": kind}
    asked = {name: value for name, value in wanted.items() if value is not None}
    alerts: Iterable[UUID] = (
        Alert.objects.filter(code=code, closed_at__isnull=True, order_id__isnull=False, **asked)
        .order_by("opened_at", "id")
        .values_list("order_id", flat=True)
    )
    return list(alerts)


@dataclass(frozen=True, kw_only=True)
class KeptSubmission:
    """A submission that was set aside."""

    number: int
    order_id: UUID
    client: str
    reason: str
    posted_at: datetime
    set_aside_at: datetime
    body: Any


def set_aside_submissions() -> list[KeptSubmission]:
    """The submissions that wait for an operator, oldest first. One query."""
    return [
        KeptSubmission(
            number=kept.pk,
            order_id=kept.order_id,
            client=kept.client,
            reason=kept.reason,
            posted_at=kept.posted_at,
            set_aside_at=kept.set_aside_at,
            body=kept.body,
        )
        for kept in SetAside.objects.filter(replayed_at__isnull=True).order_by("id")
    ]
