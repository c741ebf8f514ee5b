"""Orders by a filter: pages, counts that stop at a bound, and all that match. Fast with a million orders stored.

What an index finds (`orders.selectors.desk.sought`) is found first, if it is little, and the rest of the filter is
checked on that. Otherwise orders are looked at newest first, `MOST_LOOKED_AT` of each state for one page, which may
therefore be short and have another behind it (docs/adr/0063). Where an order stands is not stored but worked out from
its steps, so a search for a standing examines the orders that may stand there, chunk by chunk, and at most
`MOST_EXAMINED` of them for one page. `orders.selectors.desk.archive_search` has the archive behind them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from orders.engine.branches import declared_name
from orders.engine.runtime.sql import fetch
from orders.models import OrderProcess, StepState
from orders.selectors.desk import conditions
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.conditions import ANY_STATE, is_worked_out, standings_of, states_of
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import (
    OrderProgress,
    OrderRow,
    order_progress,
    order_rows,
)
from orders.selectors.desk.query_fields import NO, YES
from orders.selectors.desk.sought import Sought, sought_of
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.paging import Position, older_than
from orders.vocabulary import ProcessState

MOST_LOOKED_UP = 1_000
"""Where counting stops when each order's steps or alert have to be looked up."""
MOST_LOOKED_AT = 2_500
"""How many orders of each state one page looks at when no index finds few."""
MOST_FOUND = 4_000
"""The most orders that an index may find for the rest of the filter to be checked on them."""
MOST_EXAMINED = 600
CHUNK = 200
WHOLE_CHUNK = 1_000
"""How many orders are read at a time when all that match are."""
NEWEST_STEPS = 400
"""The steps whose names and agents a form offers."""

_FOUND = "SELECT unnest(%s::uuid[])"
_INDEXED = ("state", *conditions.WHEN, "archived")
"""The fields that the index of orders by age answers, without a look at each."""


@dataclass(frozen=True, kw_only=True)
class OrderPage:
    """Some orders, newest first. `after` is where the next page starts, None at the end."""

    orders: list[OrderRow]
    after: Position | None


@dataclass(frozen=True)
class _Search:
    """A filter at a moment, with what its indexes have found."""

    order_filter: OrderFilter
    now: datetime

    @cached_property
    def is_none(self) -> bool:
        """Whether no stored order can match."""
        if self.order_filter.is_impossible or states_of(self.order_filter) == ("none",):
            return True
        return any(
            condition.values == ((NO,) if condition.negated else (YES,))
            for condition in self.order_filter.conditions("archived")
        )

    @cached_property
    def sought(self) -> list[tuple[Sought, bool]]:
        return sought_of(self.order_filter)

    @cached_property
    def few(self) -> list[UUID] | None:
        """The few orders among which all that match are; None if no index finds few. At most two queries for each
        condition."""
        least: set[UUID] | None = None
        for each, is_negated in self.sought:
            if not is_negated and (ids := each.find(MOST_FOUND)) is not None:
                least = ids if least is None or len(ids) < len(least) else least
        return None if least is None else sorted(least)

    @cached_property
    def is_looked_at(self) -> bool:
        """Whether each order has to be looked at to see if it matches, and they may be many."""
        query = self.order_filter.parsed
        of_age = (*_INDEXED, *(() if is_worked_out(self.order_filter) else ("standing",)))
        others = [condition for condition in query.conditions if condition.name not in of_age]
        return bool(others or query.text) and self.few is None

    @cached_property
    def states(self) -> Sequence[str]:
        return states_of(self.order_filter) or ANY_STATE

    @cached_property
    def span(self) -> Q:
        return conditions.between(conditions.placed_between(self.order_filter, self.now), "created_at")

    def of_state(self, state: str) -> QuerySet[OrderProcess]:
        """The orders of a state and of the time that is asked for."""
        return OrderProcess.objects.filter(self.span, process_state=state)

    def matches(self) -> list[QuerySet[OrderProcess]]:
        """The orders that match: those of each state or, if an index has found few, all."""
        if self.is_none:
            return []
        if self.few is not None:
            ids = RawSQL(_FOUND, [self.few])
            orders = OrderProcess.objects.filter(self.span, order_id__in=ids, process_state__in=self.states)
            return [self._narrowed(orders, "")]
        return [self._narrowed(self.of_state(state), state) for state in self.states]

    def _narrowed(self, orders: QuerySet[OrderProcess], state: str) -> QuerySet[OrderProcess]:
        orders = orders.filter(*conditions.of_process(self.order_filter, state, self.now))
        orders = orders.filter(conditions.not_placed(self.order_filter, self.now, "created_at"))
        orders = orders.filter(conditions.narrowed(self.order_filter))
        for each, is_negated in self.sought:
            orders = orders.filter(~each.of_process if is_negated else each.of_process)
        return orders

    def read(self, behind: Position | None, size: int) -> "_Chunk":
        """The newest that may match, behind a position. Two queries."""
        floor = self._floor(behind) if self.is_looked_at and not self.is_none else None
        of_states = []
        for orders in self.matches():
            if behind is not None:
                orders = orders.filter(older_than(behind, time="created_at", order_id="order_id"))
            if floor is not None:
                orders = orders.filter(created_at__gte=floor.at)
            of_states.append(orders.order_by("-created_at", "-order_id")[:size])
        if not of_states:
            return _Chunk([], None)
        first, *others = of_states
        rows = sorted(first.union(*others, all=True) if others else first, key=_position, reverse=True)[:size]
        return _Chunk(rows, _position(rows[-1]) if len(rows) == size else floor)

    def _floor(self, behind: Position | None) -> Position | None:
        """Where this look ends, None if at the end of all: behind the state whose orders fill it first. One query."""
        ends = []
        for state in self.states:
            orders = self.of_state(state)
            if behind is not None:
                orders = orders.filter(older_than(behind, time="created_at", order_id="order_id"))
            by_age = orders.order_by("-created_at").values("created_at")
            ends.append(by_age[MOST_LOOKED_AT : MOST_LOOKED_AT + 1])
        first, *others = ends
        times = [row["created_at"] for row in (first.union(*others, all=True) if others else first)]
        return Position(max(times), UUID(int=0)) if times else None

    def with_the_standing(self, orders: Sequence[OrderProgress]) -> list[OrderProgress]:
        """These orders without those that turn out to stand elsewhere."""
        if not orders or not is_worked_out(self.order_filter):
            return list(orders)
        standings = [
            (standings_of(condition), condition.negated)
            for condition in self.order_filter.conditions("standing")
        ]
        return [
            order
            for order in orders
            if all((order.standing.kind in kinds) != is_negated for kinds, is_negated in standings)
        ]


