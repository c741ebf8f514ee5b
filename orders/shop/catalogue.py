"""The catalogue, for the shop's pages and the API.

A *poster* is a product that the catalogue shows. It is sold in *offers*: the poster itself and its variants
(docs/adr/0010).
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import BooleanField, Case, Count, F, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce
from django.utils.translation import get_language

from orders.fields.money import Money
from orders.shop import search
from orders.shop.models import Product
from orders.shop.offers import Offer, offer_of, price_of, read_size, size_name, sold_out

ORDERINGS: Mapping[str, Sequence[str]] = {
    "featured": ("rank", "sku"),
    "newest": ("-added_at", "sku"),
    "price": ("lowest", "sku"),
    "-price": ("-lowest", "sku"),
    "title": ("title", "sku"),
}
"""Each ends with the SKU, so that a poster is on exactly one page. `lowest` is the price on its card."""

LARGEST_PRICE = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class PosterFilter:
    """Which posters to show: those that have an offer of this `size`, such as "30x40", and this `edition`, at one of
    these prices. Where some of a poster's offers of both can be bought, only their prices count. Prices are in minor
    units; `sort` is one of `ORDERINGS`. `names` has the words of each family's name and of each mood in the reader's
    language."""

    text: str = ""
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    family: str = ""
    size: str = ""
    edition: str = ""
    price_from: int | None = None
    price_to: int | None = None
    sort: str = "featured"

    @property
    def chooses_offers(self) -> bool:
        """Whether some offers of a poster may match, and others not."""
        return bool(self.size or self.edition) or self.price_from is not None or self.price_to is not None


@dataclass(frozen=True, kw_only=True)
class PosterCard:
    """A poster in a list. `price` is that of its cheapest offer that matches and can be bought, or of one that is sold
    out if all that match are: then it `is_sold_out`. Where the filter chooses among its offers, `offer` is the SKU of
    that one, and `size` its width and height in cm, if known."""

    sku: str
    title: str
    artist: str
    price: Money
    design: Any
    is_sold_out: bool
    offer: str = ""
    size: tuple[int, int] | None = None

    @property
    def size_name(self) -> str:
        """Its offer's size in the active language; empty if it has none."""
        return size_name(self.size)


@dataclass(frozen=True, kw_only=True)
class PosterView:
    """A poster with everything that its page shows. `offers` start with the cheapest."""

    sku: str
    title: str
    artist: str
    description: str
    family: str
    design: Any
    offers: Sequence[Offer]

    @property
    def is_sold_out(self) -> bool:
        """Whether every offer is."""
        return all(offer.is_sold_out for offer in self.offers)


@dataclass(frozen=True, kw_only=True)
class LineProduct:
    """A product in a cart or on an order line, even if it is no longer for sale."""

    offer: Offer
    poster: str
    poster_title: str
    design: Any
    is_listed: bool


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """One page of the matching posters, how many match in all, and how many of each family."""

    posters: Sequence[PosterCard]
    total: int
    page: int
    pages: int
    families: Mapping[str, int]


