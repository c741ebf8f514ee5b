"""Orders as a query of the desk finds them."""

from typing import Any
from uuid import UUID

from orders.console.forms.filters import OrderFilterForm
from orders.models import (
    Order,
    OrderLine,
    OrderProcess,
)
from orders.selectors.desk import archive_search, search
from orders.selectors.desk.supervisor import retry_limits
from tests.support.factories import ahead


def found(query: str, *, limit: int = 50) -> set[UUID]:
    """The orders on the first page of a query's list, which must be what its count and its export say."""
    order_filter = OrderFilterForm({"q": query}).filter
    at, limits = ahead(0), retry_limits()
    page = archive_search.page(
        order_filter, after=None, archived_after=None, limit=limit, retry_limits=limits, now=at
    )
    ids = {row.order_id for row in page.orders}
    exported = {
        row.order_id for row in archive_search.rows(order_filter, most=limit, retry_limits=limits, now=at)
    }
    assert exported == ids
    assert search.count(order_filter, now=at) in (
        None,
        len([row for row in page.orders if not row.is_archived]),
    )
    return ids


def described(order: OrderProcess, *skus: str, **values: Any) -> None:
    """Gives the order these values, and lines of these SKUs."""
    Order.objects.update_or_create(pk=order.pk, defaults={"placed_at": order.created_at, **values})
    for sku in skus:
        OrderLine.objects.create(order_id=order.pk, sku=sku, title=sku, quantity=1, unit_price=1)