@dataclass(frozen=True)
class _Chunk:
    """Some orders that may match. Others may be `behind`; None if there are none."""

    processes: list[OrderProcess]
    behind: Position | None


def page(
    order_filter: OrderFilter, *, after: Position | None, limit: int, retry_limits: RetryLimits, now: datetime
) -> OrderPage:
    """One page of stored orders: about eight queries, a few more when indexes are asked or when the standing has to be
    worked out first."""
    search = _Search(order_filter, now)
    matches: list[OrderProgress] = []
    examined = 0
    behind = after
    size = CHUNK if is_worked_out(order_filter) else limit + 1
    while True:
        chunk = search.read(behind, size)
        examined += len(chunk.processes)
        progress = order_progress(chunk.processes, retry_limits=retry_limits, now=now)
        matches += search.with_the_standing(progress)
        behind = chunk.behind
        if behind is None or len(matches) > limit or len(chunk.processes) < size or examined >= MOST_EXAMINED:
            break
    if len(matches) > limit:
        matches = matches[:limit]
        behind = matches[-1].position
    return OrderPage(orders=order_rows(matches, now=now), after=behind)


def count(order_filter: OrderFilter, *, now: datetime, most: int | None = None) -> int | None:
    """How many orders match, up to `most` + 1 (by default `most_counted`); None if each would have to be worked out or
    looked at."""
    if is_worked_out(order_filter):
        return None
    search = _Search(order_filter, now)
    if not search.is_none and search.is_looked_at and not _is_counted(order_filter):
        return None
    most = most_counted(order_filter) if most is None else most
    matches = 0
    for orders in search.matches():
        matches += orders.order_by()[: most + 1 - matches].count()
        if matches > most:
            break
    return matches


def _is_counted(order_filter: OrderFilter) -> bool:
    """Whether few enough can match that they are counted although each is looked at: orders under way, or in Error."""
    states = states_of(order_filter)
    names = {condition.name for condition in order_filter.parsed.conditions}
    is_of_process = names <= {
        *_INDEXED,
        "step",
        "agent",
        "waiting",
        "error",
        "workflow",
        "priority",
        "standing",
    }
    return is_of_process and bool(states) and set(states) <= set(conditions.UNFINISHED)


def quick_count(order_filter: OrderFilter, *, now: datetime) -> int | None:
    """The same for a page that must be quick: also None if steps or alerts would have to be looked up."""
    if order_filter.conditions("step", "agent", *conditions.OF_ALERTS):
        return None
    return count(order_filter, now=now)


def most_counted(order_filter: OrderFilter) -> int:
    """Where counting the orders of this filter stops."""
    is_looked_up = order_filter.conditions("step", "agent", "waiting", *conditions.OF_ALERTS)
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
    search = _Search(order_filter, now)
    for processes in _chunks(search):
        if is_worked_out(order_filter):
            for order in search.with_the_standing(
                order_progress(processes, retry_limits=retry_limits, now=now)
            ):
                yield order.order_id
        else:
            for process in processes:
                yield process.order_id


def rows(
    order_filter: OrderFilter, *, most: int, retry_limits: RetryLimits, now: datetime
) -> Iterator[OrderRow]:
    """All orders that match as rows of a list, newest first, up to `most`; read chunk by chunk."""
    search = _Search(order_filter, now)
    matches = (
        row
        for processes in _chunks(search)
        for row in order_rows(
            search.with_the_standing(order_progress(processes, retry_limits=retry_limits, now=now)), now=now
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


def _chunks(search: _Search) -> Iterator[list[OrderProcess]]:
    behind: Position | None = None
    while True:
        chunk = search.read(behind, WHOLE_CHUNK)
        yield chunk.processes
        if (behind := chunk.behind) is None:
            return


def _position(process: OrderProcess) -> Position:
    return Position(process.created_at, process.order_id)