def shelf(*, poster_filter: PosterFilter, page: int, per_page: int, families: Collection[str]) -> Shelf:
    """A page of posters; the last one if `page` is beyond it. Three statements, whatever the catalogue's size."""
    matching_posters = _matching_posters(poster_filter)
    counts: dict[str, int] = dict.fromkeys(families, 0)
    others = 0
    # Without order_by() the default ordering would group by title.
    for family, number in (
        matching_posters.order_by().values_list("design__family").annotate(number=Count("sku"))
    ):
        if isinstance(family, str) and family in counts:
            counts[family] = number
        else:
            others += number
    total = counts.get(poster_filter.family, 0) if poster_filter.family else sum(counts.values()) + others
    pages = max(1, -(-total // per_page))
    page = min(max(1, page), pages)
    if poster_filter.family:
        matching_posters = matching_posters.filter(design__family=poster_filter.family)
    first = (page - 1) * per_page
    posters = _cards(_sorted(matching_posters, poster_filter)[first : first + per_page], poster_filter)
    return Shelf(posters=posters, total=total, page=page, pages=pages, families=counts)


def _matching_posters(poster_filter: PosterFilter) -> QuerySet[Product]:
    posters = Product.objects.filter(is_listed=True, variant_of=None).defer("description")
    if poster_filter.text:
        words = search.words_of(poster_filter.text)
        if not words:
            return posters.none()
        query = search.query_of(words, names=poster_filter.names)
        matches = RawSQL(f"{search.DOCUMENT} @@ to_tsquery('simple', %s)", [query], BooleanField())
        posters = posters.filter(matches)
    if poster_filter.chooses_offers:
        posters = posters.filter(sku__in=_posters_at_its_prices(poster_filter))
    return posters


def offers_in(size: str, edition: str = "") -> QuerySet[Product]:
    """The products for sale of this size and this edition, or of any if it is empty."""
    offers = Product.objects.filter(is_listed=True)
    if size:
        offers = offers.filter(size=size)
    return offers.filter(edition=edition) if edition else offers


def posters_of(offers: QuerySet[Product]) -> QuerySet[Product, str]:
    """The SKUs of the posters that these offers are of."""
    return offers.order_by().values_list(Coalesce("variant_of_id", "sku"), flat=True)


def _posters_at_its_prices(poster_filter: PosterFilter) -> QuerySet[Product, str]:
    """The SKUs of the posters with an offer of the filter's size and edition that can be bought at its prices; of
    a poster whose offers of both are all sold out, any of them will do. The offers are read once."""
    offers = offers_in(poster_filter.size, poster_filter.edition)
    if poster_filter.price_from is None and poster_filter.price_to is None:
        return posters_of(offers)
    at_its_prices = _prices(poster_filter)
    sold_out_now = sold_out()
    counts = (
        offers.order_by()
        .values(poster=Coalesce("variant_of_id", "sku"))
        .annotate(
            offers=Count("sku"),
            sold_out=Count("sku", filter=sold_out_now),
            matching=Count("sku", filter=at_its_prices),
            matching_but_sold_out=Count("sku", filter=at_its_prices & sold_out_now),
        )
    )
    can_be_bought = Q(matching__gt=F("matching_but_sold_out"))
    all_sold_out = Q(offers=F("sold_out"), matching__gt=0)
    return counts.filter(can_be_bought | all_sold_out).values_list("poster", flat=True)


def _matching_offers(poster_filter: PosterFilter) -> QuerySet[Product]:
    """The offers of the filter's size and edition at its prices, those that can be bought first, then the cheapest."""
    offers = offers_in(poster_filter.size, poster_filter.edition).filter(_prices(poster_filter))
    return offers.order_by(Case(When(sold_out(), then=1), default=0), "price", "sku")


def _prices(poster_filter: PosterFilter) -> Q:
    """Whether an offer has one of the filter's prices."""
    prices = Q()
    if poster_filter.price_from is not None:
        prices &= Q(price__gte=min(poster_filter.price_from, LARGEST_PRICE))
    if poster_filter.price_to is not None:
        prices &= Q(price__lte=min(poster_filter.price_to, LARGEST_PRICE))
    return prices


def _sorted(posters: QuerySet[Product], poster_filter: PosterFilter) -> QuerySet[Product]:
    """In the chosen order; of a search, the featured order has titles and artists first that have the words."""
    ordering = ORDERINGS[poster_filter.sort]
    if poster_filter.sort in ("price", "-price"):
        its_own = Q(sku=OuterRef("sku")) | Q(variant_of=OuterRef("sku"))
        offers = _matching_offers(poster_filter).filter(its_own)
        return posters.annotate(lowest=Subquery(offers.values("price")[:1])).order_by(*ordering)
    if not poster_filter.text or poster_filter.sort != "featured":
        return posters.order_by(*ordering)
    words = poster_filter.text.split()
    titled, by_artist = (
        Q(*(Q(**{f"{name}__icontains": word}) for word in words)) for name in ("title", "artist")
    )
    return posters.order_by(Case(When(titled, then=0), When(by_artist, then=1), default=2), *ordering)


def count(poster_filter: PosterFilter) -> int:
    """How many posters match."""
    return _matching_posters(poster_filter).count()


def first(poster_filter: PosterFilter, *, limit: int) -> Sequence[PosterCard]:
    """The first posters that match, in the filter's order."""
    return _cards(_sorted(_matching_posters(poster_filter), poster_filter)[:limit], poster_filter)


def sizes() -> Sequence[str]:
    """The sizes that posters are sold in, such as "30x40", from the smallest."""
    of_posters = Q(variant_of=None) | Q(variant_of__is_listed=True)
    offers = Product.objects.filter(of_posters, is_listed=True).order_by()
    sides = {
        text: size for text in offers.values_list("size", flat=True).distinct() if (size := read_size(text))
    }
    return sorted(sides, key=lambda text: (math.prod(sides[text]), text))


def is_sold_in(edition: str) -> bool:
    """Whether any poster is sold in this edition."""
    return Product.objects.filter(is_listed=True, edition=edition).exists()


def is_in_reader_language() -> bool:
    """Whether titles and descriptions are in the active language."""
    return get_language() in (None, settings.LANGUAGE_CODE)


def poster(sku: str) -> PosterView | None:
    """The poster for sale with this SKU, with its offers; None if there is none."""
    products = list(
        Product.objects.filter(Q(sku=sku) | Q(variant_of=sku), is_listed=True).order_by("price", "sku")
    )
    poster = next((row for row in products if row.sku == sku and row.variant_of_id is None), None)
    if poster is None:
        return None
    return PosterView(
        sku=poster.sku,
        title=poster.title,
        artist=poster.artist,
        description=poster.description,
        family=_family(poster.design),
        design=poster.design,
        offers=[offer_of(row) for row in products],
    )


def poster_of(sku: str) -> str | None:
    """The SKU of a variant's poster; None if this is not a variant, or not for sale."""
    variants = Product.objects.filter(sku=sku, is_listed=True, variant_of__is_listed=True)
    return variants.values_list("variant_of_id", flat=True).first()


def beside(poster: PosterView, *, count: int) -> Sequence[PosterCard]:
    """Other posters to show beside this one: first by its artist, then of its family, then any."""
    posters = Product.objects.filter(is_listed=True, variant_of=None).exclude(sku=poster.sku)
    nearness = Case(When(artist=poster.artist, then=0), When(design__family=poster.family, then=1), default=2)
    rows = posters.defer("description").order_by(nearness, "rank", "sku")[:count]
    return _cards(rows, PosterFilter())


def design_of(sku: str) -> Any | None:
    """The design of a product's picture, for sale or not: a variant has its poster's. None if there is none."""
    row = Product.objects.filter(sku=sku).values_list("variant_of_id", "design", "variant_of__design").first()
    if row is None:
        return None
    variant_of, own, of_poster = row
    return of_poster if variant_of else own


def line_products(skus: Iterable[str]) -> Mapping[str, LineProduct]:
    """Products by SKU, for a cart or an order. One statement."""
    storable_skus = {sku for sku in skus if "\x00" not in sku}
    rows = Product.objects.filter(sku__in=storable_skus).select_related("variant_of")
    return {
        row.sku: LineProduct(
            offer=offer_of(row),
            poster=(row.variant_of or row).sku,
            poster_title=(row.variant_of or row).title,
            design=(row.variant_of or row).design,
            is_listed=row.is_listed,
        )
        for row in rows
    }


def _cards(rows: QuerySet[Product], poster_filter: PosterFilter) -> list[PosterCard]:
    """These posters, each with the offer that its card shows."""
    posters = list(rows)
    skus = [row.sku for row in posters]
    offers = _matching_offers(poster_filter).filter(Q(sku__in=skus) | Q(variant_of__in=skus))
    shown: dict[str, Product] = {}
    for row in offers.defer("description", "design") if skus else ():
        shown.setdefault(row.variant_of_id or row.sku, row)
    is_chosen = poster_filter.chooses_offers
    return [_card(row, shown.get(row.sku, row), is_chosen=is_chosen) for row in posters]


def _card(row: Product, offer: Product, *, is_chosen: bool) -> PosterCard:
    return PosterCard(
        sku=row.sku,
        title=row.title,
        artist=row.artist,
        price=price_of(offer),
        design=row.design,
        is_sold_out=offer_of(offer).is_sold_out,
        offer=offer.sku if is_chosen else "",
        size=read_size(offer.size) if is_chosen else None,
    )


def _family(design: Any) -> str:
    family = design.get("family") if isinstance(design, dict) else None
    return family if isinstance(family, str) else ""
