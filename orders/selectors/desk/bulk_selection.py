"""Selects the orders of a bulk action: those of an alert group, those that match a filter, or chosen ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from orders.models import AlertGroup, OrderProcess
from orders.selectors.desk import archive_search, search
from orders.selectors.desk.alerts import count_orders_of_group, orders_of_group
from orders.selectors.desk.bulk_again import failed_again
from orders.selectors.desk.filters import NAMES, OrderFilter, describe
from orders.selectors.desk.money_back import MOST_SUMMED, MoneyBack, money_back, worth_of
from orders.selectors.desk.standing import RetryLimits
from orders.vocabulary import BulkKind, ProcessState

MOST = 10_000
"""The most orders that one selection takes."""
MOST_CHOSEN = 500
"""The most orders that can be chosen one by one."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which orders to act on: those of `group` with alerts up to id `upto`, these `ids`, those that failed again after
    the bulk action `failed_of`, or all that match the filter.

    A resubmission takes only orders in Error, since no others can be resubmitted.
    """

    kind: str
    group: AlertGroup | None = None
    upto: int | None = None
    ids: Sequence[UUID] = ()
    order_filter: OrderFilter | None = None
    failed_of: int | None = None

    @property
    def description(self) -> str:
        """The selection in words."""
        if self.group is not None:
            about = f"{self.group.agent} {self.group.code}".strip()
            return f"open alerts “{about}: {self.group.pattern}”"[:300]
        if self.failed_of is not None:
            return f"orders that failed again after bulk action {self.failed_of}"
        if self.order_filter is not None:
            return describe(self.order_filter)[:300]
        return f"{len(self.ids)} chosen order{'' if len(self.ids) == 1 else 's'}"

    @property
    def query(self) -> dict[str, Any]:
        """The selection as it is stored with the action."""
        if self.group is not None:
            return {"group": self.group.pk, "upto": self.upto}
        if self.failed_of is not None:
            return {"failed_of": self.failed_of}
        if self.order_filter is not None:
            return {
                name: getattr(self.order_filter, name) for name in NAMES if getattr(self.order_filter, name)
            }
        return {}

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The selection as the fields of a form that reproduces it."""
        if self.ids:
            return [("orders", str(order_id)) for order_id in self.ids]
        return [(name, str(value)) for name, value in self.query.items() if value is not None]

    def query_string(self, kind: str) -> str:
        """Returns the query string that selects the same orders for another kind of act."""
        return urlencode([*self.fields, ("do", kind)])

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the filter, as sentences."""
        return self.order_filter.problems if self.order_filter else ()


def count(selection: Selection, *, retry_limits: RetryLimits, now: datetime) -> int:
    """Returns how many orders a selection takes now, counting up to `MOST` + 1."""
    if selection.group is not None:
        return count_orders_of_group(selection.group.pk, upto=selection.upto, most=MOST + 1)
    if (order_filter := _effective_filter(selection)) is not None:
        # Counts further than the list of orders does, because these orders are acted on.
        number = search.count(order_filter, most=MOST, now=now)
        if number is not None:
            return number
    return len(orders_of(selection, retry_limits=retry_limits, now=now))


def count_archived(selection: Selection, *, now: datetime) -> int:
    """Returns how many archived orders are selected too, counting up to `MOST` + 1. No action takes them."""
    if selection.order_filter is not None:
        return archive_search.count(selection.order_filter, most=MOST, now=now)
    return archive_search.count_ids(selection.ids) if selection.ids else 0


def orders_of(
    selection: Selection, *, retry_limits: RetryLimits, now: datetime, most: int = MOST + 1
) -> list[UUID]:
    """Returns the orders that a selection takes now, at most `most`; those that were chosen one by one, all."""
    if selection.group is not None:
        return orders_of_group(selection.group.pk, upto=selection.upto, most=most)
    if selection.failed_of is not None:
        return failed_again(selection.failed_of, most=most)
    if (order_filter := _effective_filter(selection)) is not None:
        return list(search.matching(order_filter, most=most, retry_limits=retry_limits, now=now))
    matches = OrderProcess.objects.filter(pk__in=selection.ids)
    if selection.kind == BulkKind.RESUBMIT:
        matches = matches.filter(process_state=ProcessState.ERROR)
    matching_ids = set(matches.values_list("pk", flat=True))
    return [order_id for order_id in selection.ids if order_id in matching_ids]


def selection_money_back(selection: Selection, *, retry_limits: RetryLimits, now: datetime) -> MoneyBack:
    """The money that cancelling the orders gives back, added up over the first `MOST_SUMMED` of them."""
    return money_back(orders_of(selection, retry_limits=retry_limits, now=now, most=MOST_SUMMED + 1))


def selection_worth(selection: Selection, *, retry_limits: RetryLimits, now: datetime) -> MoneyBack:
    """What the orders are worth, added up over the first `MOST_SUMMED` of them."""
    return worth_of(orders_of(selection, retry_limits=retry_limits, now=now, most=MOST_SUMMED + 1))


def _effective_filter(selection: Selection) -> OrderFilter | None:
    order_filter = selection.order_filter
    if order_filter is None or selection.kind != BulkKind.RESUBMIT:
        return order_filter
    if order_filter.state not in ("", ProcessState.ERROR):
        return replace(order_filter, problems=("none of these orders is in Error",))  # which matches nothing
    return replace(order_filter, state=ProcessState.ERROR.value)
