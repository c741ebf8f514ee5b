"""Orders by a filter: pages, counts that stop at a bound, and all that match. Fast with a million orders stored.

Finished orders are reached only by an index: by state and age, by the end of an id, by email, total, SKU, subject,
reference, attribute or account. `orders.selectors.desk.archive_search` has the archive behind them. Where an order
stands is not stored but worked out from its steps, so a search for a standing examines the orders that may stand there,
chunk by chunk, and at most `MOST_EXAMINED` of them for one page.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Lower

from orders.engine.branches import SEPARATOR, declared_name
from orders.engine.runtime.sql import fetch
from orders.models import AgentRequest, Alert, Order, OrderLine, OrderProcess, StepState
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.filters import NOTHING_DONE, OrderFilter
from orders.selectors.desk.named import named_by
from orders.selectors.desk.order_ids import ids_like
from orders.selectors.desk.order_rows import (
    OrderProgress,
    OrderRow,
    order_progress,
    order_rows,
)
from orders.selectors.desk.standing import RetryLimits, StandingKind
from orders.selectors.paging import Position, older_than
from orders.vocabulary import Goal, ProcessState, StepStatus

MOST_LOOKED_UP = 1_000
"""Where counting stops when each order's steps or alert have to be looked up."""
MOST_EXAMINED = 600
CHUNK = 200
NEWEST_STEPS = 400
"""The steps whose names and agents a form offers."""

UNDER_WAY = (ProcessState.PENDING.value, ProcessState.PROCESSING.value)
UNFINISHED = (*UNDER_WAY, ProcessState.ERROR.value)
ANY_STATE = tuple(state.value for state in ProcessState)
STATE_OF = {
    StandingKind.PROCESSED: (ProcessState.PROCESSED.value, Goal.COMPLETE.value),
    StandingKind.COMPENSATED: (ProcessState.COMPENSATED.value, Goal.COMPENSATE.value),
    StandingKind.ERROR: (ProcessState.ERROR.value, Goal.COMPLETE.value),
    StandingKind.COMPENSATION_FAILED: (ProcessState.ERROR.value, Goal.COMPENSATE.value),
}
"""The standings that follow from a process's own row."""


@dataclass(frozen=True, kw_only=True)
class OrderPage:
    """Some orders, newest first. `after` is where the next page starts, None at the end."""

    orders: list[OrderRow]
    after: Position | None


def page(
    order_filter: OrderFilter, *, after: Position | None, limit: int, retry_limits: RetryLimits, now: datetime
) -> OrderPage:
    """One page of stored orders: six queries, a few more when their standing has to be worked out first."""
    matches: list[OrderProgress] = []
    examined = 0
    behind = after
    while len(matches) <= limit and examined < MOST_EXAMINED:
        size = CHUNK if _is_worked_out(order_filter) else limit + 1
        chunk = _newest(order_filter, behind, size, now)
        matches += _with_the_standing(order_filter, order_progress(chunk, retry_limits=retry_limits, now=now))
        examined += len(chunk)
        if len(chunk) < size:
            break
        behind = _position(chunk[-1])
        if not _is_worked_out(order_filter):
            break
    else:
        if len(matches) <= limit:  # there may be more below, which this page has not examined
            return OrderPage(orders=order_rows(matches, now=now), after=behind)
    shown = matches[:limit]
    has_more = bool(shown) and len(matches) > limit
    return OrderPage(orders=order_rows(shown, now=now), after=shown[-1].position if has_more else None)


def count(order_filter: OrderFilter, *, now: datetime, most: int | None = None) -> int | None:
    """How many orders match, up to `most` + 1 (by default `most_counted`); None if each would have to be worked out."""
    if _is_worked_out(order_filter):
        return None
    most = most_counted(order_filter) if most is None else most
    matches = 0
    for state in _states(order_filter) or ("",):
        matches += _matching_orders(order_filter, now, state).order_by()[: most + 1 - matches].count()
        if matches > most:
            break
    return matches


def quick_count(order_filter: OrderFilter, *, now: datetime) -> int | None:
    """The same for a page that must be quick: also None if steps or alerts would have to be looked up."""
    if order_filter.step or order_filter.agent or order_filter.code:
        return None
    return count(order_filter, now=now)


def most_counted(order_filter: OrderFilter) -> int:
    """Where counting the orders of this filter stops."""
    is_looked_up = order_filter.step or order_filter.agent or order_filter.waiting or order_filter.code
    return MOST_LOOKED_UP if is_looked_up else MOST_COUNTED


