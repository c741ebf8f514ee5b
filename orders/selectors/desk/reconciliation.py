"""What the database knows of orders and their steps, to be compared with what the remote services know (F35).

An order moves from the submissions to the processes, and from there to the archive. The tables are read in that order,
so an order that is just moving is not missed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from orders.engine.rows import effect_key
from orders.engine.runtime.sql import fetch
from orders.models import ArchivedOrder, Event, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.selectors.archived_orders import Archived, opened
from orders.vocabulary import EventKind, Goal, ProcessState, StepStatus

PAGE = 100
"""Orders whose steps are read at once."""
UNFINISHED = (ProcessState.PENDING, ProcessState.PROCESSING, ProcessState.ERROR)
LAST_ID = UUID(int=2**128 - 1)
BY_HAND = (EventKind.SETTLED_DONE.value, EventKind.SETTLED_COMPENSATED.value)


class KnownStep(NamedTuple):
    """Where a step stands, and its order as a whole. One that `is_reversed_first` is reversed on its order's way
    forward, before it asks for something else."""

    workflow: str
    version: int
    goal: str
    process_state: str
    state: str
    outcome: str
    generation: int
    is_reversed_first: bool = False


KnownOrders = Mapping[UUID, Mapping[str, KnownStep]]
"""The steps of each order that exists, by their names; none for a submission that has not been inserted."""


@dataclass(frozen=True, kw_only=True)
class CompletedStep:
    """A completed step of an order that is not being compensated, with what its agent was sent.

    `results` has the answers to the order's other steps.
    """

    order_id: UUID
    workflow: str
    version: int
    name: str
    generation: int
    attempt: int
    completed_at: datetime
    request: Mapping[str, Any]
    results: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The idempotency key of its effect."""
        return effect_key(self.order_id, self.name, self.generation)


def known_orders(order_ids: Collection[UUID]) -> KnownOrders:
    """Those of these orders that exist: waiting submissions, those set aside, orders, archived orders. Four queries."""
    ids = list(order_ids)
    orders: dict[UUID, dict[str, KnownStep]] = {}
    for model in (SubmissionMessage, SetAside):
        for order_id in model.objects.filter(order_id__in=ids).values_list("order_id", flat=True):
            orders[order_id] = {}
    for order_id, name, *columns in fetch(
        """
        SELECT order_id, s.name, p.workflow, p.version, p.goal, p.process_state, s.state, s.outcome, s.generation,
               s.next_request IS NOT NULL
          FROM orders_stepstate AS s JOIN orders_orderprocess AS p USING (order_id)
         WHERE order_id = ANY(%s)
        """,
        [ids],
    ):
        orders.setdefault(order_id, {})[name] = KnownStep(*columns)
    for archived in _archived(ids):
        process = archived.process
        orders[process.order_id] = {step.name: _known_step(process, step) for step in archived.steps}
    return orders


def _known_step(process: OrderProcess, step: StepState) -> KnownStep:
    return KnownStep(
        workflow=process.workflow,
        version=process.version,
        goal=process.goal,
        process_state=process.process_state,
        state=step.state,
        outcome=step.outcome,
        generation=step.generation,
        is_reversed_first=step.next_request is not None,
    )


def settled_by_hand(order_ids: Collection[UUID]) -> set[tuple[UUID, str]]:
    """The steps of these orders, each as order and name, of which an operator stated with proof what had happened."""
    events = Event.objects.filter(order_id__in=order_ids, kind__in=BY_HAND)
    settled = set(events.values_list("order_id", "step"))
    for archived in _archived(order_ids):
        settled |= {(event.order_id, event.step) for event in archived.events if event.kind in BY_HAND}
    return settled


def completed_steps(*, agent: str, since: datetime) -> Iterator[list[CompletedStep]]:
    """The steps of an agent that were completed since then, page by page: first those of unfinished orders."""
    for processes in _processes(since):
        yield _completed_of(processes, agent, since)
    for archived_orders in _archived_since(since):
        yield [
            step
            for archived in archived_orders
            for step in _completed(archived.process, archived.steps, agent, since)
        ]


def _processes(since: datetime) -> Iterator[list[OrderProcess]]:
    """The unfinished orders, then those that were processed since then, each by an index."""
    for state in UNFINISHED:
        last = LAST_ID
        while page := list(
            OrderProcess.objects.filter(process_state=state, order_id__lt=last).order_by("-order_id")[:PAGE]
        ):
            yield page
            last = page[-1].order_id
    after: tuple[datetime, UUID] = (since, UUID(int=0))
    while rows := fetch(
        """
        SELECT finished_at, order_id FROM orders_orderprocess
         WHERE finished_at >= %s AND (finished_at, order_id) > (%s, %s)
         ORDER BY finished_at, order_id LIMIT %s
        """,
        [after[0], *after, PAGE],
    ):
        yield list(OrderProcess.objects.filter(order_id__in=[order_id for _, order_id in rows]))
        after = rows[-1][0], rows[-1][1]


def _completed_of(processes: list[OrderProcess], agent: str, since: datetime) -> list[CompletedStep]:
    by_order: dict[UUID, list[StepState]] = {process.order_id: [] for process in processes}
    for step in StepState.objects.filter(process_id__in=list(by_order)):
        by_order[step.process_id].append(step)
    return [
        completed
        for process in processes
        for completed in _completed(process, by_order[process.order_id], agent, since)
    ]


def _completed(
    process: OrderProcess, steps: Iterable[StepState], agent: str, since: datetime
) -> Iterator[CompletedStep]:
    if process.goal != Goal.COMPLETE:
        return
    results = {step.name: step.result for step in steps if step.result is not None}
    for step in steps:
        if step.agent != agent or step.state != StepStatus.COMPLETED:
            continue
        if step.completed_at is not None and step.completed_at >= since:
            yield CompletedStep(
                order_id=process.order_id,
                workflow=process.workflow,
                version=process.version,
                name=step.name,
                generation=step.generation,
                attempt=step.attempt,
                completed_at=step.completed_at,
                request=step.request,
                results=results,
            )


def _archived(order_ids: Collection[UUID]) -> list[Archived]:
    return [opened(row) for row in ArchivedOrder.objects.filter(order_id__in=order_ids)]


def _archived_since(since: datetime) -> Iterator[list[Archived]]:
    """The archived orders that finished since then. None of them was archived before that."""
    after: tuple[datetime, UUID] = (since, UUID(int=0))
    while rows := fetch(
        """
        SELECT archived_at, order_id FROM orders_archivedorder
         WHERE archived_at >= %s AND (archived_at, order_id) > (%s, %s) AND finished_at >= %s
         ORDER BY archived_at, order_id LIMIT %s
        """,
        [after[0], *after, since, PAGE],
    ):
        yield _archived([order_id for _, order_id in rows])
        after = rows[-1][0], rows[-1][1]
