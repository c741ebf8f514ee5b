"""What a customer asks for at today's prices: the data of an order."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orders.business.placing import CannotBePlacedError
from orders.engine.runtime.sql import fetch_frequent


class UnknownProductError(CannotBePlacedError):
    """Raised when an order names products that are not in the catalogue. `skus` lists them."""

    def __init__(self, lines: Sequence[Mapping[str, Any]], skus: Sequence[str]) -> None:
        mistakes = [{"sku": ["Unknown product."]} if line["sku"] in skus else {} for line in lines]
        super().__init__(f"not in the catalogue: {', '.join(skus)}", mistakes={"lines": mistakes})
        self.skus = list(skus)


class MixedCurrenciesError(CannotBePlacedError):
    """Raised when the products in an order are sold in different currencies."""


class _Product(NamedTuple):
    """What an order takes from the catalogue."""

    title: str
    price: int
    currency: str


def describe(request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the data of an order for this request at today's prices. One statement. Raises `UnknownProductError` and
    `MixedCurrenciesError`."""
    return _priced(request, _products([line["sku"] for line in request["lines"]]))


def describe_all(requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | Exception]:
    """Does the same for many requests, with the error of each that cannot be placed. One statement."""
    products = _products(list({line["sku"] for request in requests for line in request["lines"]}))
    return [_priced_or_refused(request, products) for request in requests]


def _priced_or_refused(
    request: Mapping[str, Any], products: Mapping[str, _Product]
) -> dict[str, Any] | Exception:
    try:
        return _priced(request, products)
    except CannotBePlacedError as error:
        return error


def _priced(request: Mapping[str, Any], products: Mapping[str, _Product]) -> dict[str, Any]:
    quantities = {line["sku"]: line["quantity"] for line in request["lines"]}
    if unknown := [sku for sku in quantities if sku not in products]:
        raise UnknownProductError(request["lines"], unknown)
    currencies = {products[sku].currency for sku in quantities}
    if len(currencies) > 1:
        text = f"One order cannot be in {' and '.join(sorted(currencies))}."
        raise MixedCurrenciesError(text, mistakes={"lines": [text]})
    lines = [
        {
            "sku": line["sku"],
            "title": product.title,
            "quantity": line["quantity"],
            "unit_price": product.price,
        }
        for line in request["lines"]
        for product in [products[line["sku"]]]
    ]
    return {
        "lines": lines,
        "ship_to": dict(request["ship_to"]),
        "email": request["email"],
        "payment_method": request["payment_method"],
        "currency": currencies.pop(),
        "total": sum(line["quantity"] * line["unit_price"] for line in lines),
        **{name: request[name] for name in ("language", "gift_note") if request.get(name)},
    }


def _products(skus: Sequence[str]) -> dict[str, _Product]:
    """The products that are for sale, by SKU. They are read for each order: a new price counts from its commit on."""
    rows = fetch_frequent(
        """
        SELECT sku, title, price, currency
          FROM orders_product
         WHERE is_listed
           AND sku = ANY(%s::text[])
        """,
        [list(skus)],
    )
    return {sku: _Product(title, price, currency) for sku, title, price, currency in rows}
