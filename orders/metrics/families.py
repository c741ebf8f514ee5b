"""The metrics: names, units and explanations after Prometheus' conventions. Their names begin with sasweb_."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from django.conf import settings
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from orders.metrics.calls import describe_calls
from orders.selectors.database_clock import now
from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.gauges import Gauges, read_gauges
from orders.selectors.desk.processes import RoleStatus
from orders.selectors.desk.supervisor import SupervisorStatus
from orders.vocabulary import FINISHED_STATES, CircuitState

Labels = TypeVar("Labels", bound=Sequence[str])
"""The values of a sample's labels."""


class _Once(Collector):
    """What has been read already, for the writer of the library."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def read_metrics() -> bytes:
    """Reads the database and writes all metrics in Prometheus' text format. Raises database errors."""
    began = time.monotonic()
    families = list(describe(read_gauges(now=now())))
    seconds = time.monotonic() - began
    families.append(
        _single("metrics_read_seconds", "How long reading these metrics from the database took.", seconds)
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(families))
    return generate_latest(registry)


def describe(gauges: Gauges) -> Iterator[Metric]:
    """The metrics of one moment."""
    version, release = settings.SPECTACULAR_SETTINGS["VERSION"], settings.CONFIG.release
    info = {(str(version), release): 1.0}
    yield _labelled("build_info", "The release that answers; always 1.", ("version", "release"), info)
    yield from _of_orders(gauges)
    yield from _of_queues(gauges)
    yield from _of_agents(gauges.agents)
    yield describe_calls(gauges.calls)
    yield from _of_supervisor(gauges.supervisor)
    yield from _of_roles(gauges.roles)
    yield _of_releases(gauges.roles)
    yield from _of_desk(gauges)


def _of_orders(gauges: Gauges) -> Iterator[Metric]:
    finished = {(state.value,): float(gauges.orders[state]) for state in FINISHED_STATES}
    unfinished = {(state,): count for state, count in gauges.orders.items() if state not in FINISHED_STATES}
    yield _labelled("orders", "Orders that have not finished, by state.", ("state",), unfinished)
    yield _labelled(
        "orders_finished_recently",
        "Orders that finished in the last 5 minutes, by the state that they ended in.",
        ("state",),
        finished,
    )
    yield _labelled(
        "steps",
        "Steps of unfinished orders, by where they stand. Each is counted up to 10,001.",
        ("standing",),
        {(standing.value,): count for standing, count in gauges.steps.items()},
    )
    yield _single(
        "set_aside_submissions",
        "Submissions that could not become orders and wait for an operator.",
        gauges.set_aside,
    )


def _of_queues(gauges: Gauges) -> Iterator[Metric]:
    depths = {(queue.name.value,): float(queue.depth) for queue in gauges.queues.values()}
    ages = {(queue.name.value,): queue.oldest_seconds or 0.0 for queue in gauges.queues.values()}
    depths["requests",] = sum(agent.requests - agent.in_hand for agent in gauges.agents)
    ages["requests",] = max((agent.oldest_seconds or 0.0 for agent in gauges.agents), default=0.0)
    yield _labelled("queue_depth", "What waits in each queue, counted up to 100,001.", ("queue",), depths)
    yield _labelled(
        "queue_oldest_age_seconds",
        "How long the oldest of each queue has waited, or been due in outbox and webhooks; 0 if nothing has.",
        ("queue",),
        ages,
    )


def _of_agents(agents: Sequence[AgentStatus]) -> Iterator[Metric]:
    def each(name: str, text: str, values: Sequence[float]) -> Metric:
        samples = {(agent.name,): value for agent, value in zip(agents, values, strict=True)}
        return _labelled(f"agent_{name}", text, ("agent",), samples)

    yield _labelled(
        "agent_circuit_state",
        "1 for the state that the agent's circuit is in, 0 for the others.",
        ("agent", "state"),
        {
            (agent.name, state.value): float(agent.state == state)
            for agent in agents
            for state in CircuitState
        },
    )
    yield each("paused", "1 while an operator has paused the agent.", [a.circuit.paused for a in agents])
    yield each("steps_waiting", "Steps that wait for the agent, up to 10,001.", [a.waiting for a in agents])
    yield each(
        "requests_waiting",
        "Requests to the agent that no process has taken.",
        [a.requests - a.in_hand for a in agents],
    )
    yield each("requests_held", "Requests that the agent's processes hold.", [a.in_hand for a in agents])
    yield each(
        "oldest_request_age_seconds",
        "How long the oldest request that no process has taken has waited; 0 if there is none.",
        [a.oldest_seconds or 0.0 for a in agents],
    )
    yield each("calls_in_flight", "Remote calls under way.", [a.in_flight for a in agents])
    yield each("calls_capacity", "Remote calls that may be under way at once.", [a.capacity for a in agents])
    yield each("instances", "Live processes that run the agent.", [len(a.alive) for a in agents])
    yield each(
        "instances_quarantined",
        "Live processes whose calls to the agent fail while those of others succeed.",
        [sum(instance.is_quarantined for instance in a.alive) for a in agents],
    )


