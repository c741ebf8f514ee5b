"""The products for sale, as clients of the API list them: each poster, with all of its offers."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from orders.fields.money import Money
from orders.selectors.paging import Page, page_of
from orders.shop.catalogue import offers_in, posters_of
from orders.shop.models import Product
from orders.shop.offers import Offer, offer_of, price_of


@dataclass(frozen=True, kw_only=True)
class ProductView:
    """A product that is for sale, as the API shows it, with all the offers of its poster, the cheapest first."""

    sku: str
    title: str
    artist: str
    description: str
    price: Money
    offers: Sequence[Offer]


def product(sku: str) -> ProductView | None:
    """A product that is for sale; None if there is none with this SKU. Two statements."""
    rows = Product.objects.filter(sku=sku, is_listed=True) if "\x00" not in sku else Product.objects.none()
    return next(iter(_products(rows)), None)


def products(*, after: str, limit: int, size: str = "") -> Page[ProductView]:
    """The posters for sale with SKUs above `after`, by SKU; only those sold in this `size`, unless it is empty. Their
    other sizes and editions are not listed, unless the poster itself is not for sale: they are among its offers. Two
    statements, whatever the `limit`."""
    is_shown = Q(variant_of=None) | Q(variant_of__is_listed=False)
    rows = Product.objects.filter(is_shown, is_listed=True, sku__gt=after)
    if size:
        sold = posters_of(offers_in(size))
        rows = rows.filter(Q(sku__in=sold) | Q(size=size))
    return page_of(_products(rows.order_by("sku")[: limit + 1]), limit)


def _products(rows: QuerySet[Product]) -> list[ProductView]:
    """These products, each with the offers of its poster."""
    products = list(rows)
    posters = {row.variant_of_id or row.sku for row in products}
    offers: dict[str, list[Offer]] = {sku: [] for sku in posters}
    of_posters = Product.objects.filter(Q(sku__in=posters) | Q(variant_of__in=posters)) if posters else ()
    for row in sorted(of_posters, key=lambda row: (row.price, row.sku)):
        offers[row.variant_of_id or row.sku].append(offer_of(row))
    return [
        ProductView(
            sku=row.sku,
            title=row.title,
            artist=row.artist,
            description=row.description,
            price=price_of(row),
            offers=offers[row.variant_of_id or row.sku],
        )
        for row in products
    ]
