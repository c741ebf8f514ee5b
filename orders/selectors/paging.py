"""Pages of results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """One page of results. `has_more` says whether others follow the last one."""

    items: Sequence[T]
    has_more: bool


def page_of(rows: Sequence[T], limit: int) -> Page[T]:
    """The first `limit` of the rows as a page. Read one row more than that to learn whether more follow."""
    return Page(items=rows[:limit], has_more=len(rows) > limit)
