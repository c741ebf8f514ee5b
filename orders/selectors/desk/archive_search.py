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

from django.db.models import Q, QuerySet

from orders.models import ArchivedOrder
from orders.selectors import archived_orders
from orders.selectors.desk import search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.named import named_by
from orders.selectors.desk.order_ids import archived_ids_like
from orders.selectors.desk.order_rows import OrderRow, archived_order_row
from orders.selectors.desk.standing import RetryLimits, StandingKind
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
) -> OrderList:
    """One page of the list. With `archived_after` it has archived orders only."""
    stored: list[OrderRow] = []
    if archived_after is None:
        matches = search.page(order_filter, after=after, limit=limit, retry_limits=retry_limits, now=now)
        if matches.after is not None:
            return OrderList(orders=matches.orders, after=matches.after)
        stored = matches.orders
    behind = archived_after or NEWEST
    room = limit - len(stored)
    rows = _newest(order_filter, behind, room + 1, now)
    shown = rows[:room]
    orders = [*stored, *_as_rows(shown, retry_limits, now)]
    if len(rows) <= room:
        return OrderList(orders=orders)
    return OrderList(orders=orders, archived_after=_position(shown[-1]) if shown else behind)


def count(order_filter: OrderFilter, *, most: int, now: datetime) -> int:
    """How many archived orders match, counted up to `most` + 1. A query for each state, and two for words."""
    matches = 0
    for rows in _matching(order_filter, now):
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
    for row in search.rows(order_filter, most=most, retry_limits=retry_limits, now=now):
        read += 1
        yield row
    yield from islice(_archived_rows(order_filter, retry_limits, now), most - read)


def _archived_rows(order_filter: OrderFilter, retry_limits: RetryLimits, now: datetime) -> Iterator[OrderRow]:
    behind = NEWEST
    while chunk := _newest(order_filter, behind, CHUNK, now):
        yield from _as_rows(chunk, retry_limits, now)
        behind = _position(chunk[-1])


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


def _newest(order_filter: OrderFilter, behind: Position, size: int, now: datetime) -> list[ArchivedOrder]:
    """The newest that match, read state by state: the index on states has each state's orders by age."""
    newest: list[ArchivedOrder] = []
    for rows in _matching(order_filter, now):
        older = rows.filter(older_than(behind, time="placed_at", order_id="order_id"))
        newest += older.order_by("-placed_at", "-order_id")[:size]
    return sorted(newest, key=_position, reverse=True)[:size]


def _matching(order_filter: OrderFilter, now: datetime) -> list[QuerySet[ArchivedOrder]]:
    """The archived orders that match, for each state that they can be in. Many filters match none: all have ended."""
    if order_filter.problems:
        return []
    states = [state for state in FINISHED_STATES if order_filter.state in ("", state)]
    if order_filter.kind:
        state, _ = search.STATE_OF.get(StandingKind(order_filter.kind), ("", ""))
        states = [each for each in states if each == state]
    under_way = (order_filter.step, order_filter.agent, order_filter.code, order_filter.waiting)
    if order_filter.priority or order_filter.workflow or any(under_way) or not states:
        return []
    matches = ArchivedOrder.objects.exclude(placed_at=None)
    if (age := order_filter.age) is not None:
        matches = matches.filter(placed_at__lt=now - age)
    if order_filter.q:
        matches = matches.filter(_searched(order_filter))
    return [matches.filter(state=state) for state in states]


def _searched(order_filter: OrderFilter) -> Q:
    if order_filter.requested:
        return Q(pk__in=order_filter.requested)
    if order_filter.email:
        return Q(pk__in=archived_orders.of_email(order_filter.email).order_by().values("pk"))
    if order_filter.digits:
        own_words = Q(subject=order_filter.q) | Q(reference=order_filter.q)
        return Q(pk__in=archived_ids_like(order_filter.digits)) | own_words
    if order_filter.total is not None:
        return Q(total=order_filter.total)
    if order_filter.attribute:
        return ~Q(attributes=[]) & Q(attributes__contains=[order_filter.attribute])
    named = named_by(order_filter.words)
    placed = Q(subject=named.subject) | Q(reference=named.subject) | Q(customer_id__in=named.customers)
    return placed | Q(skus__overlap=named.skus) if named.skus else placed
