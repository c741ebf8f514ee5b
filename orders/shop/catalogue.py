"""The catalogue, for the shop's pages and the API.

A *poster* is a product that the catalogue shows. It is sold in *offers*: the poster itself and its variants
(docs/adr/0010).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import BooleanField, Case, Count, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils import timezone

from orders.fields.money import Money
from orders.selectors.paging import Page, page_of
from orders.shop import search
from orders.shop.availability import FRESH, Availability, availability, known_stock
from orders.shop.models import Edition, Product

ORDERINGS: Mapping[str, Sequence[str]] = {
    "featured": ("rank", "sku"),
    "newest": ("-added_at", "sku"),
    "price": ("price", "sku"),
    "-price": ("-price", "sku"),
    "title": ("title", "sku"),
}
"""Each ends with the SKU, so that a poster is on exactly one page."""

LARGEST_PRICE = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class PosterFilter:
    """Which posters to show. Prices are in minor units; `sort` is one of `ORDERINGS`. `names` has the words of each
    family's name in the reader's language."""

    text: str = ""
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    family: str = ""
    price_from: int | None = None
    price_to: int | None = None
    sort: str = "featured"


@dataclass(frozen=True, kw_only=True)
class PosterCard:
    """A poster in a list. `price` is that of its smallest offer; `is_sold_out` is whether every offer is."""

    sku: str
    title: str
    artist: str
    price: Money
    design: Any
    is_sold_out: bool


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
class ProductView:
    """A product that is for sale, as the API shows it, with all the offers of its poster, the cheapest first."""

    sku: str
    title: str
    artist: str
    description: str
    price: Money
    offers: Sequence[Offer]


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """One page of the matching posters, how many match in all, and how many of each family."""

    posters: Sequence[PosterCard]
    total: int
    page: int
    pages: int
    families: Mapping[str, int]


def shelf(*, poster_filter: PosterFilter, page: int, per_page: int, families: Collection[str]) -> Shelf:
    """A page of posters; the last one if `page` is beyond it. Two statements, whatever the catalogue's size."""
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
    rows = _with_stock(matching_posters).order_by(*_ordering(poster_filter))[first : first + per_page]
    return Shelf(posters=[_card(row) for row in rows], total=total, page=page, pages=pages, families=counts)


def _matching_posters(poster_filter: PosterFilter) -> QuerySet[Product]:
    posters = Product.objects.filter(is_listed=True, variant_of=None).defer("description")
    if poster_filter.text:
        words = search.words_of(poster_filter.text)
        if not words:
            return posters.none()
        query = search.query_of(words, names=poster_filter.names)
        matches = RawSQL(f"{search.DOCUMENT} @@ to_tsquery('simple', %s)", [query], BooleanField())
        posters = posters.filter(matches)
    if poster_filter.price_from is not None:
        posters = posters.filter(price__gte=min(poster_filter.price_from, LARGEST_PRICE))
    if poster_filter.price_to is not None:
        posters = posters.filter(price__lte=min(poster_filter.price_to, LARGEST_PRICE))
    return posters


def _with_stock(posters: QuerySet[Product]) -> QuerySet[Product]:
    """The posters with `is_sold_out`. Other offers are only looked at of those that are sold out themselves, and one by
    one: for EXISTS the server would read the whole table."""
    sold_out = Q(stock=0, stock_read_at__gt=Now() - FRESH)
    others = Product.objects.filter(variant_of=OuterRef("pk"), is_listed=True).exclude(sold_out)
    with_other = posters.alias(other_offer=Subquery(others.order_by().values("pk")[:1]))
    return with_other.annotate(
        is_sold_out=Case(When(sold_out & Q(other_offer=None), then=True), default=False)
    )


def _ordering(poster_filter: PosterFilter) -> Sequence[Any]:
    """By the chosen order; of a search, the featured order has titles and artists first that have the words."""
    ordering = ORDERINGS[poster_filter.sort]
    if not poster_filter.text or poster_filter.sort != "featured":
        return ordering
    words = poster_filter.text.split()
    titled, by_artist = (
        Q(*(Q(**{f"{name}__icontains": word}) for word in words)) for name in ("title", "artist")
    )
    return [Case(When(titled, then=0), When(by_artist, then=1), default=2), *ordering]


