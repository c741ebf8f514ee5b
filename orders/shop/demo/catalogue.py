"""The demonstration catalogue: every poster in five sizes and editions."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from orders.shop.demo.editions import edition_size
from orders.shop.demo.posters import POSTERS, Poster
from orders.shop.models import Product

CURRENCY = "EUR"
OPENED = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""When the first poster was added to the catalogue; the others followed one a day."""
UPDATED_FIELDS = (
    *("title", "artist", "price", "currency", "size", "edition"),
    *("description", "design", "variant_of", "rank", "edition_size"),
)
"""The fields that loading again brings up to date. Whether a product is listed is left to the shop."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A size (centimetres) and an edition in which every poster is sold, at this percentage of its price."""

    size: str
    edition: Literal["open", "signed"]
    per_cent: int

    def sku(self, poster: str) -> str:
        """The SKU of a poster in this offer; the poster's own when it is the one that the catalogue shows."""
        if self == SHOWN:
            return poster
        return f"{poster}-{self.size}" + ("-signed" if self.edition == "signed" else "")

    def price(self, price: int) -> int:
        """The price in cents, rounded to whole units."""
        return round(price * self.per_cent / 10_000) * 100

    def title(self, poster: str) -> str:
        """The title of a poster in this offer."""
        if self == SHOWN:
            return poster
        return f"{poster}, {self.size.replace('x', ' × ')} cm" + (
            ", signed" if self.edition == "signed" else ""
        )


SHOWN = Offer(size="30x40", edition="open", per_cent=100)
OFFERS = (
    SHOWN,
    Offer(size="45x60", edition="open", per_cent=160),
    Offer(size="60x80", edition="open", per_cent=230),
    Offer(size="45x60", edition="signed", per_cent=290),
    Offer(size="60x80", edition="signed", per_cent=390),
)


def load_catalogue() -> None:
    """Inserts the posters in all sizes and editions, or brings them up to date."""
    posters, variants = [], []
    ranks = _ranks()
    for number, poster in enumerate(POSTERS):
        product = _product(poster, SHOWN)
        product.description, product.design = poster.description, poster.design()
        product.added_at = OPENED + timedelta(days=number)
        product.rank = ranks[poster.sku]
        posters.append(product)
        variants += [_product(poster, offer) for offer in OFFERS if offer != SHOWN]
    for products in (posters, variants):
        Product.objects.bulk_create(
            products, update_conflicts=True, unique_fields=["sku"], update_fields=UPDATED_FIELDS
        )


def _ranks() -> dict[str, int]:
    """The position of each poster in the catalogue, in which the families alternate."""
    families = list(dict.fromkeys(poster.family for poster in POSTERS))
    seen: Counter[str] = Counter()
    ranks = {}
    for poster in POSTERS:
        ranks[poster.sku] = seen[poster.family] * len(families) + families.index(poster.family)
        seen[poster.family] += 1
    return ranks


def _product(poster: Poster, offer: Offer) -> Product:
    return Product(
        sku=offer.sku(poster.sku),
        title=offer.title(poster.title),
        artist=poster.artist,
        price=offer.price(poster.price),
        currency=CURRENCY,
        variant_of_id=None if offer == SHOWN else poster.sku,
        size=offer.size,
        edition=offer.edition,
        edition_size=edition_size(poster.sku, offer.size) if offer.edition == "signed" else None,
    )
