"""What a customer asks for at today's prices: the data of an order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from orders.business.mistakes import merged
from orders.business.placing import CannotBePlacedError
from orders.engine.runtime.sql import fetch_frequent
from orders.fields.address_rules import tidy_address
from orders.shop.address_refusals import refusals
from orders.shop.delivery import Terms, sum_of, sums
from orders.shop.served import nothing_delivered

UNKNOWN = "No product with this SKU is for sale. `GET /api/v1/products` lists those that are."


class UnknownProductError(CannotBePlacedError):
    """Raised when an order names products that are not in the catalogue. `skus` lists them."""

    def __init__(self, lines: Sequence[Mapping[str, Any]], skus: Sequence[str]) -> None:
        mistakes = [{"sku": [UNKNOWN]} if line["sku"] in skus else {} for line in lines]
        super().__init__(f"not in the catalogue: {', '.join(skus)}", mistakes={"lines": mistakes})
        self.skus = list(skus)


class MixedCurrenciesError(CannotBePlacedError):
    """Raised when the products in an order are sold in different currencies."""


class NotDeliveredError(CannotBePlacedError):
    """Raised when there are no terms of delivery to the country that an order is for."""

    def __init__(self, country: str) -> None:
        text = nothing_delivered(country)
        super().__init__(text, mistakes={"ship_to": {"country": [text]}})


class WrongAddressError(CannotBePlacedError):
    """Raised when the address of an order cannot be one of its country, or that country is never served."""

    def __init__(self, wrong: Mapping[str, str]) -> None:
        mistakes = {part: [text] for part, text in wrong.items()}
        text = " ".join(f"{part}: {reason}" for part, reason in wrong.items())
        super().__init__(text, mistakes={"ship_to": mistakes})


class _Product(NamedTuple):
    """What an order takes from the catalogue."""

    title: str
    price: int
    currency: str
    edition_size: int | None


class Tariff:
    """The terms of delivery by country: all that there are, or those of the countries that somebody asks for."""

    def __init__(self, terms: Mapping[tuple[str, str], Terms]) -> None:
        """Takes the terms by currency and country; "" is every other country."""
        self._terms = terms
        self._currencies = {currency for currency, _ in terms}

    def terms(self, currency: str, country: str) -> Terms | None:
        """The terms of a country; None if there are none for the currency at all, so that delivery is free. Raises
        `NotDeliveredError`."""
        if not self.has_terms(currency):
            return None
        terms = self._terms.get((currency, country)) or self._terms.get((currency, ""))
        if terms is None:
            raise NotDeliveredError(country)
        return terms

    def has_terms(self, currency: str) -> bool:
        """Whether there are terms for a currency at all."""
        return currency in self._currencies

    def serves(self, currency: str, country: str) -> bool:
        """Whether orders in this currency are delivered to a country."""
        is_free = not self.has_terms(currency)
        return is_free or (currency, country) in self._terms or (currency, "") in self._terms

    def listed(self) -> list[tuple[str, str, Terms]]:
        """All terms, by currency and country."""
        return sorted((*key, terms) for key, terms in self._terms.items())

    def serves_any(self, country: str) -> bool:
        """Whether orders in any currency that has terms are delivered to a country."""
        return not self._terms or any(self.serves(currency, country) for currency in self._currencies)

    def cheapest(self, currency: str) -> int:
        """What delivery costs at least, in minor units."""
        prices = [terms.price for (paid_in, _), terms in self._terms.items() if paid_in == currency]
        return min(prices, default=0)


class _Catalogue(NamedTuple):
    """What orders take from the shop's tables: its products by SKU, and the terms of their countries."""

    products: Mapping[str, _Product]
    tariff: Tariff


