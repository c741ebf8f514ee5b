"""What the engine and the business agree on: workflows, steps, remedies, agents, and the messages between them.

A business declares a `Workflow` of `Step`s, and writes an `Agent` for each remote service and an `Intake` for its
orders. The engine does the rest, and knows none of them. All times are in seconds.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from orders.engine.branches import Each, When, declared_name
from orders.engine.effects import Done, Effect, EffectPage, Finding, NotDone, Unknown
from orders.engine.errors import WorkflowError
from orders.engine.fallbacks import Compensation, Remedy
from orders.engine.results import ResultField, ResultType, why_not_declared
from orders.engine.waits import Decision, Delay, OutsideEvent, Pending, Wait
from orders.vocabulary import StatusKind

__all__ = [
    "Compensation",
    "Decision",
    "Delay",
    "Done",
    "Effect",
    "EffectPage",
    "Finding",
    "NotDone",
    "OutsideEvent",
    "Pending",
    "Remedy",
    "ResultField",
    "ResultType",
    "Unknown",
    "Wait",
]
Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a workflow: it has either an agent, which carries out an `operation`, or something it `waits_for`.

    `data` picks what the agent needs out of the order's data when the order is inserted, and again whenever they are
    edited before the step is done. Pure.
    """

    name: str
    agent: str = ""
    operation: str = ""
    data: Callable[[Json], Json] = lambda _: {}
    waits_for: Wait | None = None
    after: tuple[str, ...] = ()
    """The steps that must be completed, or skipped, before this one starts."""
    needs: tuple[str, ...] = ()
    """The earlier steps whose results travel with the request. That of a step that was skipped is None."""
    when: When | None = None
    """Whether the step runs, asked when its turn comes; otherwise it is skipped. Pure. If it raises an error, the step
    fails, and waits for an operator."""
    each: Each | None = None
    """What the step runs for, asked once when its turn comes: once for each item, all at the same time. In place of
    `data`. Its result is the list of the items' results. Pure, and fails like `when`."""
    result: tuple[ResultField, ...] = ()
    """What its result must hold, because later steps, people or the business rely on it; of a step that runs for each
    item of a list, that of each item."""
    complete_by: float = 30.0
    """How long one attempt may take."""
    settle: float = 5.0
    """How long after its complete-by time a forward call may still take effect. A compensation waits for that."""
    customer_wait: float = 3_600.0
    """How long a declined step waits for the customer before the order is compensated."""
    declined_as: str = StatusKind.DECLINED.value
    """What the message on the order's response queue is called when the step is declined, such as "payment_declined":
    up to 16 small letters and underscores."""
    patience: float = 86_400.0
    """How long the step waits for an agent that cannot take it before its remedy is applied."""
    first_backoff: float | None = None
    backoff_cap: float | None = None
    """The longest wait after the first failed attempt, which doubles with each, and the longest after any; None: the
    installation's (`orders.engine.retry_rules`)."""
    key_retention: float = 7 * 86_400.0
    """How long the remote service recognises a call by its idempotency key; 0 if it never does. Once another call could
    reach it after that, a step whose outcome is unknown is sent again only if the agent can ask whether it was done,
    and the answer is no (P2)."""
    can_be_asked: bool = False
    """Whether the agent has `inquire`. The wiring fills this in."""
    remedy: Remedy = field(default_factory=Remedy)
    compensation: Compensation = Compensation.REVERSE
    editable: tuple[str, ...] = ()
    """The fields of its request that an operator may edit."""
    customer_editable: tuple[str, ...] = ()
    """Those that the customer may change while the step waits for her, such as how she pays. Of an order with lines,
    `lines` is one of which she may take fewer."""
    customer_resubmits: bool = False
    """Whether she may change them, and have her order resubmitted, also once it is in Error because the step got no
    answer. What may have been done is reversed first."""
    is_point_of_no_return: bool = False
    """Whether the customer can no longer cancel once it has been dispatched."""
    takes_value: bool = False
    reserves_value: bool = False
    """Whether it takes the order's value, or reserves it for a later step. Its compensation gives that back."""

    @property
    def own_agent(self) -> str:
        """The agent of the step itself: none if it runs for each item of a list, since its items have it."""
        return "" if self.each else self.agent


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A named and versioned set of steps. Raises `WorkflowError` if the steps cannot be run in the order declared.

    An order finishes on the version that it started with, so a version must not change while orders may be on it.
    """

    name: str
    version: int
    steps: tuple[Step, ...]
    complete_by: float = 600.0
    announces: bool = False
    """Whether the business is told what becomes of its orders, on a queue of its own. The wiring fills this in."""

    def __post_init__(self) -> None:
        earlier: dict[str, set[str]] = {}
        for step in self.steps:
            if fault := _fault_of(step, earlier):
                raise WorkflowError(f"{self.title}: {fault}")
            earlier[step.name] = set(step.after).union(*(earlier[other] for other in step.after))
        if not self.steps:
            raise WorkflowError(f"{self.title} has no steps")

    @cached_property
    def by_name(self) -> dict[str, Step]:
        """The steps by their names."""
        return {step.name: step for step in self.steps}

    def step_of(self, name: str) -> Step:
        """The declaration of a step or of one of its items. Raises `KeyError` if there is none."""
        return self.by_name[declared_name(name)]

    def find_step(self, name: str) -> Step | None:
        """The same; None if there is none."""
        return self.by_name.get(declared_name(name))

    @cached_property
    def has_branches(self) -> bool:
        """Whether it depends on an order's data or results which of its steps run."""
        return any(step.when or step.each for step in self.steps)

    @cached_property
    def definition(self) -> dict[str, dict[str, Any]]:
        """What each step does, in which order, and how it is undone: all that must not change while orders are on it.

        Time limits are not part of it, since they are settings. Nor is what a result must hold: a field that is added
        is asked of the answers that come from then on, and orders that have theirs already continue as they are. Nor is
        what its application is told.
        """
        return {
            step.name: {
                "agent": step.agent,
                "operation": step.operation,
                "after": sorted(step.after),
                "needs": sorted(step.needs),
                "compensation": step.compensation.value,
                "remedy": step.remedy.then,
                **({} if step.waits_for is None else {"waits_for": step.waits_for.definition}),
                **({} if step.when is None else {"when": "a condition"}),
                **({} if step.each is None else {"each": "a list"}),
            }
            for step in self.steps
        }

    @cached_property
    def fingerprint(self) -> str:
        """A short hash of the definition. An order keeps that of the workflow it started with."""
        text = json.dumps(self.definition, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        """The name and the version, to be read by people."""
        return title_of((self.name, self.version))

    def queues(self, reply_to: str) -> tuple[str, ...]:
        """The response queues of one of its orders (Q3): that of the order, which may be empty, and the business's."""
        return (reply_to, announcement_queue(self.name)) if self.announces else (reply_to,)

    @cached_property
    def predecessors(self) -> dict[str, frozenset[str]]:
        """For each step, all the steps that it comes after, directly or through others."""
        return {
            name: frozenset(other for other, later in self.dependents.items() if name in later)
            for name in self.by_name
        }

    @cached_property
    def dependents(self) -> dict[str, tuple[str, ...]]:
        """For each step, all the steps that depend on it, directly or through others."""
        dependents: dict[str, set[str]] = {step.name: set() for step in self.steps}
        for step in reversed(self.steps):
            for earlier in step.after:
                dependents[earlier] |= {step.name} | dependents[step.name]
        return {name: tuple(sorted(names)) for name, names in dependents.items()}


def _fault_of(step: Step, earlier: Mapping[str, set[str]]) -> str:
    """What is wrong with the declaration of a step; empty if nothing is. `earlier` has what each step before it comes
    after."""
    for other in (*step.after, *step.needs):
        if other not in earlier:
            return f"step {step.name!r} comes after {other!r}, which is not declared before it"
    if step.name in earlier:
        return f"step {step.name!r} is declared twice"
    if not _NAME.fullmatch(step.name) or not _NAME.fullmatch(step.agent or "none"):
        return f"step {step.name!r} of agent {step.agent!r}: a name has 1 to {LONGEST_NAME} letters, digits, - and _"
    predecessors = set(step.after).union(*(earlier[other] for other in step.after))
    if missing := set(step.needs) - predecessors:
        return f"step {step.name!r} needs {sorted(missing)}, which it does not come after"
    if (step.waits_for is None) == (not (step.agent and step.operation)):
        return f"step {step.name!r} has either an agent with an operation, or a wait"
    if step.waits_for is not None and step.compensation is not Compensation.NONE:
        return f"step {step.name!r} waits, which has no effect: use Compensation.NONE"
    if not _STATUS.fullmatch(step.declined_as) or step.declined_as in _OTHER_STATUSES:
        return (
            f"step {step.name!r} is declined as {step.declined_as!r}: that needs 1 to 16 small letters and _"
        )
    if reason := why_not_declared(step.result, step.waits_for):
        return f"step {step.name!r} {reason}"
    if step.each is not None and (
        step.waits_for is not None or step.takes_value or step.compensation is Compensation.NOTICE
    ):
        return f"step {step.name!r} runs for each item of a list, so it cannot wait, be a notice or take the value"
    return ""


LONGEST_NAME = 50
_NAME = re.compile(rf"[-a-zA-Z0-9_]{{1,{LONGEST_NAME}}}")
"""Names are part of urls, and of idempotency keys."""
_STATUS = re.compile(r"[a-z_]{1,16}")
"""The kinds of messages are as long as their column."""
_OTHER_STATUSES = frozenset(StatusKind) - {StatusKind.DECLINED}
WorkflowKey: TypeAlias = tuple[str, int]
Workflows: TypeAlias = Mapping[WorkflowKey, Workflow]


LONGEST_QUEUE = 120
"""Characters of the name of a response queue."""
ANNOUNCEMENTS = "workflow:"
"""How the names of the businesses' own response queues begin."""


def announcement_queue(name: str) -> str:
    """The response queue on which a business is told what becomes of the orders of one of its workflows."""
    return f"{ANNOUNCEMENTS}{name}"


def agents_of(workflows: Workflows) -> list[str]:
    """The names of the agents that these workflows need."""
    return sorted({step.agent for workflow in workflows.values() for step in workflow.steps if step.agent})


def title_of(key: WorkflowKey) -> str:
    """The name and the version of a workflow, to be read by people."""
    name, version = key
    return f"{name} v{version}"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What an agent is asked to do (C5). `key` is the same for every try of the same effect (A3).

    `data` is the step's own, `results` are those of the steps it needs; that of a step that ran for each item of a list
    is the list of theirs, and that of a step that was skipped is None. A request that `compensates` names in
    `reverses` the key of the forward call, which may or may not have taken effect. `seconds_left` is the time to
    complete-by as it was when the request was claimed; the host stops the agent by then. `reference` is that of the
    step's last `Pending`; empty if there was none.
    """

    order_id: UUID
    step: str
    operation: str
    attempt: int
    key: str
    data: Json
    results: Mapping[str, Any]
    compensates: bool
    reverses: str
    seconds_left: float
    reference: str = ""
    issue_token: Callable[[], str] = field(default=lambda: "", repr=False, compare=False)

    @property
    def callback_token(self) -> str:
        """What the remote service needs to answer later, once, by `POST /callbacks/{token}`. Made when it is read."""
        return self.issue_token()


class Agent(Protocol):
    """Wraps one remote service (A1). Its host retries, keeps the time and posts the reply.

    `perform` and `compensate` return what should be kept of the answer, and raise a `Fault` if the call did not
    succeed. They return a `Pending` instead if the service has taken the call and answers later. Each call is one try:
    it may be cancelled at any moment, and repeated with the same key (A7).

    An agent with several operations may name them in `operations`, a collection of strings. Then its host leaves
    requests for others, of a later release, to hosts of that release (rule 10). One whose service allows only so many
    calls a second, by all hosts together, says so in `rate`.
    """

    name: str
    capacity: int
    call_timeout: float

    async def perform(self, request: Request) -> Json | Pending:
        """Performs the step's effect, at most once per `request.key`."""

    async def compensate(self, request: Request) -> Json | Pending:
        """Reverses the effect of `request.reverses`, or makes sure that it can no longer happen."""

    async def close(self) -> None:
        """Closes its connections. Called once, when its host stops."""


class InquiringAgent(Agent, Protocol):
    """An agent whose remote service can be asked what has become of a call, so that no effect is repeated blindly."""

    async def inquire(self, request: Request) -> Finding:
        """Finds out whether the service performed this request, or compensated it if it `compensates`.

        Changes nothing there. Raises a `Fault` if the inquiry itself fails. Called before a request is sent that an
        earlier call may have carried out already, and about completed steps when the database is reconciled.
        """


class ListingAgent(Agent, Protocol):
    """An agent whose remote service can list its effects, so that those are found that no order knows (F35)."""

    async def list_effects(self, *, since: datetime, after: str) -> EffectPage:
        """Lists the effects since then: the first page if `after` is empty, else the page that it leads to.

        Each call is one try, is bounded by `call_timeout`, and changes nothing there. The same arguments list the same
        effects again, as they are by then. Raises a `Fault` if the listing fails.
        """
