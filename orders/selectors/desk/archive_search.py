"""The list of orders with the archive behind it: first the stored orders, then the archived ones, each newest first.

Archived orders are found by what is stored of each beside its document: id, email, account, state, total, SKUs,
subject, reference, attributes and when it was placed. Each has an index, so a page is as fast with a million archived
orders (docs/adr/0026).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from uuid import UUID

from django.db.models import QuerySet

from orders.models import ArchivedOrder
from orders.selectors import archived_orders
from orders.selectors.desk import conditions
from orders.selectors.desk import search as stored_search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_rows import OrderRow, archived_order_row
from orders.selectors.desk.order_search import MOST_LOOKED_AT, Search
from orders.selectors.desk.query import Condition
from orders.selectors.desk.query_fields import NO, YES
from orders.selectors.desk.sought import READERS, archived
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.paging import Position, older_than
from orders.vocabulary import FINISHED_STATES

CHUNK = 100


NEWEST = Position(datetime.max.replace(tzinfo=UTC), UUID(int=2**128 - 1))
"""The position before all archived orders."""


@dataclass(frozen=True, kw_only=True)
class OrderList:
    """Some orders. The next page starts behind the stored order `after`, or behind the archived `archived_after`;
    neither at the end."""

    orders: list[OrderRow]
    after: Position | None = None
    archived_after: Position | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there are no orders, and no page is behind it."""
        return not self.orders and self.after is None and self.archived_after is None


def page(
    order_filter: OrderFilter,
    *,
    after: Position | None,
    archived_after: Position | None,
    limit: int,
    retry_limits: RetryLimits,
    now: datetime,
    search: Search | None = None,
) -> OrderList:
    """One page of the list. With `archived_after` it has archived orders only. `search` is the filter's, if its
    indexes have been asked already."""
    search = search or Search(order_filter, now)
    stored: list[OrderRow] = []
    if archived_after is None:
        matches = stored_search.page(
            order_filter, after=after, limit=limit, retry_limits=retry_limits, now=now, search=search
        )
        if matches.after is not None:
            return OrderList(orders=matches.orders, after=matches.after)
        stored = matches.orders
    behind = archived_after or NEWEST
    room = limit - len(stored)
    chunk = _newest(search, behind, room + 1)
    shown = chunk.rows[:room]
    orders = [*stored, *_as_rows(shown, retry_limits, now)]
    if len(chunk.rows) <= room:
        return OrderList(orders=orders, archived_after=chunk.behind)
    return OrderList(orders=orders, archived_after=_position(shown[-1]) if shown else behind)


def count(order_filter: OrderFilter, *, most: int, now: datetime, search: Search | None = None) -> int:
    """How many archived orders match, counted up to `most` + 1. A query for each state, and two for words."""
    matches = 0
    for rows in _matching(search or Search(order_filter, now)):
        matches += rows.order_by()[: most + 1 - matches].count()
        if matches > most:
            break
    return matches


def count_ids(order_ids: Sequence[UUID]) -> int:
    """How many of these orders are archived. One query."""
    return ArchivedOrder.objects.filter(pk__in=order_ids).count()


def rows(
    order_filter: OrderFilter, *, most: int, retry_limits: RetryLimits, now: datetime
) -> Iterator[OrderRow]:
    """All orders that match as rows of a list, up to `most`, the archived ones last; read chunk by chunk."""
    read = 0
    for row in stored_search.rows(order_filter, most=most, retry_limits=retry_limits, now=now):
        read += 1
        yield row
    yield from islice(_archived_rows(order_filter, retry_limits, now), most - read)


def _archived_rows(order_filter: OrderFilter, retry_limits: RetryLimits, now: datetime) -> Iterator[OrderRow]:
    search = Search(order_filter, now)
    behind: Position | None = NEWEST
    while behind is not None:
        chunk = _newest(search, behind, CHUNK)
        yield from _as_rows(chunk.rows, retry_limits, now)
        behind = chunk.behind


def _as_rows(rows: Sequence[ArchivedOrder], retry_limits: RetryLimits, now: datetime) -> list[OrderRow]:
    return [
        replace(
            archived_order_row(archived_orders.opened(row), retry_limits=retry_limits, now=now),
            is_archived=True,
        )
        for row in rows
    ]


def _position(row: ArchivedOrder) -> Position:
    assert row.placed_at is not None  # retention and migration 0033 see to it
    return Position(row.placed_at, row.order_id)


@dataclass(frozen=True)
class _Chunk:
    """Some archived orders that match. Others may be `behind`; None if there are none."""

    rows: list[ArchivedOrder]
    behind: Position | None


def _newest(search: Search, behind: Position, size: int) -> _Chunk:
    """The newest that match, read state by state: the index on states has each state's orders by age."""
    newest: list[ArchivedOrder] = []
    matching = _matching(search)
    is_looked_at = bool(matching) and _is_looked_at(search.order_filter)
    floor = _floor(search.order_filter, behind, search.now) if is_looked_at else None
    for rows in matching:
        older = rows.filter(older_than(behind, time="placed_at", order_id="order_id"))
        if floor is not None:
            older = older.filter(placed_at__gte=floor.at)
        newest += older.order_by("-placed_at", "-order_id")[:size]
    shown = sorted(newest, key=_position, reverse=True)[:size]
    return _Chunk(shown, _position(shown[-1]) if len(shown) == size else floor)


def _is_looked_at(order_filter: OrderFilter) -> bool:
    """Whether a condition asks for something that is so frequent that an index does not help."""
    return bool(order_filter.conditions(*READERS))


def _floor(order_filter: OrderFilter, behind: Position, now: datetime) -> Position | None:
    """Where a page ends that finds little, None if at the end of all. A query for each state."""
    times: list[datetime] = []
    for state in FINISHED_STATES:
        of_state = _of_time(order_filter, now).filter(state=state, placed_at__lte=behind.at)
        by_age = of_state.order_by("-placed_at").values_list("placed_at", flat=True)
        times += [at for at in by_age[MOST_LOOKED_AT : MOST_LOOKED_AT + 1] if at]
    return Position(max(times), UUID(int=0)) if times else None


def _of_time(order_filter: OrderFilter, now: datetime) -> QuerySet[ArchivedOrder]:
    span = conditions.between(conditions.placed_between(order_filter, now), "placed_at")
    not_then = conditions.not_placed(order_filter, now, "placed_at")
    return ArchivedOrder.objects.exclude(placed_at=None).filter(span & not_then)


def _matching(search: Search) -> list[QuerySet[ArchivedOrder]]:
    """The archived orders that match, for each state that they can be in. Many filters match none: all have ended."""
    order_filter = search.order_filter
    if order_filter.is_impossible or any(not _can_match(each) for each in order_filter.parsed.conditions):
        return []
    possible = conditions.states_of(order_filter)
    states = [state for state in FINISHED_STATES if not possible or state in possible]
    if not states:
        return []
    matches = archived(_of_time(order_filter, search.now), search.sought)
    return [matches.filter(state=state) for state in states]


def _can_match(condition: Condition) -> bool:
    """Whether an archived order can match: it is at no step, and has no open alert; of the rest nothing is known."""
    if condition.name in (*conditions.OF_STEPS, *conditions.OF_ALERTS):
        return condition.negated
    if condition.name == "paused":
        return (NO in condition.values) != condition.negated
    if condition.name == "archived":
        return (YES in condition.values) != condition.negated
    if condition.name == "standing":
        ended = [kind for kind in conditions.standings_of(condition) if kind in conditions.STATE_OF]
        return bool(ended) or condition.negated
    return condition.name not in ("workflow", "priority", "failures", "attempts", "promise")