def _of_supervisor(watch: SupervisorStatus) -> Iterator[Metric]:
    yield _single("supervisor_has_leader", "1 while a supervisor leads.", watch.leader is not None)
    if watch.swept_seconds is not None:
        yield _single(
            "supervisor_last_sweep_age_seconds",
            "How long ago the supervisor last finished a sweep. Absent if it never has.",
            watch.swept_seconds,
        )
    yield _single(
        "supervisor_overdue_orders",
        "Orders that are overdue or have an overdue step, up to 10,001.",
        watch.overdue_orders,
    )
    yield _single(
        "supervisor_lag_seconds",
        "How late the most overdue order or step is; 0 if none is.",
        watch.lag or 0.0,
    )
    for name, text, totals in (
        ("last_sweep", "the last sweep", watch.last),
        ("last_hour", "the sweeps of the last hour", watch.hour),
    ):
        yield _labelled(
            f"supervisor_{name}_orders",
            f"Orders that {text} found overdue, put on their way again (recovered) and into Error (escalated).",
            ("result",),
            {("found",): totals.found, ("recovered",): totals.recovered, ("escalated",): totals.escalated},
        )


def _of_roles(roles: Sequence[RoleStatus]) -> Iterator[Metric]:
    counts: dict[Sequence[str], float] = {}
    for role in roles:
        counts[role.name, "alive"] = len(role.alive)
        counts[role.name, "silent"] = len(role.silent)
    yield _labelled(
        "role_instances",
        "Processes of each role: alive, or silent for more than 15 seconds.",
        ("role", "state"),
        counts,
    )
    yield _labelled(
        "role_heartbeat_age_seconds",
        "How long ago any process of the role was last heard of. Absent if none is known.",
        ("role",),
        {(role.name,): role.heartbeat_seconds for role in roles if role.heartbeat_seconds is not None},
    )
    yield _labelled(
        "role_instances_in_trouble",
        "Live processes of each role that report that something is wrong with them.",
        ("role",),
        {(role.name,): sum(bool(process.troubles) for process in role.alive) for role in roles},
    )


def _of_releases(roles: Sequence[RoleStatus]) -> Metric:
    counts = Counter((role.name, process.release) for role in roles for process in role.alive)
    return _labelled(
        "role_release_instances",
        "Live processes of each role, by the release that they run.",
        ("role", "release"),
        {labels: float(number) for labels, number in counts.items()},
    )


def _of_desk(gauges: Gauges) -> Iterator[Metric]:
    yield _labelled(
        "alerts_open",
        "Open alerts, by kind. 10,001 of the newest are counted.",
        ("kind",),
        {(kind,): count for kind, count in gauges.alerts.items()},
    )
    yield _single(
        "outbox_failed_messages",
        "Emails and calls of the alerts' webhook that were given up.",
        gauges.failed_messages,
    )
    yield _single(
        "webhooks_disabled",
        "Clients' webhooks to which nothing is sent, because they failed for days or want no more.",
        gauges.disabled_webhooks,
    )
    yield _single(
        "intake_paused",
        "1 while an operator has new orders refused.",
        gauges.intake_paused,
    )
    yield _single("orders_paused", "Orders that operators have paused, up to 10,001.", gauges.paused_orders)
    yield _labelled(
        "step_paused_orders",
        "Orders that wait because an operator has paused the step, up to 10,001. Absent for steps that are not paused.",
        ("workflow", "step"),
        {(step.workflow, step.step): step.orders for step in gauges.paused_steps},
    )
    yield _labelled(
        "bulk_actions",
        "Bulk actions that have not ended, by state.",
        ("state",),
        {(state,): count for state, count in gauges.bulk_actions.items()},
    )
    yield _single(
        "bulk_action_orders_waiting",
        "Orders that wait for their turn in running bulk actions, up to 10,001.",
        gauges.bulk_orders,
    )


def _single(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"sasweb_{name}", text, value=float(value))


def _labelled(name: str, text: str, labels: Sequence[str], samples: Mapping[Labels, float]) -> Metric:
    family = GaugeMetricFamily(f"sasweb_{name}", text, labels=labels)
    for values, value in samples.items():
        family.add_metric(list(values), float(value))
    return family
