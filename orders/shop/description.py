"""The data of the shop's orders, and the rules for them (S2, S3). Pure."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
from orders.fields.postal_address import ALWAYS, LONGEST_PART, PARTS
from orders.shop.delivery import LARGEST_PRICE, Delivery, Tax, read_delivery, read_tax
from orders.shop.editions import LARGEST_EDITION

MOST_LINES = 100
LARGEST_QUANTITY = 999
LONGEST_PAYMENT_TOKEN = 64
PAYMENT_TOKEN = f"[A-Za-z0-9][A-Za-z0-9_.:-]{{0,{LONGEST_PAYMENT_TOKEN - 1}}}"
"""What the payment gateway's token for a way to pay looks like."""
LONGEST_SKU = 40
LONGEST_GIFT_NOTE = 300
LANGUAGE = "[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}"
"""What the tag of a language looks like, as in "en" and "pt-BR" (BCP 47)."""


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
    """An order as a customer placed it. `total` is in minor units of `currency`: that of the lines and the delivery,
    which includes the tax. `language` is the tag of the one that emails about it are in; "" if nobody has said.
    `gift_note` is put into the parcel: one paragraph, or "" for none."""

    lines: tuple[Line, ...]
    ship_to: Mapping[str, str]
    email: str
    payment_method: str
    currency: str
    total: int
    language: str = ""
    gift_note: str = ""
    delivery: Delivery | None = None
    tax: Tax | None = None


def parse(data: object) -> Description:
    """Reads an order's data and leaves out fields it does not know. Raises `BadOrderError`."""
    order = read_object(data, "the body")
    lines = _lines(order.get("lines"))
    delivery = read_delivery(order)
    total = sum(line.quantity * line.unit_price for line in lines) + (delivery.price if delivery else 0)
    if read_whole(order.get("total"), "total", 1, 2**63 - 1) != total:
        parts = "the lines and the delivery" if delivery else "the lines"
        raise BadOrderError(
            f"total must be the sum of {parts}, {total}, not {shown(order['total'])}.", where="total"
        )
    return Description(
        lines=lines,
        ship_to=_ship_to(order.get("ship_to")),
        email=read_email(order.get("email")),
        payment_method=_payment_method(order.get("payment_method")),
        currency=read_letters(order.get("currency"), "currency", 3),
        total=total,
        language=_language(order.get("language")),
        gift_note=_gift_note(order.get("gift_note")),
        delivery=delivery,
        tax=read_tax(order, total),
    )


def read_field(name: str, value: object) -> Any:
    """Reads a field that may be edited, by the rules for a whole order. Raises `BadOrderError`."""
    if name == "ship_to":
        return _corrected(_ship_to(value))
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
        **({"gift_note": order.gift_note} if order.gift_note else {}),
        **({"delivery": asdict(order.delivery)} if order.delivery else {}),
        **({"tax": asdict(order.tax)} if order.tax else {}),
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
    return {part: parts[part] for part in PARTS if isinstance(parts.get(part), str)}


def whole_address(data: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns an order's address if it has the parts that every address has; an empty one if not. The data may be
    anything."""
    address = ship_to(data)
    return address if all(address.get(part) for part in ALWAYS) else {}


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


def _gift_note(value: object) -> str:
    return "" if value is None else read_text(value, "gift_note", LONGEST_GIFT_NOTE)


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
    country = read_letters(address.get("country"), "ship_to.country", 2)
    parts = {
        name: read_text(address.get(name), f"ship_to.{name}", LONGEST_PART)
        for name in PARTS
        if name in ALWAYS or address.get(name) or (name == "postal_code" and _needs_postal_code(country))
    }
    return {**parts, "country": country}


def _corrected(address: Mapping[str, str]) -> dict[str, str]:
    """An address that replaces another one, as it is written in its country. An order that is placed may have a code
    that an earlier release took, so only here it is refused, and so is a country that there is not; the state may be
    missing, as in the API."""
    from orders.fields.address_rules import Mistake, mistakes, rules_of, tidy_address  # noqa: PLC0415 - as below
    from orders.fields.country_codes import is_country  # noqa: PLC0415 - as below

    if not is_country(address["country"]):
        raise BadOrderError(
            f"ship_to.country must be the code of a country (ISO 3166), not {shown(address['country'])}.",
            where="ship_to.country",
        )
    tidied = tidy_address(address)
    rules = rules_of(address["country"])
    expected = {
        Mistake.WRONG_POSTAL_CODE: f"a postal code of {rules.country}, like {rules.example}",
        Mistake.UNKNOWN_STATE: f"a state of {rules.country} by its code or its name",
        Mistake.WRONG_PHONE: "a phone number, like +36 1 234 5678",
    }
    for part, mistake in mistakes(tidied).items():
        if mistake in expected:
            raise BadOrderError(
                f"ship_to.{part} must be {expected[mistake]}, not {shown(tidied[part])}.",
                where=f"ship_to.{part}",
            )
    return tidied


def _needs_postal_code(country: str) -> bool:
    from orders.fields.address_rules import rules_of  # noqa: PLC0415 - nearly every address has one

    return rules_of(country).needs_postal_code
