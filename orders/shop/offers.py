"""What goes into a cart: a poster in one size and edition."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from orders.fields.money import Money
from orders.shop.availability import FRESH, Availability, availability, known_stock
from orders.shop.models import Edition, Product

NO_BREAK_SPACE = "\u00a0"
MOST_OF_ONE = 99
"""The most of one product that a customer can order, however many are left."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A poster in one size and edition, which is what goes into a cart. `size` is (width, height) in cm, if known;
    `is_orderable` is whether it is for sale. `stock` is how many the warehouse has, if known; `edition_size` is how
    many prints its numbered edition has, if it is one."""

    sku: str
    title: str
    size: tuple[int, int] | None
    edition: str
    edition_name: str
    price: Money
    is_orderable: bool
    stock: int | None = None
    edition_size: int | None = None

    @property
    def availability(self) -> Availability:
        """Whether it can be had."""
        return availability(is_listed=self.is_orderable, stock=self.stock)

    @property
    def is_sold_out(self) -> bool:
        """Whether none are left, as far as is known."""
        return self.stock == 0

    @property
    def most(self) -> int:
        """The most of it that a customer can order: as many as are left, as far as is known; none if it is not for
        sale."""
        if not self.is_orderable:
            return 0
        return MOST_OF_ONE if self.stock is None else min(MOST_OF_ONE, self.stock)

    @property
    def size_name(self) -> str:
        """Its size in the active language: "30 × 40 cm"; empty if it is not known."""
        return size_name(self.size)

    @property
    def format_name(self) -> str:
        """Its size and edition: "30 × 40 cm · Open edition"."""
        return " · ".join(part for part in (self.size_name, self.edition_name) if part)


def offer_of(row: Product) -> Offer:
    """A product as it is sold."""
    return Offer(
        sku=row.sku,
        title=row.title,
        size=read_size(row.size),
        edition=row.edition,
        edition_name=str(Edition(row.edition).label) if row.edition in Edition else "",
        price=price_of(row),
        is_orderable=row.is_listed,
        stock=known_stock(row.stock, row.stock_read_at, now=timezone.now()),
        edition_size=row.edition_size,
    )


def sold_out() -> Q:
    """Which products are sold out, as far as is known: what `Offer.is_sold_out` says, in SQL."""
    return Q(stock=0, stock_read_at__gt=timezone.now() - FRESH)


def price_of(row: Product) -> Money:
    """What a product costs."""
    return Money(amount=row.price, currency=row.currency)


def read_size(text: str) -> tuple[int, int] | None:
    """A size written as "30x40"."""
    width, _x, height = text.partition("x")
    sides = [int(side) for side in (width, height) if side.isascii() and side.isdigit()]
    return (sides[0], sides[1]) if len(sides) == 2 else None


def size_name(size: tuple[int, int] | None) -> str:
    """A size in the active language: "30 × 40 cm", which no line breaks; empty if it is not known."""
    if size is None:
        return ""
    width, height = size
    name = _("%(width)s × %(height)s cm") % {"width": width, "height": height}
    return name.replace(" ", NO_BREAK_SPACE)
