"""A list of orders as the console asks for it."""

from collections.abc import Callable

from orders.engine.runtime.sql import database_now
from orders.selectors.desk import archive_search, search
from orders.selectors.desk.filters import OrderFilter
from orders.selectors.desk.order_search import Search
from orders.selectors.desk.standing import RetryLimits


def listing(query: str) -> Callable[[], object]:
    """The first page of a query's list, with its counts, as the console asks for them."""

    def act() -> object:
        order_filter, now = OrderFilter(q=query), database_now()
        order_search, limits = Search(order_filter, now), RetryLimits()
        return (
            archive_search.page(
                order_filter,
                after=None,
                archived_after=None,
                limit=50,
                retry_limits=limits,
                now=now,
                search=order_search,
            ),
            search.quick_count(order_filter, now=now, search=order_search),
            archive_search.count(order_filter, most=10_000, now=now, search=order_search),
        )

    return act
