"""Pages of results."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import Q

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_POSITION = re.compile(r"(-?[0-9]{1,18})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """One page of results. `has_more` says whether others follow the last one."""

    items: Sequence[T]
    has_more: bool


def page_of(rows: Sequence[T], limit: int) -> Page[T]:
    """The first `limit` of the rows as a page. Read one row more than that to learn whether more follow."""
    return Page(items=rows[:limit], has_more=len(rows) > limit)


class Position(NamedTuple):
    """Where an order is in a list by age: by its time, and among orders of the same time by its id.

    As text, which `read_position` reads, it is the cursor of a page.
    """

    at: datetime
    order_id: UUID

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // _MICROSECOND}-{self.order_id.hex}"


def read_position(text: str) -> Position | None:
    """The position that a cursor stands for; None if it is no cursor of a list of orders. A time that is further away
    than a `datetime` reaches is the first or the last of all."""
    match = _POSITION.fullmatch(text)
    if match is None:
        return None
    microseconds = min(max(int(match[1]), _FIRST), _LAST)
    return Position(_EPOCH + microseconds * _MICROSECOND, UUID(hex=match[2]))


def older_than(position: Position, *, time: str, order_id: str) -> Q:
    """The orders behind a position in a list with the newest first; `time` and `order_id` are its fields.

    The first condition alone is what an index of the time can use.
    """
    at = {f"{time}__lte": position.at}
    return Q(**at) & (Q(**{f"{time}__lt": position.at}) | Q(**{f"{order_id}__lt": position.order_id}))