def count_by_state() -> Mapping[str, int]:
    """How many orders are in each state, each counted up to `MOST_COUNTED` + 1. One query."""
    rows = fetch(
        """
        SELECT states.state, (SELECT count(*) FROM (
                                 SELECT 1 FROM orders_orderprocess
                                  WHERE process_state = states.state LIMIT %s) AS few)
          FROM unnest(%s::text[]) AS states (state)
        """,
        [MOST_COUNTED + 1, [state.value for state in ProcessState]],
    )
    return dict(rows)


def matching(
    order_filter: OrderFilter, *, most: int, retry_limits: RetryLimits, now: datetime
) -> Iterator[UUID]:
    """The ids of all orders that match, newest first, up to `most`."""
    yield from islice(_matching_ids(order_filter, retry_limits, now), most)


def _matching_ids(order_filter: OrderFilter, retry_limits: RetryLimits, now: datetime) -> Iterator[UUID]:
    for chunk in _chunks(order_filter, now):
        if _is_worked_out(order_filter):
            for order in _with_the_standing(
                order_filter, order_progress(chunk, retry_limits=retry_limits, now=now)
            ):
                yield order.order_id
        else:
            for process in chunk:
                yield process.order_id


def rows(
    order_filter: OrderFilter, *, most: int, retry_limits: RetryLimits, now: datetime
) -> Iterator[OrderRow]:
    """All orders that match as rows of a list, newest first, up to `most`; read chunk by chunk."""
    matches = (
        row
        for chunk in _chunks(order_filter, now)
        for row in order_rows(
            _with_the_standing(order_filter, order_progress(chunk, retry_limits=retry_limits, now=now)),
            now=now,
        )
    )
    yield from islice(matches, most)


def steps_and_agents() -> tuple[list[str], list[str]]:
    """The names of the steps and agents of the newest orders, for a form. One query."""
    newest = StepState.objects.order_by("-id").values_list("position", "name", "agent")[:NEWEST_STEPS]
    steps = sorted(set(newest))
    return list(dict.fromkeys(declared_name(name) for _, name, _ in steps)), sorted(
        {agent for _, _, agent in steps}
    )


def _is_worked_out(order_filter: OrderFilter) -> bool:
    """Whether an order matches can only be worked out from its steps."""
    return bool(order_filter.kind) and order_filter.kind not in STATE_OF


def _with_the_standing(order_filter: OrderFilter, orders: Sequence[OrderProgress]) -> list[OrderProgress]:
    """These orders without those that turn out to stand elsewhere."""
    return [
        order
        for order in orders
        if not _is_worked_out(order_filter) or order.standing.kind == order_filter.kind
    ]


def _chunks(order_filter: OrderFilter, now: datetime) -> Iterator[list[OrderProcess]]:
    behind: Position | None = None
    while chunk := _newest(order_filter, behind, CHUNK, now):
        yield chunk
        behind = _position(chunk[-1])


def _position(process: OrderProcess) -> Position:
    return Position(process.created_at, process.order_id)


def _newest(
    order_filter: OrderFilter, behind: Position | None, limit: int, now: datetime
) -> list[OrderProcess]:
    """The newest that may match, those of each state by the index that has them by age. One query.

    A search for an id or an email finds few orders, which are sorted.
    """
    of_states = []
    for state in _states(order_filter) or (("",) if order_filter.q else ANY_STATE):
        processes = _matching_orders(order_filter, now, state)
        if behind is not None:
            processes = processes.filter(older_than(behind, time="created_at", order_id="order_id"))
        of_states.append(processes.order_by("-created_at", "-order_id")[:limit])
    first, *others = of_states
    return sorted(first.union(*others, all=True) if others else first, key=_position, reverse=True)[:limit]


def _states(order_filter: OrderFilter) -> Sequence[str]:
    """The states that a match can be in; empty means any."""
    if order_filter.kind in STATE_OF:
        states: Sequence[str] = (STATE_OF[StandingKind(order_filter.kind)][0],)
    elif order_filter.kind or order_filter.waiting:
        states = UNDER_WAY
    elif order_filter.code:
        states = (ProcessState.ERROR.value,)
    elif (
        order_filter.step
        or order_filter.agent
        or ((order_filter.priority or order_filter.workflow) and not order_filter.state)
    ):
        states = UNFINISHED
    else:
        states = ()
    if not order_filter.state:
        return states
    return (order_filter.state,) if not states or order_filter.state in states else ("none",)


