"""The businesses of this installation: their kinds of orders, workflows and agents, found once in each process.

Every role, face and command asks here. Nothing is in the database but the names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from django.conf import settings
from django.utils.module_loading import module_has_submodule

from orders.business.kinds import OrderKind
from orders.engine.contracts import Agent, Step, Workflow, Workflows
from orders.engine.errors import WorkflowError
from orders.engine.moving import Journey, check_move
from sasweb.environment import ConfigError, Environment, invalid

DAY = 86_400
"""Seconds."""

AgentMaker = Callable[[Environment], Sequence[Agent]]


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What the packages declare. `kinds` are in the order of the packages and, within each, of the module."""

    kinds: Mapping[str, type[OrderKind]]
    makers: Sequence[AgentMaker]
    workflows: Workflows
    agent_names: Sequence[str]


def kinds() -> Sequence[type[OrderKind]]:
    """Every kind of order, in the order of the packages."""
    return tuple(_found().kinds.values())


def default_kind() -> type[OrderKind]:
    """The kind of an order that names none: that of `DEFAULT_WORKFLOW`, or the first."""
    return _found().kinds[settings.DEFAULT_WORKFLOW] if settings.DEFAULT_WORKFLOW else kinds()[0]


def find_kind(name: str) -> type[OrderKind] | None:
    """The kind with this name; None if this release has none."""
    return _found().kinds.get(name)


def workflows() -> Workflows:
    """Every workflow, in every version that orders may still be on."""
    return _found().workflows


def newest_workflows() -> Mapping[str, Workflow]:
    """The newest version of each workflow, by name: what new orders take."""
    return {name: workflow for (name, _), workflow in workflows().items()}


def find_journey(name: str, from_version: int, to_version: int) -> Journey | None:
    """The way on which orders move between two versions of a workflow; None if its kind declares none."""
    kind = find_kind(name)
    for move in kind.moves if kind else ():
        if (move.from_version, move.to_version) == (from_version, to_version):
            return Journey(move, workflows()[name, from_version], workflows()[name, to_version])
    return None


def find_step(workflow: str, version: int, step: str) -> Step | None:
    """The declaration of a step or of one of its items; None if this release does not have it."""
    declared = workflows().get((workflow, version))
    return declared.find_step(step) if declared else None


def client_results() -> Sequence[str]:
    """The names of the steps of whose results clients see something, of all kinds."""
    return sorted({name for kind in kinds() for name in kind.client_results})


def agent_names() -> Sequence[str]:
    """The names of all agents, in the order of their declaration."""
    return _found().agent_names


def make_agents() -> dict[str, Agent]:
    """Makes every agent anew, by name."""
    return _make(_found().makers)


def own_modules(name: str) -> list[Any]:
    """The businesses' modules of this name, such as `api_urls`: of those that have one."""
    packages = [
        package for package in settings.BUSINESSES if module_has_submodule(import_module(package), name)
    ]
    return [import_module(f"{package}.{name}") for package in packages]


def check() -> None:
    """Finds and checks everything now. Raises `ConfigError` for an invalid setting, and `WorkflowError`."""
    _check_deletion(_found().workflows)


def forget() -> None:
    """Has everything found anew; for tests that install other businesses."""
    _found.cache_clear()


@cache
def _found() -> _Found:
    environment = Environment()
    kinds_by_name: dict[str, type[OrderKind]] = {}
    makers: list[AgentMaker] = []
    for package in settings.BUSINESSES:
        for kind in _kinds_in(import_module(f"{package}.workflows")):
            _check_names(kind)
            if kind.name in kinds_by_name:
                raise WorkflowError(f"{package}.workflows: there is a kind of order {kind.name!r} already")
            kinds_by_name[kind.name] = kind
        makers.append(import_module(f"{package}.agents").agents)
    if not kinds_by_name:
        raise WorkflowError(
            f"no kind of order is declared in the workflows of {', '.join(settings.BUSINESSES)}"
        )
    if settings.DEFAULT_WORKFLOW not in ("", *kinds_by_name):
        raise invalid("DEFAULT_WORKFLOW", settings.DEFAULT_WORKFLOW, f"one of {', '.join(kinds_by_name)}")
    agents = _make(makers)
    inquiring = frozenset(name for name, agent in agents.items() if hasattr(agent, "inquire"))
    versions = [
        _joined(workflow, agents, inquiring)
        for kind in kinds_by_name.values()
        for workflow in _versions(kind, environment)
    ]
    for kind in kinds_by_name.values():
        _check_words(kind, versions)
    return _Found(
        kinds=kinds_by_name,
        makers=makers,
        workflows={(workflow.name, workflow.version): workflow for workflow in versions},
        agent_names=tuple(agents),
    )


