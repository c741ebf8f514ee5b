"""The list of orders, and which order a short id means."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, TextField, Value
from django.db.models.functions import Cast, Replace

from orders.models import AgentRequest, Alert, OrderProcess, SetAside, SubmissionMessage
from orders.selectors.desk.standing import Standing, StepFacts, Tries, of_order
from orders.selectors.desk.step_facts import process_facts, steps_of
from orders.vocabulary import ProcessState

LEAST_PART = 4
"""Digits that a part of an order id has at least."""


@dataclass(frozen=True, kw_only=True)
class StepAt:
    """A step that an order is at."""

    name: str
    agent: str
    attempt: int
    failures: int
    standing: Standing


@dataclass(frozen=True, kw_only=True)
class ListedOrder:
    """One line of the list. `seconds` is its age, or how long it took; `code` the error of its open alert."""

    order_id: UUID
    state: str
    standing: Standing
    seconds: float
    steps: list[StepAt]
    failure_count: int
    locked_by: str | None
    priority: int
    code: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Some orders, newest first, of `matching`; and how many there are in each state, queued and set aside."""

    orders: list[ListedOrder]
    matching: int
    by_state: dict[str, int]
    queued: int
    set_aside: int


def list_orders(*, state: str | None, waiting: bool, limit: int, tries: Tries, now: datetime) -> Listing:
    """The newest orders, of one state or those that wait, at most `limit`. Eight queries."""
    chosen = OrderProcess.objects.all()
    if state is not None:
        chosen = chosen.filter(process_state=state)
    if waiting:
        chosen = chosen.filter(waits(now))
    processes = list(chosen.order_by("-order_id")[:limit])
    ids = [process.order_id for process in processes]
    steps = steps_of(ids, now)
    codes = dict(
        Alert.objects.filter(order_id__in=ids, closed_at__isnull=True).values_list("order_id", "code")
    )
    counted = OrderProcess.objects.values_list("process_state").annotate(number=Count("*")).order_by()
    found = dict(counted)
    return Listing(
        orders=[
            listed(process, steps[process.order_id], codes.get(process.order_id, ""), tries, now)
            for process in processes
        ],
        matching=chosen.count(),
        by_state={state: found.get(state, 0) for state in list(ProcessState)},
        queued=SubmissionMessage.objects.count(),
        set_aside=SetAside.objects.filter(replayed_at__isnull=True).count(),
    )


def waits(now: datetime) -> Q:
    """Orders under way, but nothing is being done for it: it waits for a time, a customer, a scheduler or an agent."""
    unclaimed = AgentRequest.objects.filter(order_id=OuterRef("order_id")).filter(
        Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    )
    return Q(process_state=ProcessState.PENDING) | (
        Q(process_state=ProcessState.PROCESSING) & (Q(not_before__isnull=False) | Q(Exists(unclaimed)))
    )


def listed(
    process: OrderProcess, steps: list[StepFacts], code: str, tries: Tries, now: datetime
) -> ListedOrder:
    """An order as a line of the list."""
    standing, at = of_order(process_facts(process), steps, tries=tries, now=now)
    return ListedOrder(
        order_id=process.order_id,
        state=process.process_state,
        standing=standing,
        seconds=((process.finished_at or now) - process.created_at).total_seconds(),
        steps=[
            StepAt(
                name=step.name,
                agent=step.agent,
                attempt=step.attempt,
                failures=step.failure_count + step.undo_failure_count,
                standing=stands,
            )
            for step, stands in at
        ],
        failure_count=process.failure_count,
        locked_by=process.locked_by,
        priority=process.priority,
        code=code,
    )


def matching_orders(digits: str, *, most: int = 6) -> list[UUID]:
    """Orders and submissions whose ids begin or end with these hexadecimal digits. At most two queries.

    The beginning is looked up by index first; all orders of about a minute share theirs, so the end is what people use.
    """
    lowest, highest = UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))
    found = _ids(Q(order_id__range=(lowest, highest)), most)
    return found or _ids(Q(digits__endswith=digits), most)


def _ids(condition: Q, most: int) -> list[UUID]:
    parts: list[QuerySet[Any, Any]] = [
        model.objects.annotate(
            digits=Replace(Cast(F("order_id"), TextField()), Value("-"), Value(""), output_field=TextField())
        )
        .filter(condition)
        .order_by()
        .values_list("order_id")
        for model in (OrderProcess, SubmissionMessage, SetAside)
    ]
    return [order_id for (order_id,) in parts[0].union(*parts[1:]).order_by("order_id")[:most]]
