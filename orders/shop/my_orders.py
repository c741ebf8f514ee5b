"""A customer's orders with the pictures of what was ordered."""

from collections.abc import Sequence
from dataclasses import dataclass

from orders.selectors.customer_order import CustomerOrder
from orders.selectors.order_lists import whole_orders
from orders.selectors.paging import Position
from orders.shop.catalogue import LineProduct, PosterCard, PosterFilter, line_products, shelf

PICTURES = 4
"""How many pictures of an order's products a list shows."""


@dataclass(frozen=True, kw_only=True)
class MyOrder:
    """An order in a list. `more` counts its products without a picture there."""

    order: CustomerOrder
    pictures: Sequence[LineProduct]
    more: int
    pieces: int


@dataclass(frozen=True, kw_only=True)
class MyOrders:
    """Some of a customer's orders, newest first. `older` is where the next page begins, None at the end."""

    orders: Sequence[MyOrder]
    older: Position | None


def my_orders(*, user_id: int, limit: int, before: Position | None = None) -> MyOrders:
    """A customer's orders with their pictures. Statements as for one, whatever `limit`."""
    page = whole_orders(customer_id=user_id, limit=limit, before=before)
    products = line_products({line.sku for order in page.items for line in order.lines})
    shown = [
        _my_order(order, [products[line.sku] for line in order.lines if line.sku in products])
        for order in page.items
    ]
    return MyOrders(orders=shown, older=page.next)


def _my_order(order: CustomerOrder, products: Sequence[LineProduct]) -> MyOrder:
    posters = list({product.poster: product for product in products}.values())
    return MyOrder(
        order=order,
        pictures=posters[:PICTURES],
        more=max(0, len(posters) - PICTURES),
        pieces=sum(line.quantity for line in order.lines),
    )


def picture(number: int) -> PosterCard | None:
    """One of the featured posters, to show beside a form; None if the catalogue is empty."""
    posters = shelf(poster_filter=PosterFilter(), page=1, per_page=number, families=()).posters
    return posters[-1] if posters else None
