"""Makes the roles, with the businesses' workflows and agents and an installation's settings."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from django.conf import settings

from orders.business.intake import OrderIntake
from orders.business.jobs import PeriodicJob
from orders.business.registry import kinds, make_agents, own_modules, workflows
from orders.business.signals import has_receivers
from orders.engine.agent_host.records import HostConfig
from orders.engine.agent_host.role import AgentHost
from orders.engine.channels.wakeups import Topic
from orders.engine.circuits.rules import BreakerRules
from orders.engine.contracts import Agent, Workflows
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.listener import Listener, connection_parameters
from orders.engine.runtime.loop import instance_id
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.engine.submission import Submitter, SubmitterConfig
from orders.engine.supervisor.role import Supervisor, SupervisorConfig
from orders.tracing import spans


def followed_workflows() -> Workflows:
    """Every workflow. Those whose business has receivers of signals announce what becomes of their orders."""
    followed = {kind.name for kind in kinds() if has_receivers(kind)}
    return {
        (name, version): replace(workflow, announces=name in followed)
        for (name, version), workflow in workflows().items()
    }


def periodic_jobs() -> Sequence[PeriodicJob]:
    """The jobs that businesses declare in their `jobs.py`."""
    return [job for module in own_modules("jobs") for job in module.JOBS]


def submission() -> Submitter:
    """Makes a submission process. New orders take the newest version of the workflow that they name."""
    spans.start("submission")
    newest = {name: workflow for (name, _), workflow in followed_workflows().items()}
    return Submitter(
        config=SubmitterConfig(instance=instance_id("submission")),
        intake=OrderIntake(newest=newest),
        workflows={(workflow.name, workflow.version): workflow for workflow in newest.values()},
    )


def scheduler() -> Scheduler:
    """Makes a scheduler."""
    spans.start("scheduler")
    config = SchedulerConfig(
        instance=instance_id("scheduler"), retries=settings.CONFIG.retry_budget, breaker=_breaker()
    )
    return Scheduler(config=config, workflows=followed_workflows())


def agent_host(names: list[str]) -> AgentHost:
    """Makes a host for these agents, or for all if none are named. Raises `KeyError` for an unknown name."""
    import orders.agents.connections  # noqa: F401, PLC0415 - now, and not while the first call waits for it

    all_agents = make_agents()
    return host_of([all_agents[name] for name in names or all_agents])


def host_of(agents: Sequence[Agent]) -> AgentHost:
    """Makes a host for agents that exist already."""
    spans.start("agents")
    config = HostConfig(
        instance=instance_id("agents"),
        rate=settings.CONFIG.agent_rate or None,
        rates={agent.name: agent.rate for agent in agents if hasattr(agent, "rate")},
        retries=settings.CONFIG.retry_budget,
        breaker=_breaker(),
    )
    return AgentHost(config=config, agents=agents)


def _breaker() -> BreakerRules:
    return BreakerRules(probe_cap=settings.CONFIG.probe_period, ramp=settings.CONFIG.ramp)


def supervisor() -> Supervisor:
    """Makes a supervisor that does not lead yet."""
    spans.start("supervisor")
    rules = RetryRules(threshold=settings.CONFIG.failure_threshold)
    return Supervisor(
        config=SupervisorConfig(instance=instance_id("supervisor"), rules=rules), workflows=workflows()
    )


def listener(on_wake: dict[Topic, Callable[[], None]]) -> Listener:
    """Makes a listener with its own connection to the project's database."""
    return Listener(parameters=connection_parameters(), on_wake=on_wake)
