"""Agents that can or cannot take steps, and questions about the steps that wait for them."""

from dataclasses import replace
from typing import Any

from orders.engine.circuits.credit import Credit, credit_of
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import Viewpoint, read_supplies, register_agents
from orders.engine.contracts import Workflow, Workflows
from orders.engine.errors import Transient
from orders.engine.runtime.sql import database_now
from orders.models import (
    AgentInstance,
    Circuit,
    OrderProcess,
    StepState,
)
from tests.support.factories import ago, ahead
from tests.support.roles import (
    stored,
)
from tests.support.workflows import CAKE

DAY = 86_400.0
DOWN = Transient("http_503", "it is down")


def open_circuit(agent: str = "kitchen", **fields: Any) -> None:
    """Opens the agent's circuit; no probe is due."""
    register_agents({agent: None})
    defaults = {
        "state": "open",
        "openings": 1,
        "opened_at": ago(9),
        "cause_code": "http_503",
        "probe_at": ahead(900),
    }
    Circuit.objects.filter(agent=agent).update(**(defaults | fields))


def close_circuit(agent: str = "kitchen", **fields: Any) -> None:
    """Closes the agent's circuit; its ramp is over."""
    defaults = {"state": "closed", "openings": 0, "probe_at": None, "closed_at": ago(3600)}
    Circuit.objects.filter(agent=agent).update(**(defaults | fields))


def set_capacity(agent: str, capacity: int) -> None:
    """Gives the agent exactly this much live capacity."""
    AgentInstance.objects.filter(agent=agent).update(capacity=capacity)


def waiting(agent: str = "kitchen") -> int:
    return StepState.objects.filter(agent=agent, waiting_since__isnull=False).count()


def waited(seconds: float) -> dict[str, Any]:
    """A step that has waited for its agent for this many seconds."""
    return {"waiting_since": ago(seconds), "wanted_since": ago(seconds)}


def credit_for(*agents: str, start: int = 0, rules: BreakerRules | None = None) -> Credit:
    """What a scheduler may dispatch to these agents, which counts the requests from the id `start` on."""
    viewpoint = Viewpoint("scheduler:1", start)
    supplies = read_supplies(agents, counted_for=viewpoint)
    return credit_of(supplies, counted_for=viewpoint, rules=rules or BreakerRules(), now=database_now())


def has_waiting(agent: str = "kitchen") -> bool:
    return agent in credit_for(agent).waiting


def failures(order: OrderProcess) -> int:
    return stored(order).failure_count + sum(
        step.failure_count + step.compensation_failure_count
        for step in StepState.objects.filter(process=order)
    )


def altered(name: str, **declared: Any) -> Workflows:
    """The cake workflows, with one step declared differently."""
    steps = tuple(replace(step, **declared) if step.name == name else step for step in CAKE.steps)
    return {
        (CAKE.name, CAKE.version): Workflow(
            name=CAKE.name, version=CAKE.version, steps=steps, complete_by=CAKE.complete_by
        )
    }