def count(poster_filter: PosterFilter) -> int:
    """How many posters match."""
    return _matching_posters(poster_filter).count()


def first(poster_filter: PosterFilter, *, limit: int) -> Sequence[PosterCard]:
    """The first posters that match, in the filter's order."""
    rows = _with_stock(_matching_posters(poster_filter)).order_by(*_ordering(poster_filter))[:limit]
    return [_card(row) for row in rows]


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
        offers=[_offer(row) for row in products],
    )


def poster_of(sku: str) -> str | None:
    """The SKU of a variant's poster; None if this is not a variant, or not for sale."""
    variants = Product.objects.filter(sku=sku, is_listed=True, variant_of__is_listed=True)
    return variants.values_list("variant_of_id", flat=True).first()


def beside(poster: PosterView, *, count: int) -> Sequence[PosterCard]:
    """Other posters to show beside this one: first by its artist, then of its family, then any."""
    posters = Product.objects.filter(is_listed=True, variant_of=None).exclude(sku=poster.sku)
    nearness = Case(When(artist=poster.artist, then=0), When(design__family=poster.family, then=1), default=2)
    rows = _with_stock(posters).defer("description").order_by(nearness, "rank", "sku")[:count]
    return [_card(row) for row in rows]


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
            offer=_offer(row),
            poster=(row.variant_of or row).sku,
            poster_title=(row.variant_of or row).title,
            design=(row.variant_of or row).design,
            is_listed=row.is_listed,
        )
        for row in rows
    }


def product(sku: str) -> ProductView | None:
    """A product that is for sale; None if there is none with this SKU. Two statements."""
    rows = Product.objects.filter(sku=sku, is_listed=True) if "\x00" not in sku else Product.objects.none()
    return next(iter(_products(rows)), None)


def products(*, after: str, limit: int) -> Page[ProductView]:
    """The posters for sale with SKUs above `after`, by SKU. Their other sizes and editions are not listed, unless the
    poster itself is not for sale: they are among its offers. Two statements, whatever the `limit`."""
    is_shown = Q(variant_of=None) | Q(variant_of__is_listed=False)
    rows = Product.objects.filter(is_shown, is_listed=True, sku__gt=after)
    return page_of(_products(rows.order_by("sku")[: limit + 1]), limit)


def _products(rows: QuerySet[Product]) -> list[ProductView]:
    """These products, each with the offers of its poster."""
    products = list(rows)
    posters = {row.variant_of_id or row.sku for row in products}
    offers: dict[str, list[Offer]] = {sku: [] for sku in posters}
    of_posters = Product.objects.filter(Q(sku__in=posters) | Q(variant_of__in=posters)) if posters else ()
    for row in sorted(of_posters, key=lambda row: (row.price, row.sku)):
        offers[row.variant_of_id or row.sku].append(_offer(row))
    return [
        ProductView(
            sku=row.sku,
            title=row.title,
            artist=row.artist,
            description=row.description,
            price=_money(row),
            offers=offers[row.variant_of_id or row.sku],
        )
        for row in products
    ]


def _card(row: Any) -> PosterCard:
    return PosterCard(
        sku=row.sku,
        title=row.title,
        artist=row.artist,
        price=_money(row),
        design=row.design,
        is_sold_out=row.is_sold_out,
    )


def _offer(row: Product) -> Offer:
    return Offer(
        sku=row.sku,
        title=row.title,
        size=_size(row.size),
        edition=row.edition,
        edition_name=str(Edition(row.edition).label) if row.edition in Edition else "",
        price=_money(row),
        is_orderable=row.is_listed,
        stock=known_stock(row.stock, row.stock_read_at, now=timezone.now()),
        edition_size=row.edition_size,
    )


def _money(row: Product) -> Money:
    return Money(amount=row.price, currency=row.currency)


def _size(text: str) -> tuple[int, int] | None:
    """A size written as "30x40"."""
    width, _, height = text.partition("x")
    sides = [int(side) for side in (width, height) if side.isascii() and side.isdigit()]
    return (sides[0], sides[1]) if len(sides) == 2 else None


def _family(design: Any) -> str:
    family = design.get("family") if isinstance(design, dict) else None
    return family if isinstance(family, str) else ""
