"""The feed of changes: what happened to a customer's orders, in an order that a reader can trust.

A reader who goes on from where the last page ended misses nothing and sees nothing twice, whatever other transactions
are open meanwhile (`orders.engine.state_store.feed`). The changes of each order come in the order in which they
happened.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import orjson
from django.conf import settings

from orders.engine.runtime.sql import database_now, fetch, fetch_frequent
from orders.engine.state_store.feed import Epoch, Mark, advance, epoch, look
from orders.models import Event
from orders.selectors.orders import EventView, event_view
from orders.selectors.paging import page_of

__all__ = [
    "EMPTY",
    "FILLED",
    "LAST_POSITION",
    "Change",
    "ChangePage",
    "Epoch",
    "FeedPoint",
    "FeedReader",
    "Mark",
    "changed",
    "changes",
    "epoch",
    "kept_for",
    "latest",
    "look",
    "oldest_kept",
    "point_at",
]

Row: TypeAlias = tuple[Any, ...]

LONGEST_KEPT = timedelta(days=30)
"""How long a change stays in the feed, unless its order is archived before."""
EMPTY, FILLED = "empty", "filled"
"""What distinguishes a feed without changes after a point from one with some."""
LAST_POSITION = 2**63 - 1
LAPSE = timedelta(minutes=1)
"""How much later than a later change one may have been written, and more than that: a transaction lasts seconds."""


class FeedPoint(NamedTuple):
    """Where a reader is in a feed: after the change with this position and this ID."""

    position: int
    event_id: int


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that happened to an order, and where that is in the feed."""

    point: FeedPoint
    order_id: UUID
    event: EventView


@dataclass(frozen=True, kw_only=True)
class ChangePage:
    """The changes after a point. `until` is where a reader of this page is; more follow at once if `has_more`."""

    changes: Sequence[Change]
    until: FeedPoint
    has_more: bool


class FeedReader(NamedTuple):
    """A customer, and where a program of hers is in her feed."""

    customer_id: int
    position: int
    event_id: int


def kept_for() -> timedelta:
    """How long a change stays in the feed."""
    return min(LONGEST_KEPT, timedelta(days=settings.CONFIG.keep_finished))


def changes(*, customer_id: int, after: FeedPoint, limit: int, mark: Mark) -> ChangePage:
    """The settled changes of a customer's orders after a point, at most `limit`. The reader has looked at the feed just
    before."""
    mark, rows = _settled_rows(customer_id, after, limit + 1, mark)
    page = page_of([_change(*row) for row in rows], limit)
    # All that is settled has been read, so a reader without news moves on, too. Nobody goes back.
    until = page.items[-1].point if page.has_more else max(after, latest(mark))
    return ChangePage(changes=page.items, until=until, has_more=page.has_more)


def _settled_rows(customer_id: int, after: FeedPoint, limit: int, mark: Mark) -> tuple[Mark, list[Row]]:
    """How far the feed is settled, and the changes there. It looks again if there are later ones."""
    rows = _rows(customer_id, after, limit)
    if rows and rows[-1][0] >= mark.position:
        advance()
        mark, rows = look(), _rows(customer_id, after, limit)
    return mark, [row for row in rows if row[0] < mark.position]


def _rows(customer_id: int, after: FeedPoint, limit: int) -> list[Row]:
    return fetch_frequent(
        """
        SELECT position, id, order_id, at, kind, step, attempt, detail
          FROM orders_event
         WHERE customer_id = %s::int AND customer_id > 0 AND (position, id) > (%s::bigint, %s::bigint)
         ORDER BY position, id
         LIMIT %s::bigint
        """,
        [customer_id, *after, limit],
    )


def latest(mark: Mark) -> FeedPoint:
    """Where a reader begins who wants only what happens after such a look at the feed."""
    return FeedPoint(mark.position, 0)


def oldest_kept(customer_id: int) -> FeedPoint:
    """Where a reader begins who wants all that is kept."""
    return point_at(customer_id, database_now() - kept_for())


def point_at(customer_id: int, time: datetime) -> FeedPoint:
    """A point of a customer's feed before all that happened since a time, and soon before it.

    Changes are written almost in the order of their positions, so a few of them tell where the others are.
    """
    low, high = 0, LAST_POSITION
    while low < high:
        middle = (low + high) // 2
        if _is_before(customer_id, middle, time - LAPSE):
            low = middle + 1
        else:
            high = middle
    return FeedPoint(low, 0)


def _is_before(customer_id: int, position: int, time: datetime) -> bool:
    """Whether there is a change at or after a position, and the first of them happened before a time."""
    rows = fetch(
        """
        SELECT at < %s
          FROM orders_event
         WHERE customer_id = %s AND customer_id > 0 AND position >= %s
         ORDER BY position, id
         LIMIT 1
        """,
        [time, customer_id, position],
    )
    return bool(rows and rows[0][0])


def changed(readers: Iterable[FeedReader]) -> tuple[set[FeedReader], bool]:
    """Those readers for whom there are settled changes, and whether no other has some that will be settled soon. Two
    or three statements, however many readers."""
    rows = fetch(
        """
        SELECT reader.customer_id, reader.position, reader.event_id, next.position < %s
          FROM unnest(%s::int[], %s::bigint[], %s::bigint[]) AS reader (customer_id, position, event_id),
               LATERAL (
               SELECT position
                 FROM orders_event AS event
                WHERE event.customer_id = reader.customer_id AND event.customer_id > 0
                  AND (event.position, event.id) > (reader.position, reader.event_id)
                ORDER BY event.position, event.id
                LIMIT 1
               ) AS next
        """,
        [look().position, *map(list, zip(*readers, strict=True))],
    )
    settled = {FeedReader(*row[:3]) for row in rows if row[3]}
    if len(settled) < len(rows):
        advance()
    return settled, len(settled) == len(rows)


def _change(position: int, event_id: int, order_id: UUID, *columns: Any) -> Change:
    at, kind, step, attempt, detail = columns
    event = Event(id=event_id, at=at, kind=kind, step=step, attempt=attempt, detail=orjson.loads(detail))
    return Change(point=FeedPoint(position, event_id), order_id=order_id, event=event_view(event))
