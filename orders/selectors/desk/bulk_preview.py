"""What a bulk action would do, before it is started."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from orders.models import OrderProcess
from orders.selectors.desk import bulk_selection
from orders.selectors.desk.bulk_selection import Selection
from orders.selectors.desk.money_back import NOTHING, MoneyBack
from orders.selectors.desk.order_rows import OrderRow, order_progress, order_rows
from orders.selectors.desk.standing import RetryLimits

SHOWN = 10
"""How many of the orders are shown."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """How many orders a selection takes, the first of them in its order, and how many archived ones it leaves out.

    Both counts stop one above `bulk_selection.MOST`. `back` is what cancelling them would give back, and
    `worth` what they are worth.
    """

    selection: Selection
    count: int
    archived: int
    back: MoneyBack
    worth: MoneyBack
    first: Sequence[OrderRow]

    @property
    def is_too_many(self) -> bool:
        """Whether these are more orders than one action takes."""
        return self.count > bulk_selection.MOST


def preview(selection: Selection, *, retry_limits: RetryLimits, now: datetime) -> Preview:
    """What an action on these orders would be about."""
    ids = bulk_selection.orders_of(selection, retry_limits=retry_limits, now=now, most=SHOWN)[:SHOWN]
    processes = OrderProcess.objects.in_bulk(ids)
    progress = order_progress(
        [processes[order_id] for order_id in ids if order_id in processes], retry_limits=retry_limits, now=now
    )
    count = bulk_selection.count(selection, retry_limits=retry_limits, now=now)
    return Preview(
        selection=selection,
        count=count,
        archived=bulk_selection.count_archived(selection, now=now),
        back=bulk_selection.selection_money_back(selection, retry_limits=retry_limits, now=now)
        if count
        else NOTHING,
        worth=bulk_selection.selection_worth(selection, retry_limits=retry_limits, now=now)
        if count
        else NOTHING,
        first=order_rows(progress, now=now),
    )
