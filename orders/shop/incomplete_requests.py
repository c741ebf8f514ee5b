"""What else is wrong with an order that a client has sent, and that cannot be read as a whole."""

import re
from collections.abc import Mapping
from typing import Any

from orders.business import CannotBePlacedError
from orders.engine.contracts import Json
from orders.fields.postal_address import LONGEST_PART, PARTS
from orders.fields.text import is_one_line
from orders.shop import pricing
from orders.shop.address_refusals import refusals
from orders.shop.description import LONGEST_SKU, MOST_LINES


def find_mistakes(body: Json) -> Json:
    """What the catalogue, the terms of delivery and the rules for addresses refuse of a body that may be anything, as
    far as it can be read: at its place in the body. One statement."""
    lines = body.get("lines")
    skus = map(_sku, lines) if isinstance(lines, list) and len(lines) <= MOST_LINES else ()
    try:
        pricing.check({"lines": [{"sku": sku} for sku in skus], "ship_to": _address(body.get("ship_to"))})
    except CannotBePlacedError as error:
        return error.mistakes
    return {}


def address_mistakes(ship_to: object) -> dict[str, list[str]]:
    """What the rules for addresses refuse of an address that may be anything, by the names of its parts."""
    address = _address(ship_to)
    wrong = refusals(address) if address["country"] else {}
    return {part: [text] for part, text in wrong.items()}


def _sku(line: object) -> str:
    """The product of a line; "" if it cannot be read."""
    return _text(line.get("sku"), LONGEST_SKU) if isinstance(line, Mapping) else ""


def _address(ship_to: object) -> dict[str, str]:
    """The parts of an address that can be read. Its country is "" if it has none."""
    parts: Mapping[str, Any] = ship_to if isinstance(ship_to, Mapping) else {}
    address = {part: _text(parts.get(part), LONGEST_PART) for part in PARTS}
    country = address["country"]
    return address | {"country": country.upper() if re.fullmatch("[A-Za-z]{2}", country) else ""}


def _text(value: object, longest: int) -> str:
    return value if isinstance(value, str) and len(value) <= longest and is_one_line(value) else ""
