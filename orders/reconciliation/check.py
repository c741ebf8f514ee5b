"""Walks through the effects and the completed steps of each agent, page by page, and collects the discrepancies."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from orders.engine.contracts import (
    Agent,
    Compensation,
    Effect,
    EffectPage,
    NotDone,
    Pending,
    Request,
    Unknown,
    Workflows,
    title_of,
)
from orders.engine.errors import Fault, Unresolved
from orders.engine.rows import EffectKey, read_key
from orders.reconciliation.asking import AT_ONCE, Asker
from orders.reconciliation.comparison import Discrepancy, compare, is_awaited, is_still_completed
from orders.selectors.desk.reconciliation import (
    CompletedStep,
    KnownStep,
    completed_steps,
    known_orders,
    settled_by_hand,
)
from orders.vocabulary import DiscrepancyKind

MOST = 10_000
"""Discrepancies of one agent that are collected. Then its comparison stops, and the report says so."""


@dataclass(kw_only=True)
class AgentReport:
    """What the comparison of one agent's remote service with the database showed.

    `effects` and `steps` are how many were compared; None if the agent cannot list effects, or cannot ask about steps.
    """

    agent: str
    effects: int | None = None
    steps: int | None = None
    discrepancies: list[Discrepancy] = field(default_factory=list)
    awaited: int = 0
    """Effects that the orders, which are under way, have yet to ask for."""
    foreign: int = 0
    """Effects whose keys are not ours."""
    unclear: int = 0
    """Completed steps of which the service could not say whether it did them."""
    reason: str = ""
    """Why it could not say so of the first of them."""
    fault: str = ""
    """Why the service could not be compared to the end; empty if it was."""
    is_full: bool = False
    """Whether the comparison stopped because there were too many discrepancies."""

    @property
    def is_checkable(self) -> bool:
        """Whether the agent has a method to list effects, or to ask about steps."""
        return self.effects is not None or self.steps is not None

    @property
    def is_incomplete(self) -> bool:
        """Whether something was not compared although the agent has the methods for it."""
        return bool(self.fault or self.unclear or self.is_full)


def reconcile(
    *,
    agents: Iterable[Agent],
    workflows: Workflows,
    since: datetime,
    rate: float | None = None,
    most: int = MOST,
) -> list[AgentReport]:
    """Compares each agent's remote service with the database: what was done since then. Changes nothing.

    `rate` is how many inquiries a second a service is sent at most. Stops at `most` discrepancies of an agent.
    """
    with asyncio.Runner() as runner:
        return [
            _Check(Asker(agent, runner=runner, rate=rate), workflows=workflows, since=since).run(most)
            for agent in agents
        ]


class _Entry(NamedTuple):
    """An effect under one of our keys, and the steps of its order; None if there is no such order."""

    effect: Effect
    key: EffectKey
    steps: Mapping[str, KnownStep] | None


class _Check:
    """The comparison of one agent's remote service with the database."""

    def __init__(self, asker: Asker, *, workflows: Workflows, since: datetime) -> None:
        self._asker = asker
        self._workflows = workflows
        self._since = since
        self._report = AgentReport(
            agent=asker.agent.name,
            effects=0 if asker.can_list else None,
            steps=0 if asker.can_ask else None,
        )
        self._reported: set[tuple[DiscrepancyKind, EffectKey]] = set()

    def run(self, most: int) -> AgentReport:
        """Compares in both directions, as far as the agent can, and until there are too many discrepancies."""
        report = self._report
        try:
            if self._asker.can_list:
                self._collect(self._in_effects(), most)
            if self._asker.can_ask and not report.is_full:
                self._collect(self._in_steps(), most)
        finally:
            self._asker.close()
        return report

    def _collect(self, discrepancies: Iterator[Discrepancy], most: int) -> None:
        """Adds the discrepancies to the report, up to `most` in all, or until the service cannot be asked."""
        report = self._report
        try:
            for discrepancy in discrepancies:
                if len(report.discrepancies) >= most:
                    report.is_full = True
                    return
                report.discrepancies.append(discrepancy)
        except Fault as fault:
            report.fault = report.fault or str(fault)

    def _in_effects(self) -> Iterator[Discrepancy]:
        """The discrepancies in what the service has done. A page that shows any is looked at twice, on both sides."""
        after, has_more = "", True
        while has_more:
            page = self._asker.list_effects(since=self._since, after=after)
            if after and page.following == after:
                raise Unresolved("bad_answer", "the service lists the same effects again and again")
            entries = self._count(page)
            if any(compare(*entry) for entry in entries):
                wrong = {(compare(*entry), entry.key) for entry in entries}
                again = _entries(self._asker.list_effects(since=self._since, after=after))
                yield from self._new([entry for entry in again if (compare(*entry), entry.key) in wrong])
            after, has_more = page.following, bool(page.following)

    def _in_steps(self) -> Iterator[Discrepancy]:
        """The discrepancies in what the service should have done."""
        for steps in completed_steps(agent=self._report.agent, since=self._since):
            for start in range(0, len(steps), AT_ONCE):
                yield from self._not_done_there(steps[start : start + AT_ONCE])

    def _count(self, page: EffectPage) -> list[_Entry]:
        """The effects of a page under our keys, with their orders' steps; adds to the report's counts."""
        report, entries = self._report, _entries(page)
        report.effects = (report.effects or 0) + len(page.effects)
        report.foreign += len(page.effects) - len(entries)
        report.awaited += sum(is_awaited(*entry) for entry in entries)
        return entries

    def _new(self, entries: Sequence[_Entry]) -> Iterator[Discrepancy]:
        """The discrepancies of these effects; an effect and its reversal are one."""
        standing = DiscrepancyKind.NOT_REVERSED_THERE
        settled = settled_by_hand({entry.key.order_id for entry in entries if compare(*entry) == standing})
        for entry in entries:
            kind, effect, key = compare(*entry), entry.effect, entry.key
            if kind is None or (kind, key._replace(compensates=False)) in self._reported:
                continue
            if kind is standing and ((key.order_id, key.step) in settled or not self._is_reversible(entry)):
                continue
            self._reported.add((kind, key._replace(compensates=False)))
            yield Discrepancy(
                kind=kind,
                agent=self._report.agent,
                order_id=key.order_id,
                step=key.step,
                key=effect.key,
                operation=effect.operation,
                at=effect.at,
            )

    def _is_reversible(self, entry: _Entry) -> bool:
        """Whether the compensation of this effect's step reverses it. A notice is only followed by another one."""
        step = (entry.steps or {})[entry.key.step]
        workflow = self._workflows.get((step.workflow, step.version))
        declared = workflow.find_step(entry.key.step) if workflow else None
        return declared is not None and declared.compensation is Compensation.REVERSE

    def _not_done_there(self, steps: Sequence[CompletedStep]) -> Iterator[Discrepancy]:
        """Asks about completed steps. Those that the service has not done must be completed after that, too."""
        requests = [request for step in steps if (request := self._request(step))]
        by_key = {step.key: step for step in steps}
        missing: list[CompletedStep] = []
        for request, finding in zip(requests, self._asker.inquire(requests), strict=True):
            if isinstance(finding, Unknown):
                self._note_unclear(finding.reason)
            elif isinstance(finding, Pending):
                self._note_unclear("it is still under way there")
            elif isinstance(finding, NotDone):
                missing.append(by_key[request.key])
        self._report.steps = (self._report.steps or 0) + len(requests)
        operations = {request.key: request.operation for request in requests}
        for step in _lasting(missing):
            yield Discrepancy(
                kind=DiscrepancyKind.NOT_DONE_THERE,
                agent=self._report.agent,
                order_id=step.order_id,
                step=step.name,
                key=step.key,
                operation=operations[step.key],
                at=step.completed_at,
            )

    def _request(self, step: CompletedStep) -> Request | None:
        """The step's request, to ask about; None, noted as unclear, if this release does not know its workflow."""
        workflow = self._workflows.get((step.workflow, step.version))
        declared = workflow.find_step(step.name) if workflow else None
        if declared is None:
            self._note_unclear(f"this release has no {title_of((step.workflow, step.version))}")
            return None
        return Request(
            order_id=step.order_id,
            step=step.name,
            operation=declared.operation,
            attempt=step.attempt,
            key=step.key,
            data=step.request,
            results={name: step.results[name] for name in declared.needs if name in step.results},
            compensates=False,
            reverses="",
            seconds_left=self._asker.agent.call_timeout,
        )

    def _note_unclear(self, reason: str) -> None:
        self._report.unclear += 1
        self._report.reason = self._report.reason or reason


def _entries(page: EffectPage) -> list[_Entry]:
    """The effects of a page under our keys, each with its order's steps as they are now."""
    keys = [(effect, key) for effect in page.effects if (key := read_key(effect.key))]
    orders = known_orders({key.order_id for _, key in keys})
    return [_Entry(effect, key, orders.get(key.order_id)) for effect, key in keys]


def _lasting(missing: Sequence[CompletedStep]) -> list[CompletedStep]:
    """Those of these steps that are still completed, and of which no operator has proof."""
    ids = {step.order_id for step in missing}
    if not ids:
        return []
    orders, settled = known_orders(ids), settled_by_hand(ids)
    return [
        step
        for step in missing
        if (step.order_id, step.name) not in settled
        and is_still_completed(orders.get(step.order_id, {}).get(step.name), step.generation)
    ]
