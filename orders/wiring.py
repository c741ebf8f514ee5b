"""The only file that joins the engine and the business: which workflows, which agents, which intake, which limits."""

from collections.abc import Callable

from django.conf import settings

from orders.agents.carrier import Carrier
from orders.agents.mail import Mail
from orders.agents.payments import Payments
from orders.agents.warehouse import Warehouse
from orders.engine.agent_host.records import HostConfig
from orders.engine.agent_host.role import AgentHost
from orders.engine.channels.wakeups import Topic
from orders.engine.circuits.rules import BreakerRules
from orders.engine.contracts import Agent, Workflows
from orders.engine.errors import WorkflowError
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.listener import Listener, connection_parameters
from orders.engine.runtime.loop import instance_id
from orders.engine.scheduler.role import Scheduler, SchedulerConfig
from orders.engine.submission import Submitter, SubmitterConfig
from orders.engine.supervisor.role import Supervisor, SupervisorConfig
from orders.workflow.intake import OrderIntake
from orders.workflow.versions import declared

AGENTS = (Warehouse.name, Payments.name, Carrier.name, Mail.name)


def workflows() -> Workflows:
    """Every workflow, in every version that orders may still be on; new orders take the last one.

    Raises `WorkflowError` when a step names an unknown agent.
    """
    known = declared(settings.CONFIG)
    for workflow in known:
        for step in workflow.steps:
            if step.agent not in AGENTS:
                raise WorkflowError(f"{workflow.name} v{workflow.version}: there is no agent {step.agent!r}")
    return {(workflow.name, workflow.version): workflow for workflow in known}


def agents() -> dict[str, Agent]:
    """Every agent, by name."""
    urls = settings.CONFIG
    known: list[Agent] = [
        Warehouse(urls.warehouse_url),
        Payments(urls.payments_url),
        Carrier(urls.carrier_url),
        Mail(urls.email_url, sender=urls.email_from),
    ]
    return {agent.name: agent for agent in known}


def submission() -> Submitter:
    """A submission process."""
    *_, newest = workflows().values()
    return Submitter(
        config=SubmitterConfig(instance=instance_id("submission")), intake=OrderIntake(workflow=newest)
    )


def scheduler() -> Scheduler:
    """A scheduler."""
    config = SchedulerConfig(
        instance=instance_id("scheduler"), retries=settings.CONFIG.retry_budget, breaker=_breaker()
    )
    return Scheduler(config=config, workflows=workflows())


def agent_host(names: list[str]) -> AgentHost:
    """A host for these agents, or for all. Raises `KeyError` with the name of one that is not known."""
    known = agents()
    config = HostConfig(
        instance=instance_id("agents"),
        rate=settings.CONFIG.agent_rate or None,
        retries=settings.CONFIG.retry_budget,
        breaker=_breaker(),
    )
    return AgentHost(config=config, agents=[known[name] for name in names or known])


def _breaker() -> BreakerRules:
    return BreakerRules(probe_cap=settings.CONFIG.probe_period, ramp=settings.CONFIG.ramp)


def supervisor() -> Supervisor:
    """A supervisor, not leading yet."""
    rules = RetryRules(threshold=settings.CONFIG.failure_threshold)
    return Supervisor(
        config=SupervisorConfig(instance=instance_id("supervisor"), rules=rules), workflows=workflows()
    )


def listener(on_wake: dict[Topic, Callable[[], None]]) -> Listener:
    """A listener on a connection of its own to the project's database."""
    return Listener(parameters=connection_parameters(), on_wake=on_wake)
