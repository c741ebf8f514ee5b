"""What the account's pages read. Every question names the customer; what is another's is not there."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.models import Address
from orders.selectors import catalogue as shop_selectors
from orders.selectors import orders as selectors
from orders.selectors.catalogue import PosterCard, SoldView, Wanted
from orders.selectors.order_view import OrderView

PICTURES = 4
"""How many of an order's products a list shows."""


@dataclass(frozen=True, kw_only=True)
class AddressView:
    """An address that a customer keeps."""

    id: UUID
    name: str
    street: str
    city: str
    postal_code: str
    country: str
    is_default: bool


@dataclass(frozen=True, kw_only=True)
class MyOrder:
    """An order as a list shows it. `more`: how many of its products have no picture there."""

    order: OrderView
    pictures: Sequence[SoldView]
    more: int
    pieces: int


@dataclass(frozen=True, kw_only=True)
class MyOrders:
    """Some of a customer's orders, newest first. `older` is where those before them begin."""

    orders: Sequence[MyOrder]
    older: UUID | None


def addresses(user_id: int) -> Sequence[AddressView]:
    """A customer's addresses, the default first."""
    return [_view(row) for row in Address.objects.filter(user_id=user_id).order_by("-is_default", "-id")]


def address(*, user_id: int, address_id: UUID) -> AddressView | None:
    """One address of this customer's; None if she has none of this id."""
    row = Address.objects.filter(pk=address_id, user_id=user_id).first()
    return _view(row) if row else None


def _view(row: Address) -> AddressView:
    return AddressView(
        id=row.pk,
        name=row.name,
        street=row.street,
        city=row.city,
        postal_code=row.postal_code,
        country=row.country,
        is_default=row.is_default,
    )


def my_orders(*, user_id: int, limit: int, before: UUID | None = None) -> MyOrders:
    """A customer's orders with their pictures. Eight statements, whatever `limit`."""
    page = selectors.orders(customer_id=user_id, limit=limit, before=before)
    sold = shop_selectors.sold({line.sku for order in page.items for line in order.lines})
    found = [
        _my_order(order, [sold[line.sku] for line in order.lines if line.sku in sold]) for order in page.items
    ]
    return MyOrders(orders=found, older=page.items[-1].id if page.has_more else None)


def _my_order(order: OrderView, products: Sequence[SoldView]) -> MyOrder:
    posters = list({product.poster: product for product in products}.values())
    return MyOrder(
        order=order,
        pictures=posters[:PICTURES],
        more=max(0, len(posters) - PICTURES),
        pieces=sum(line.quantity for line in order.lines),
    )


def picture(number: int) -> PosterCard | None:
    """One of the featured posters, to look at beside a form; None in an empty catalogue."""
    posters = shop_selectors.shelf(wanted=Wanted(), page=1, per_page=number, families=()).posters
    return posters[-1] if posters else None
