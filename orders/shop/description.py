"""The data of the shop's orders, and the rules for them (S2, S3). Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orders.business.corrections import read_quantities
from orders.business.reading import (
    BadOrderError,
    read_email,
    read_letters,
    read_object,
    read_text,
    read_whole,
    shown,
)
from orders.engine.contracts import Json
from orders.shop.editions import LARGEST_EDITION

MOST_LINES = 100
LARGEST_QUANTITY = 999
LARGEST_PRICE = 2**31 - 1
"""In minor units: the largest that fits the column of a price."""
LONGEST_ADDRESS_PART = 200
LONGEST_PAYMENT_TOKEN = 64
PAYMENT_TOKEN = f"[A-Za-z0-9][A-Za-z0-9_.:-]{{0,{LONGEST_PAYMENT_TOKEN - 1}}}"
"""What the payment gateway's token for a way to pay looks like."""
LONGEST_SKU = 40
LANGUAGE = "[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}"
"""What the tag of a language looks like, as in "en" and "pt-BR" (BCP 47)."""
SHIP_TO = ("name", "street", "city", "postal_code", "country")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One product of an order. `unit_price` is what the customer saw, in minor units. `edition` is how many prints its
    numbered edition has; 0 if they have no numbers."""

    sku: str
    title: str
    quantity: int
    unit_price: int
    edition: int = 0


@dataclass(frozen=True, kw_only=True)
class Description:
    """An order as a customer placed it. `total` is in minor units of `currency`. `language` is the tag of the one that
    emails about it are in; "" if nobody has said."""

    lines: tuple[Line, ...]
    ship_to: Mapping[str, str]
    email: str
    payment_method: str
    currency: str
    total: int
    language: str = ""


def parse(data: object) -> Description:
    """Reads an order's data and leaves out fields it does not know. Raises `BadOrderError`."""
    order = read_object(data, "the body")
    lines = _lines(order.get("lines"))
    total = sum(line.quantity * line.unit_price for line in lines)
    if read_whole(order.get("total"), "total", 1, 2**63 - 1) != total:
        raise BadOrderError(
            f"total must be the sum of the lines, {total}, not {shown(order['total'])}.", where="total"
        )
    return Description(
        lines=lines,
        ship_to=_ship_to(order.get("ship_to")),
        email=read_email(order.get("email")),
        payment_method=_payment_method(order.get("payment_method")),
        currency=read_letters(order.get("currency"), "currency", 3),
        total=total,
        language=_language(order.get("language")),
    )


def read_field(name: str, value: object) -> Any:
    """Reads a field that may be edited, by the rules for a whole order. Raises `BadOrderError`."""
    if name == "ship_to":
        return dict(_ship_to(value))
    if name == "lines":
        return read_quantities(value)
    return read_email(value) if name == "email" else _payment_method(value)


def as_json(order: Description) -> Json:
    """Returns the data that the workflow's steps read."""
    return {
        "lines": [_line_as_json(line) for line in order.lines],
        "ship_to": dict(order.ship_to),
        "email": order.email,
        "payment_method": order.payment_method,
        "currency": order.currency,
        "total": order.total,
        **({"language": order.language} if order.language else {}),
    }


def _line_as_json(line: Line) -> Json:
    return {
        "sku": line.sku,
        "title": line.title,
        "quantity": line.quantity,
        "unit_price": line.unit_price,
        **({"edition": line.edition} if line.edition else {}),
    }


def ship_to(data: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns the parts of an order's address that can be shown. The data may be anything."""
    address = data.get("ship_to")
    parts = address if isinstance(address, Mapping) else {}
    return {part: parts[part] for part in SHIP_TO if isinstance(parts.get(part), str)}


def _payment_method(value: object) -> str:
    """Reads the gateway's token. One that no gateway gives would only be found out when the order is paid for."""
    if not isinstance(value, str) or not re.fullmatch(PAYMENT_TOKEN, value):
        raise BadOrderError(
            f"payment_method must be a token of the payment gateway, not {shown(value)}.",
            where="payment_method",
        )
    return value


def _language(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not re.fullmatch(LANGUAGE, value):
        raise BadOrderError(f"language must be the tag of a language, not {shown(value)}.", where="language")
    return value


def _lines(value: object) -> tuple[Line, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_LINES:
        raise BadOrderError(f"lines must be a list of 1 to {MOST_LINES} lines.", where="lines")
    lines = tuple(_line(line, f"lines[{index}]") for index, line in enumerate(value))
    seen: set[str] = set()
    for line in lines:
        if line.sku in seen:
            raise BadOrderError(f"lines name the product {shown(line.sku)} twice.", where="lines")
        seen.add(line.sku)
    return lines


def _line(value: object, where: str) -> Line:
    line = read_object(value, where)
    return Line(
        sku=read_text(line.get("sku"), f"{where}.sku", LONGEST_SKU),
        title=read_text(line.get("title"), f"{where}.title", 120),
        quantity=read_whole(line.get("quantity"), f"{where}.quantity", 1, LARGEST_QUANTITY),
        unit_price=read_whole(line.get("unit_price"), f"{where}.unit_price", 1, LARGEST_PRICE),
        edition=read_whole(line["edition"], f"{where}.edition", 1, LARGEST_EDITION)
        if "edition" in line
        else 0,
    )


def _ship_to(value: object) -> Mapping[str, str]:
    address = read_object(value, "ship_to")
    parts = {name: read_text(address.get(name), f"ship_to.{name}", LONGEST_ADDRESS_PART) for name in SHIP_TO}
    return {**parts, "country": read_letters(parts["country"], "ship_to.country", 2)}