def _matching_orders(order_filter: OrderFilter, now: datetime, state: str) -> QuerySet[OrderProcess]:
    """The orders that match, in one state or, with "", in any."""
    orders = OrderProcess.objects.filter(process_state=state) if state else OrderProcess.objects.all()
    if order_filter.problems:
        return orders.none()
    if order_filter.kind in STATE_OF:
        orders = orders.filter(goal=STATE_OF[StandingKind(order_filter.kind)][1])
    if order_filter.waiting == NOTHING_DONE:
        orders = orders.filter(_waits(now))
    if order_filter.step or order_filter.agent or order_filter.waiting not in ("", NOTHING_DONE):
        orders = orders.filter(Exists(_current_steps(order_filter, state)))
    if order_filter.code:
        alerts = Alert.objects.filter(code=order_filter.code, closed_at__isnull=True, order_id__isnull=False)
        orders = orders.filter(order_id__in=alerts.values("order_id"))
    if order_filter.workflow:
        orders = orders.filter(workflow=order_filter.workflow)
    if order_filter.priority:
        orders = orders.filter(priority=int(order_filter.priority))
    if (age := order_filter.age) is not None:
        orders = orders.filter(created_at__lt=now - age)
    return _searched(orders, order_filter) if order_filter.q else _narrowed(orders, order_filter.kind)


def _waits(now: datetime) -> Q:
    """Orders under way that only wait: for a time, a customer, a scheduler or an agent."""
    unclaimed = AgentRequest.objects.filter(order_id=OuterRef("order_id")).filter(
        Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    )
    return Q(process_state=ProcessState.PENDING) | (
        Q(process_state=ProcessState.PROCESSING) & (Q(not_before__isnull=False) | Q(Exists(unclaimed)))
    )


def _current_steps(order_filter: OrderFilter, state: str) -> QuerySet[StepState]:
    """The steps that an order is at. In Error they are those that failed, which have an index of their own."""
    steps = StepState.objects.filter(process_id=OuterRef("order_id"))
    if state == ProcessState.ERROR:
        steps = steps.filter(state=StepStatus.FAILED)
    else:
        begun = (StepStatus.RUNNING, StepStatus.AWAITING, StepStatus.COMPENSATING, StepStatus.FAILED)
        has_begun = Q(state__in=begun) | Q(state=StepStatus.NOT_STARTED, attempt__gt=0)
        steps = steps.filter(has_begun | Q(waiting_since__isnull=False))
    if order_filter.step:
        steps = steps.filter(
            Q(name=order_filter.step) | Q(name__startswith=f"{order_filter.step}{SEPARATOR}")
        )
    if order_filter.waiting not in ("", NOTHING_DONE):
        steps = steps.filter(agent=order_filter.waiting, waiting_since__isnull=False)
    return steps.filter(agent=order_filter.agent) if order_filter.agent else steps


def _narrowed(orders: QuerySet[OrderProcess], kind: str) -> QuerySet[OrderProcess]:
    """Those that may stand there, so that few others are examined."""
    steps = StepState.objects.filter(process_id=OuterRef("order_id"))
    if kind == StandingKind.AGENT:
        requests = AgentRequest.objects.filter(order_id=OuterRef("order_id"))
        return orders.filter(Q(Exists(steps.filter(waiting_since__isnull=False))) | Q(Exists(requests)))
    if kind == StandingKind.CUSTOMER:
        return orders.filter(Exists(steps.filter(state=StepStatus.FAILED, not_before__isnull=False)))
    if kind in (StandingKind.DECISION, StandingKind.ANSWER, StandingKind.DELAY):
        return orders.filter(Exists(steps.filter(state=StepStatus.AWAITING)))
    if kind == StandingKind.EXTENDED_WAIT:
        return orders.filter(Exists(steps.filter(extended_waits__gt=0)))
    return orders


def _searched(orders: QuerySet[OrderProcess], order_filter: OrderFilter) -> QuerySet[OrderProcess]:
    if order_filter.requested:
        return orders.filter(order_id__in=order_filter.requested)
    if order_filter.email:
        placed = Order.objects.annotate(lower_email=Lower("email")).filter(
            lower_email=order_filter.email.lower()
        )
        return orders.filter(order_id__in=placed.values("id"))
    if order_filter.digits:
        named_so = Order.objects.filter(Q(subject=order_filter.q) | Q(reference=order_filter.q)).values("id")
        return orders.filter(Q(order_id__in=ids_like(order_filter.digits)) | Q(order_id__in=named_so))
    if order_filter.total is not None:
        return orders.filter(order_id__in=Order.objects.filter(total=order_filter.total).values("id"))
    if order_filter.attribute:
        having = Order.objects.exclude(attributes=[]).filter(attributes__contains=[order_filter.attribute])
        return orders.filter(order_id__in=having.values("id"))
    named = named_by(order_filter.words)
    lines = OrderLine.objects.filter(sku__in=named.skus)
    own_words = Q(subject=named.subject) | Q(reference=named.subject)
    about = Order.objects.filter(own_words | Q(customer_id__in=named.customers))
    matches = Q(order_id__in=about.values("id"))
    return orders.filter(matches | Q(order_id__in=lines.values("order_id")) if named.skus else matches)
