"""Lists of a customer's orders, newest first by the time they were placed, which an order keeps wherever it moves.

A list reads what it returns in one statement. A list with filters first bounds how many orders it looks at: it looks at
those down to a floor, and if these are not enough for a page, the page ends there, with fewer orders or none, and the
next one begins there. So a page takes a bounded time however rare the orders are that are searched for, and none of
them is left out.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar
from uuid import UUID

from orders.business.profiles import Submitted, read_submitted
from orders.engine.runtime.sql import fetch
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.listed_orders import PARTS, ListedRow, OrderSummary, customer_order, read_page, summary
from orders.selectors.orders import client_of
from orders.selectors.paging import Position
from orders.selectors.selections import ASIDE, PLACES, QUEUED, Place, Selection

T = TypeVar("T")

LOOKED_AT = 10_000
"""Orders of each place that a page with filters looks at, at most."""
SUBMISSIONS_LOOKED_AT = 500
"""Submissions that are read for a page, where only their kind can say whether they are selected."""

BY_IDS = """
    SELECT DISTINCT ON (order_id) place, placed_at, order_id
      FROM ({places}) AS places
     ORDER BY order_id, rank
"""


@dataclass(frozen=True, kw_only=True)
class OrderPage(Generic[T]):
    """One page of a list of orders. `next` is where the next one begins; None if this is the last."""

    items: Sequence[T]
    next: Position | None


def order_list(selection: Selection, parts: Collection[str] = ()) -> OrderPage[OrderSummary]:
    """The orders of a selection, with these of the `PARTS`. One statement, or at most three with filters."""
    rows, following = _read(selection, parts)
    return OrderPage(items=[summary(row, parts) for row in rows], next=following)


def whole_orders(*, customer_id: int, limit: int, before: Position | None = None) -> OrderPage[CustomerOrder]:
    """A customer's orders before a position, with all that she sees of them. One statement."""
    rows, following = _read(Selection(customer_id=customer_id, limit=limit, before=before), PARTS)
    return OrderPage(items=[customer_order(row) for row in rows], next=following)


def order_summaries(order_ids: Iterable[UUID], customer_id: int) -> dict[UUID, OrderSummary]:
    """Summaries of those of the orders that belong to this customer, wherever they are. One statement."""
    values = {
        "customer_id": customer_id,
        "client": client_of(customer_id),
        "order_ids": list(order_ids),
    }
    places = " UNION ALL ".join(
        f"""
        SELECT {rank} AS rank, '{place.name}' AS place, {place.placed_at} AS placed_at, {place.order_id} AS order_id
          FROM {place.table} AS place WHERE {place.rows} AND {place.order_id} = ANY(%(order_ids)s::uuid[])
        """
        for rank, place in enumerate(PLACES)
    )
    return {
        order_id: summary(row)
        for order_id, row in read_page(BY_IDS.format(places=places), values, is_frequent=True).items()
    }


def _read(selection: Selection, parts: Collection[str]) -> tuple[list[ListedRow], Position | None]:
    """The rows of a page, and where the next one begins."""
    limit = selection.limit
    if selection.is_sieved:
        selection = replace(selection, floor=_floor(selection))
    if selection.is_of_profiles:
        selection = replace(selection, submitted=_selected_submissions(selection))
    more = replace(selection, limit=limit + 1)
    places = more.places
    reads = " UNION ALL ".join(f"({more.ids_of(place)} LIMIT %(limit)s::bigint)" for place in places)
    if not reads:
        return [], None
    page = f"SELECT * FROM ({reads}) AS places ORDER BY placed_at DESC, order_id DESC LIMIT %(limit)s::bigint"
    rows_by_id = read_page(
        page,
        more.values,
        parts,
        places=[place.name for place in places],
        is_frequent=not selection.filters,
    )
    rows = list(rows_by_id.values())
    if len(rows) > limit:
        return rows[:limit], rows[limit - 1].position
    return rows, selection.floor


def _floor(selection: Selection) -> Position | None:
    """The last order that a page looks at; None if that is all there are. Of several places it is the one that is
    reached first."""
    reads = " UNION ALL ".join(
        f"({selection.all_of(place)} OFFSET {_looked_at(place, selection) - 1} LIMIT 1)"
        for place in selection.places
    )
    if not reads:
        return None
    rows = fetch(
        f"SELECT placed_at, order_id FROM ({reads}) AS places ORDER BY placed_at DESC, order_id DESC LIMIT 1",
        selection.values,
    )
    return Position(*rows[0]) if rows else None


def _looked_at(place: Place, selection: Selection) -> int:
    is_submission = place in (QUEUED, ASIDE)
    return SUBMISSIONS_LOOKED_AT if is_submission and selection.is_of_profiles else LOOKED_AT


def _selected_submissions(selection: Selection) -> list[UUID]:
    """The submissions down to the floor that their kind says are selected."""
    others = replace(selection, sku="", total_at_least=None, total_at_most=None, currency="")
    reads = " UNION ALL ".join(
        f"({others.ids_of(place, ', place.body, place.posted_at')})"
        for place in selection.places
        if place in (QUEUED, ASIDE)
    )
    rows = fetch(reads, selection.values) if reads else []
    return [
        order_id
        for _, _, order_id, body, posted_at in rows
        if _is_selected(selection, read_submitted(json.loads(body), placed_at=posted_at, order_id=order_id))
    ]


def _is_selected(selection: Selection, submitted: Submitted) -> bool:
    """Whether the filters of `OF_PROFILES` select a submission."""
    value, least, most = submitted.profile.value, selection.total_at_least, selection.total_at_most
    if value is None:
        is_of_value = least is None and most is None and not selection.currency
    else:
        is_of_value = (
            (least is None or value.amount >= least)
            and (most is None or value.amount <= most)
            and selection.currency in ("", value.currency)
        )
    return is_of_value and (
        not selection.sku or selection.sku in [line.sku for line in submitted.profile.lines]
    )