def _check_deletion(workflows: Workflows) -> None:
    """Raises `ConfigError` if orders were deleted while remote services still know their keys. A client may then place
    a new order with the idempotency key of a deleted one: it has the same id, so the services would take its calls for
    repeated ones, answer them, and do nothing."""
    config = settings.CONFIG
    steps = [step for workflow in workflows.values() for step in workflow.steps if step.waits_for is None]
    longest = max((step.key_retention for step in steps), default=0) / DAY
    if config.keep_archived and config.keep_finished + config.keep_archived < longest:
        raise invalid(
            "KEEP_ARCHIVED",
            f"{config.keep_archived:g}",
            f"0, or at least {longest - config.keep_finished:g}: with the {config.keep_finished:g} days of"
            " KEEP_FINISHED, an order must be kept"
            f" for the {longest:g} days in which remote services recognise its keys",
        )


def _check_names(kind: type[OrderKind]) -> None:
    """Raises `WorkflowError` if the search could not find an attribute by its name, or a link changes no field."""
    for attribute in kind.attributes:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", attribute.name):
            raise WorkflowError(
                f"{kind.name}: the attribute {attribute.name!r} must have a name of small letters, digits and _"
            )
    fields = {field.name for field in (*kind.fields, *kind.customer_fields)}
    for name, link in kind.client_links.items():
        if not link.fields or not fields.issuperset(link.fields):
            raise WorkflowError(
                f"{kind.name}: the link {name!r} must name fields that the kind has, and at least one"
            )


def _check_words(kind: type[OrderKind], versions: Sequence[Workflow]) -> None:
    """Raises `WorkflowError` if what customers read is about steps that none of the kind's versions has."""
    steps = {step.name for workflow in versions if workflow.name == kind.name for step in workflow.steps}
    try:
        kind.customer_words.check(steps)
    except WorkflowError as error:
        raise WorkflowError(f"{kind.name}: {error}") from error


def _kinds_in(module: ModuleType) -> Sequence[type[OrderKind]]:
    """The kinds of a module. One that another there is derived from is only a beginning of that one."""
    named = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, OrderKind) and hasattr(value, "name")
    ]
    return [
        kind for kind in named if not any(issubclass(other, kind) for other in named if other is not kind)
    ]


def _make(makers: Sequence[AgentMaker]) -> dict[str, Agent]:
    agents: dict[str, Agent] = {}
    for maker in makers:
        try:
            own = maker(Environment())
        except ConfigError:
            raise
        except ValueError as error:  # what an agent's transport says of its settings
            raise ConfigError(f"{maker.__module__}: {error}") from error
        for agent in own:
            if agent.name in agents:
                raise WorkflowError(f"{maker.__module__}: there is an agent {agent.name!r} already")
            agents[agent.name] = agent
    return agents


def _versions(kind: type[OrderKind], environment: Environment) -> Sequence[Workflow]:
    """A kind's versions, in the order in which they were made. Raises `WorkflowError` if they are not, or if orders
    could not move between them as the kind declares."""
    versions = list(kind.versions(environment))
    numbers = [workflow.version for workflow in versions]
    if not numbers or numbers != sorted(set(numbers)):
        raise WorkflowError(
            f"{kind.name}: the versions must be 1, 2 and so on, the newest last, not {numbers}"
        )
    if any(workflow.name != kind.name for workflow in versions):
        raise WorkflowError(f"{kind.name}: every version must have this name")
    by_number = {workflow.version: workflow for workflow in versions}
    for move in kind.moves:
        check_move(move, by_number, kind.name)
    return versions


def _joined(workflow: Workflow, agents: Mapping[str, Agent], inquiring: frozenset[str]) -> Workflow:
    """The workflow, with what its steps must know of their agents. Raises `WorkflowError` if a step names an unknown
    agent, or one that could not be called twice."""
    for step in workflow.steps:
        if step.waits_for is not None:
            continue
        if step.agent not in agents:
            raise WorkflowError(f"{workflow.title}: unknown agent {step.agent!r}")
        if step.key_retention <= 0 and step.agent not in inquiring:
            raise WorkflowError(
                f"{workflow.title}: step {step.name!r} has key_retention=0, so its agent {step.agent!r} needs inquire"
            )
    steps = tuple(replace(step, can_be_asked=step.agent in inquiring) for step in workflow.steps)
    return replace(workflow, steps=steps)
