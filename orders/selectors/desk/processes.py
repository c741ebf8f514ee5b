"""The processes of each role: when each was last heard of, what it runs and holds, and what waits for its role."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from orders.engine.circuits.rules import HEARTBEAT_LIMIT
from orders.engine.runtime.sql import fetch
from orders.models import RoleInstance
from orders.selectors.desk.agents import AgentStatus, Instance, agent_statuses
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.queues import Queue, QueueName, queues
from orders.selectors.desk.supervisor import SupervisorStatus, supervisor_status
from orders.vocabulary import ActorKind, AlertKind

WEB = "web"
"""The role of the web processes: they serve pages and the API, and watch the others."""
ROLES = (WEB, *(ActorKind(name).value for name in ("submission", "scheduler", "agents", "supervisor")))
"""Every role, in the order in which an order meets them. Each needs one process at least."""


class BacklogName(StrEnum):
    """What can wait for a role."""

    SUBMISSIONS = "submissions"
    ORDERS = "orders"
    REPLIES = "replies"
    REQUESTS = "requests"
    OVERDUE = "overdue"
    """Orders that are overdue, or have a step that is."""


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """What waits for a role: its name, how many there are (up to a bound), and for how long the oldest has waited."""

    name: BacklogName
    depth: int
    oldest_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process, as of its last heartbeat `seen_seconds` ago.

    `release` is that of its code, "" if it is from before releases were recorded.
    `versions` are the workflows that it runs, each with its version and fingerprint, and `troubles` the codes of what
    it says is wrong. `leads` says that it is the leading supervisor. It holds `orders` (a scheduler), or `requests`,
    with `in_flight` of at most `capacity` calls (a host of these `agents`). The orders are counted up to
    `MOST_COUNTED` + 1 for all processes together.
    """

    name: str
    role: str
    release: str
    started_at: datetime
    seen_at: datetime
    seen_seconds: float
    progressed_at: datetime | None
    versions: Sequence[tuple[str, int, str]]
    troubles: Sequence[str]
    leads: bool
    orders: int
    requests: int
    in_flight: int
    capacity: int
    agents: Sequence[str]

    @property
    def alive(self) -> bool:
        """Whether its last heartbeat is recent."""
        return self.seen_seconds <= HEARTBEAT_LIMIT

    @property
    def workflows(self) -> Sequence[str]:
        """The versions of workflows that it runs, as people write them: "fulfil-order v1"."""
        return [f"{name} v{version}" for name, version, _ in self.versions]