def describe(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the data of an order for this request at today's prices. One statement. Raises `UnknownProductError`,
    `MixedCurrenciesError`, `NotDeliveredError` and `WrongAddressError`."""
    return _priced(request, _catalogue([request]))


def describe_all(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | Exception]:
    """Does the same for many requests, with the error of each that cannot be placed. One statement."""
    catalogue = _catalogue(requests)
    return [_priced_or_refused(request, catalogue) for request in requests]


def check(request: Mapping[str, Any]) -> None:
    """Raises what `describe` raises. Nothing is said of a sku or a country that is empty. One statement."""
    _check(request, _catalogue([request]))


def tariff(countries: Collection[str] | None = None) -> Tariff:
    """The terms of delivery to these countries, or to all. One statement."""
    if countries is None:
        rows = fetch_frequent(TERMS, [])
    else:
        rows = fetch_frequent(f"{TERMS} {OF_COUNTRIES}", [list(countries)])
    return Tariff({(currency, country): Terms(*terms) for country, currency, *terms in rows})


def _priced_or_refused(request: Mapping[str, Any], catalogue: _Catalogue) -> dict[str, Any] | Exception:
    try:
        return _priced(request, catalogue)
    except CannotBePlacedError as error:
        return error


def _priced(request: Mapping[str, Any], catalogue: _Catalogue) -> dict[str, Any]:
    _check(request, catalogue)
    products = catalogue.products
    currency = products[request["lines"][0]["sku"]].currency
    terms = catalogue.tariff.terms(currency, request["ship_to"]["country"])
    lines = [
        {
            "sku": line["sku"],
            "title": product.title,
            "quantity": line["quantity"],
            "unit_price": product.price,
            **({"edition": product.edition_size} if product.edition_size else {}),
        }
        for line in request["lines"]
        for product in [products[line["sku"]]]
    ]
    return {
        "lines": lines,
        "ship_to": tidy_address(request["ship_to"]),
        "email": request["email"],
        "payment_method": request["payment_method"],
        "currency": currency,
        **sums(sum_of(lines), terms),
        **{name: request[name] for name in ("language", "gift_note") if request.get(name)},
    }


def _check(request: Mapping[str, Any], catalogue: _Catalogue) -> None:
    """Raises the first of what is wrong with a request, with the mistakes of all."""
    errors = list(_errors(request, catalogue))
    for error in errors[1:]:
        errors[0].mistakes = merged(errors[0].mistakes, error.mistakes)
    if errors:
        raise errors[0]


def _errors(request: Mapping[str, Any], catalogue: _Catalogue) -> Iterator[CannotBePlacedError]:
    lines, ship_to, products = request["lines"], request["ship_to"], catalogue.products
    skus = [line["sku"] for line in lines if line["sku"]]
    if unknown := [sku for sku in skus if sku not in products]:
        yield UnknownProductError(lines, unknown)
    currencies = {products[sku].currency for sku in skus if sku in products}
    if len(currencies) > 1:
        text = f"One order cannot be in {' and '.join(sorted(currencies))}."
        yield MixedCurrenciesError(text, mistakes={"lines": [text]})
    country = ship_to["country"]
    if not country:
        return
    wrong = refusals(ship_to, takes_any_postal_code=request.get("takes_any_postal_code", False))
    if wrong:
        yield WrongAddressError(wrong)
    if "country" not in wrong and not all(catalogue.tariff.serves(each, country) for each in currencies):
        yield NotDeliveredError(country)


TERMS = """
    SELECT country, currency, price, fewest_days, most_days, tax_rate
      FROM shop_deliveryterms AS terms
"""
OF_COUNTRIES = """
     WHERE country = ANY(%s::text[]) OR country = ''
        OR NOT EXISTS (SELECT FROM shop_deliveryterms AS earlier
                        WHERE earlier.currency = terms.currency AND earlier.id < terms.id)
"""
"""The terms of some countries, and at least one of each currency, which says that its orders are not delivered for
nothing."""


def _catalogue(requests: Sequence[Mapping[str, Any]]) -> _Catalogue:
    """The products that are for sale, and the terms. They are read for each order: a new price counts from its commit
    on."""
    skus = list({line["sku"] for request in requests for line in request["lines"]})
    countries = list({request["ship_to"]["country"] for request in requests})
    rows = fetch_frequent(
        f"""
        SELECT true, sku, currency, title, price, edition_size, NULL, NULL
          FROM orders_product
         WHERE is_listed
           AND sku = ANY(%s::text[])
         UNION ALL
        SELECT false, country, currency, NULL, price, fewest_days, most_days, tax_rate
          FROM ({TERMS} {OF_COUNTRIES}) AS terms
        """,
        [skus, countries],
    )
    products, terms = {}, {}
    for is_product, name, currency, title, price, *rest in rows:
        if is_product:
            products[name] = _Product(title, price, currency, rest[0])
        else:
            terms[currency, name] = Terms(price, *rest)
    return _Catalogue(products, Tariff(terms))
