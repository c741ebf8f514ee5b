"""Orders by a filter: pages, counts that stop at a bound, and all that match. Fast with a million orders stored.

What an index finds (`orders.selectors.desk.sought`) is found first, if it is little, and the rest of the filter is
checked on that. Otherwise orders are looked at newest first, `MOST_LOOKED_AT` of each state for one page, which may
therefore be short and have another behind it (docs/adr/0063). Where an order stands is not stored but worked out from
its steps, so a search for a standing examines the orders that may stand there, chunk by chunk, and at most
`MOST_EXAMINED` of them for one page. `orders.selectors.desk.archive_search` has the archive behind them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from orders.engine.branches import declared_name
from orders.engine.runtime.sql import fetch
from orders.models import StepState
from orders.selectors.desk import conditions
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.conditions import is_worked_out, states_of
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import (
    OrderProgress,
    OrderRow,
    order_progress,
    order_rows,
)
from orders.selectors.desk.order_search import INDEXED, Search
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.paging import Position
from orders.vocabulary import ProcessState

MOST_LOOKED_UP = 1_000
"""Where counting stops when each order's steps or alert have to be looked up."""
MOST_EXAMINED = 600
FIRST_CHUNK, CHUNK = 100, 200
"""How many orders are read at a time to work out where they stand. The first are often enough."""
WHOLE_CHUNK = 1_000
"""How many orders are read at a time when all that match are."""
NEWEST_STEPS = 400
"""The steps whose names and agents a form offers."""


@dataclass(frozen=True, kw_only=True)
class OrderPage:
    """Some orders, newest first. `after` is where the next page starts, None at the end."""

    orders: list[OrderRow]
    after: Position | None


def page(
    order_filter: OrderFilter,
    *,
    after: Position | None,
    limit: int,
    retry_limits: RetryLimits,
    now: datetime,
    search: Search | None = None,
) -> OrderPage:
    """One page of stored orders: about eight queries, a few more when indexes are asked or when the standing has to be
    worked out first. `search` is the filter's, if its indexes have been asked already."""
    search = search or Search(order_filter, now)
    matches: list[OrderProgress] = []
    examined = 0
    behind = after
    size = max(FIRST_CHUNK, limit + 1) if is_worked_out(order_filter) else limit + 1
    while True:
        chunk = search.read(behind, size)
        examined += len(chunk.processes)
        progress = order_progress(chunk.processes, retry_limits=retry_limits, now=now)
        matches += search.with_the_standing(progress)
        behind = chunk.behind
        if behind is None or len(matches) > limit or len(chunk.processes) < size or examined >= MOST_EXAMINED:
            break
        size = max(CHUNK, size)
    if len(matches) > limit:
        matches = matches[:limit]
        behind = matches[-1].position
    return OrderPage(orders=order_rows(matches, now=now), after=behind)


def count(
    order_filter: OrderFilter, *, now: datetime, most: int | None = None, search: Search | None = None
) -> int | None:
    """How many orders match, up to `most` + 1 (by default `most_counted`); None if each would have to be worked out or
    looked at."""
    if is_worked_out(order_filter):
        return None
    search = search or Search(order_filter, now)
    if not search.is_none and search.is_looked_at and not _is_counted(order_filter):
        return None
    return search.count(most_counted(order_filter) if most is None else most)


def _is_counted(order_filter: OrderFilter) -> bool:
    """Whether few enough can match that they are counted although each is looked at: orders under way, or in Error."""
    states = states_of(order_filter)
    names = {condition.name for condition in order_filter.parsed.conditions}
    is_of_process = names <= {
        *INDEXED,
        "step",
        "agent",
        "waiting",
        "error",
        "workflow",
        "priority",
        "standing",
    }
    return is_of_process and bool(states) and set(states) <= set(conditions.UNFINISHED)


def quick_count(order_filter: OrderFilter, *, now: datetime, search: Search | None = None) -> int | None:
    """The same for a page that must be quick: also None if steps or alerts would have to be looked up."""
    if order_filter.conditions("step", "agent", *conditions.OF_ALERTS):
        return None
    return count(order_filter, now=now, search=search)


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
    search = Search(order_filter, now)
    for processes in search.chunks(WHOLE_CHUNK):
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
    """All orders that match as rows without attempts, newest first, up to `most`; read chunk by chunk."""
    search = Search(order_filter, now)
    matches = (
        row
        for processes in search.chunks(WHOLE_CHUNK)
        for row in order_rows(
            search.with_the_standing(order_progress(processes, retry_limits=retry_limits, now=now)),
            now=now,
            counts_attempts=False,  # nobody exports them
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