@dataclass(frozen=True, kw_only=True)
class RoleStatus:
    """A role with its processes, the newest heartbeat first."""

    name: str
    processes: Sequence[Process]
    backlogs: Sequence[Backlog]

    @property
    def alive(self) -> Sequence[Process]:
        """The processes with a recent heartbeat."""
        return [process for process in self.processes if process.alive]

    @property
    def silent(self) -> Sequence[Process]:
        """The processes that have ended without taking themselves off the list, or hang."""
        return [process for process in self.processes if not process.alive]

    @property
    def is_missing(self) -> bool:
        """Whether no process of it is alive."""
        return not self.alive

    @property
    def has_two_versions(self) -> bool:
        """Whether its live processes run different versions of workflows, as they do during an upgrade."""
        return len({frozenset(process.versions) for process in self.alive}) > 1

    @property
    def heartbeat_seconds(self) -> float | None:
        """How long ago one of its processes was last heard of; None if none is on the list."""
        return min((process.seen_seconds for process in self.processes), default=None)


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release that live processes run: how many of each role, and when the first of those started."""

    name: str
    processes: Mapping[str, int]
    since: datetime

    @property
    def number(self) -> int:
        """How many processes run it."""
        return sum(self.processes.values())


def releases_of(roles: Sequence[RoleStatus]) -> list[Release]:
    """The releases that live processes run. The one that came last is first: a deployment replaces the others. Pure."""
    alive = [process for role in roles for process in role.alive]
    by_name: dict[str, list[Process]] = defaultdict(list)
    for process in alive:
        by_name[process.release].append(process)
    releases = [
        Release(
            name=name,
            processes=Counter(process.role for process in processes),
            since=min(process.started_at for process in processes),
        )
        for name, processes in by_name.items()
    ]
    return sorted(releases, key=lambda release: (release.since, release.name), reverse=True)


def read_roles(*, now: datetime) -> list[RoleStatus]:
    """Every role, with its processes and what waits for it. Thirteen statements, each by an index."""
    return role_statuses(
        now=now,
        agents=agent_statuses(now=now),
        queues=queues(now=now),
        supervisor=supervisor_status(now=now),
    )


def role_statuses(
    *,
    now: datetime,
    agents: Sequence[AgentStatus],
    queues: Mapping[QueueName, Queue],
    supervisor: SupervisorStatus,
) -> list[RoleStatus]:
    """The same, with what is known already of agents, queues and the supervisor. Two statements."""
    orders, requests = _held(now)
    hosted: dict[str, list[tuple[str, Instance]]] = defaultdict(list)
    for agent in agents:
        for instance in agent.instances:
            hosted[instance.name].append((agent.name, instance))
    processes: dict[str, list[Process]] = {role: [] for role in ROLES}
    for row in RoleInstance.objects.order_by("-seen_at", "instance"):
        name = row.instance
        processes.setdefault(row.role, []).append(
            Process(
                name=name,
                role=row.role,
                release=row.release,
                started_at=row.started_at,
                seen_at=row.seen_at,
                seen_seconds=max(0.0, (now - row.seen_at).total_seconds()),
                progressed_at=row.progressed_at,
                versions=[
                    (workflow, version, fingerprint) for workflow, version, fingerprint in row.versions
                ],
                troubles=[
                    trouble["code"] for trouble in row.troubles if trouble["kind"] != AlertKind.LATE
                ],  # orders that will be late are no fault of who says so
                leads=name == supervisor.leader,
                orders=orders.get(name, 0),
                requests=requests.get(name, 0),
                in_flight=sum(instance.in_flight for _, instance in hosted[name]),
                capacity=sum(instance.capacity for _, instance in hosted[name]),
                agents=[agent for agent, _ in hosted[name]],
            )
        )
    # A supervisor's shift ends without taking itself off the list, so that its successor finds its alerts open.
    shifts = processes[ActorKind.SUPERVISOR]
    processes[ActorKind.SUPERVISOR] = [shift for shift in shifts if shift.alive] or shifts
    backlogs = _backlogs(agents, queues, supervisor)
    return [
        RoleStatus(name=role, processes=rows, backlogs=backlogs.get(role, ()))
        for role, rows in processes.items()
    ]


def _held(now: datetime) -> tuple[dict[str, int], dict[str, int]]:
    """How many orders each scheduler has claimed, and how many requests each agent host has leased. One statement.

    The requests are no more than the agents' credit, so counting all of them is cheap.
    """
    rows = fetch(
        """
        SELECT 'order', locked_by, count(*)
          FROM (SELECT locked_by FROM orders_orderprocess
                 WHERE process_state = 'processing' ORDER BY complete_by LIMIT %(most)s) AS claimed
         GROUP BY locked_by
         UNION ALL
        SELECT 'request', leased_by, count(*)
          FROM orders_agentrequest WHERE leased_until > %(now)s GROUP BY leased_by
        """,
        {"most": MOST_COUNTED + 1, "now": now},
    )
    orders = {holder: count for what, holder, count in rows if what == "order"}
    return orders, {holder: count for what, holder, count in rows if what == "request"}


def _backlogs(
    agents: Sequence[AgentStatus], queues: Mapping[QueueName, Queue], supervisor: SupervisorStatus
) -> dict[str, list[Backlog]]:
    def of(name: QueueName) -> Backlog:
        queue = queues[name]
        return Backlog(name=BacklogName(name.value), depth=queue.depth, oldest_seconds=queue.oldest_seconds)

    requests = Backlog(
        name=BacklogName.REQUESTS,
        depth=sum(agent.requests - agent.in_hand for agent in agents),
        oldest_seconds=max(
            (agent.oldest_seconds for agent in agents if agent.oldest_seconds is not None), default=None
        ),
    )
    overdue = Backlog(
        name=BacklogName.OVERDUE, depth=supervisor.overdue_orders, oldest_seconds=supervisor.lag
    )
    return {
        ActorKind.SUBMISSION: [of(QueueName.SUBMISSIONS)],
        ActorKind.SCHEDULER: [of(QueueName.ORDERS), of(QueueName.REPLIES)],
        ActorKind.AGENTS: [requests],
        ActorKind.SUPERVISOR: [overdue],
    }
