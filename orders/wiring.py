"""Joins the engine and the business: the workflows, agents and intake, with an installation's settings.

No other module knows both.
"""

from collections.abc import Callable
from dataclasses import replace

from django.conf import settings

from orders.agents.carrier import Carrier
from orders.agents.mail import Mail
from orders.agents.payments import Payments
from orders.agents.warehouse import Warehouse
from orders.engine.agent_host.records import HostConfig
from orders.engine.agent_host.role import AgentHost
from orders.engine.channels.wakeups import Topic
from orders.engine.circuits.rules import BreakerRules
from orders.engine.contracts import Agent, Workflow, Workflows
from orders.engine.errors import WorkflowError
from orders.engine.retry_rules import RetryRules
from orders.engine.runtime.listener import Listener, connection_parameters
from orders.engine.runtime.loop import instance_id
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.engine.submission import Submitter, SubmitterConfig
from orders.engine.supervisor.role import Supervisor, SupervisorConfig
from orders.workflow.intake import OrderIntake
from orders.workflow.versions import declared

CLASSES = (Warehouse, Payments, Carrier, Mail)
AGENTS = tuple(agent.name for agent in CLASSES)
INQUIRING = frozenset(agent.name for agent in CLASSES if hasattr(agent, "inquire"))
"""The agents whose remote services can be asked what has become of a call."""


def workflows() -> Workflows:
    """Returns every workflow, in every version that orders may still be on. New orders take the last one.

    Raises `WorkflowError` if a step names an unknown agent, or one that could not be called twice.
    """
    versions = [_joined(workflow) for workflow in declared(settings.CONFIG)]
    return {(workflow.name, workflow.version): workflow for workflow in versions}


def _joined(workflow: Workflow) -> Workflow:
    """The workflow, with what its steps must know of their agents."""
    for step in workflow.steps:
        if step.agent not in AGENTS:
            raise WorkflowError(f"{workflow.title}: unknown agent {step.agent!r}")
        if step.key_retention <= 0 and step.agent not in INQUIRING:
            raise WorkflowError(
                f"{workflow.title}: step {step.name!r} has key_retention=0, so its agent {step.agent!r} needs inquire"
            )
    steps = tuple(replace(step, can_be_asked=step.agent in INQUIRING) for step in workflow.steps)
    return replace(workflow, steps=steps)


def agents() -> dict[str, Agent]:
    """Returns every agent, by name."""
    config = settings.CONFIG
    all_agents: list[Agent] = [
        Warehouse(config.warehouse_url),
        Payments(config.payments_url),
        Carrier(config.carrier_url),
        Mail(config.email_url, sender=config.email_from),
    ]
    return {agent.name: agent for agent in all_agents}


def submission() -> Submitter:
    """Makes a submission process, which gives new orders the newest workflow."""
    *_, newest = workflows().values()
    return Submitter(
        config=SubmitterConfig(instance=instance_id("submission")),
        intake=OrderIntake(workflow=newest),
        workflows={(newest.name, newest.version): newest},
    )


def scheduler() -> Scheduler:
    """Makes a scheduler."""
    config = SchedulerConfig(
        instance=instance_id("scheduler"), retries=settings.CONFIG.retry_budget, breaker=_breaker()
    )
    return Scheduler(config=config, workflows=workflows())


def agent_host(names: list[str]) -> AgentHost:
    """Makes a host for these agents, or for all if none are named. Raises `KeyError` for an unknown name."""
    all_agents = agents()
    config = HostConfig(
        instance=instance_id("agents"),
        rate=settings.CONFIG.agent_rate or None,
        retries=settings.CONFIG.retry_budget,
        breaker=_breaker(),
    )
    return AgentHost(config=config, agents=[all_agents[name] for name in names or all_agents])


def _breaker() -> BreakerRules:
    return BreakerRules(probe_cap=settings.CONFIG.probe_period, ramp=settings.CONFIG.ramp)


def supervisor() -> Supervisor:
    """Makes a supervisor that does not lead yet."""
    rules = RetryRules(threshold=settings.CONFIG.failure_threshold)
    return Supervisor(
        config=SupervisorConfig(instance=instance_id("supervisor"), rules=rules), workflows=workflows()
    )


def listener(on_wake: dict[Topic, Callable[[], None]]) -> Listener:
    """Makes a listener with its own connection to the project's database."""
    return Listener(parameters=connection_parameters(), on_wake=on_wake)
