"""An order's description as it arrives on the submission queue, and the rules for it (S2, S3). Pure.

The input is hostile even here, because any application may post to the queue.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from orders.engine.contracts import Json
from orders.fields.email import LONGEST as LONGEST_EMAIL
from orders.fields.email import is_valid as is_valid_email

MOST_LINES = 100
LARGEST_QUANTITY = 999
LARGEST_PRICE = 2**31 - 1
"""In minor units: the largest that fits the column of a price."""
LONGEST_ADDRESS_PART = 200
DEFAULT_PRIORITY = 5
"""In the middle of 0 to 9, so there is room for more and for less urgent orders."""
SHIP_TO = ("name", "street", "city", "postal_code", "country")
FIRST_YEAR, LAST_YEAR = 2000, 2100
"""An order placed outside these years comes from a wrong clock."""

_BREAKS = frozenset({"Cc", "Zl", "Zp", "Cs"})


class BadDescriptionError(ValueError):
    """Raised when a submission does not describe an order. Its text is one sentence for an operator."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One product of an order. `unit_price` is what the customer saw, in minor units."""

    sku: str
    title: str
    quantity: int
    unit_price: int


@dataclass(frozen=True, kw_only=True)
class Description:
    """An order as a customer placed it. `total` is in minor units of `currency`."""

    lines: tuple[Line, ...]
    ship_to: Mapping[str, str]
    email: str
    payment_method: str
    currency: str
    total: int
    placed_at: datetime
    priority: int
    reply_to: str


def check(body: object) -> str | None:
    """Says what is wrong with a submission's body, in one sentence. Returns None if it describes an order."""
    try:
        parse(body)
    except BadDescriptionError as error:
        return str(error)
    return None


def parse(body: object) -> Description:
    """Reads a submission's body and leaves out fields it does not know. Raises `BadDescriptionError`."""
    order = _object(body, "the body")
    lines = _lines(order.get("lines"))
    total = sum(line.quantity * line.unit_price for line in lines)
    if _whole(order.get("total"), "total", 1, 2**63 - 1) != total:
        raise BadDescriptionError(
            f"total must be the sum of the lines, {total}, not {_shown(order['total'])}."
        )
    return Description(
        lines=lines,
        ship_to=_ship_to(order.get("ship_to")),
        email=_email(order.get("email")),
        payment_method=_text(order.get("payment_method"), "payment_method", 64),
        currency=_letters(order.get("currency"), "currency", 3),
        total=total,
        placed_at=_moment(order.get("placed_at"), "placed_at"),
        priority=_whole(_given(order, "priority", DEFAULT_PRIORITY), "priority", 0, 9),
        reply_to=_text(_given(order, "reply_to", ""), "reply_to", 120, lowest=0),
    )


def read_field(name: str, value: object) -> Any:
    """Reads a field that may be edited, by the rules for a whole order. Raises `BadDescriptionError`."""
    if name == "ship_to":
        return dict(_ship_to(value))
    return _email(value) if name == "email" else _text(value, name, 64)


def as_json(order: Description, *, order_id: str) -> Json:
    """Returns the description that the workflow's steps read."""
    return {
        "order_id": order_id,
        "lines": [
            {"sku": line.sku, "title": line.title, "quantity": line.quantity, "unit_price": line.unit_price}
            for line in order.lines
        ],
        "ship_to": dict(order.ship_to),
        "email": order.email,
        "payment_method": order.payment_method,
        "currency": order.currency,
        "total": order.total,
        "placed_at": order.placed_at.isoformat(),
    }


def _lines(value: object) -> tuple[Line, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_LINES:
        raise BadDescriptionError(f"lines must be a list of 1 to {MOST_LINES} lines.")
    lines = tuple(_line(line, f"lines[{index}]") for index, line in enumerate(value))
    seen: set[str] = set()
    for line in lines:
        if line.sku in seen:
            raise BadDescriptionError(f"lines name the product {_shown(line.sku)} twice.")
        seen.add(line.sku)
    return lines


def _line(value: object, where: str) -> Line:
    line = _object(value, where)
    return Line(
        sku=_text(line.get("sku"), f"{where}.sku", 40),
        title=_text(line.get("title"), f"{where}.title", 120),
        quantity=_whole(line.get("quantity"), f"{where}.quantity", 1, LARGEST_QUANTITY),
        unit_price=_whole(line.get("unit_price"), f"{where}.unit_price", 1, LARGEST_PRICE),
    )


def _ship_to(value: object) -> Mapping[str, str]:
    address = _object(value, "ship_to")
    parts = {name: _text(address.get(name), f"ship_to.{name}", LONGEST_ADDRESS_PART) for name in SHIP_TO}
    return {**parts, "country": _letters(parts["country"], "ship_to.country", 2)}


def _email(value: object) -> str:
    text = _text(value, "email", LONGEST_EMAIL)
    if not is_valid_email(text):
        raise BadDescriptionError(f"email must be an email address in ASCII, not {_shown(value)}.")
    return text


def _moment(value: object, where: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not FIRST_YEAR <= moment.year < LAST_YEAR:
        raise BadDescriptionError(
            f"{where} must be a time in ISO 8601 with its zone, from the year {FIRST_YEAR} on, not {_shown(value)}."
        )
    return moment.astimezone(UTC)


def _given(order: Json, name: str, default: object) -> object:
    value = order.get(name)
    return default if value is None else value


def _object(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadDescriptionError(f"{where} must be an object, not {_shown(value)}.")
    return value


def _whole(value: object, where: str, lowest: int, highest: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise BadDescriptionError(
            f"{where} must be a whole number from {lowest} to {highest}, not {_shown(value)}."
        )
    return value


def _text(value: object, where: str, longest: int, *, lowest: int = 1) -> str:
    """Reads a text without control characters: PostgreSQL keeps no NUL, and a line break could forge a log line."""
    if not isinstance(value, str) or not lowest <= len(value.strip()) or len(value) > longest:
        raise BadDescriptionError(
            f"{where} must be a text of {lowest} to {longest} characters, not {_shown(value)}."
        )
    if any(unicodedata.category(letter) in _BREAKS for letter in value):
        raise BadDescriptionError(f"{where} must have no control characters, and {_shown(value)} has some.")
    return value


def _letters(value: object, where: str, length: int) -> str:
    """Reads a code of ASCII letters and returns it in capitals."""
    if not isinstance(value, str) or len(value) != length or not (value.isascii() and value.isalpha()):
        raise BadDescriptionError(f"{where} must be a code of {length} letters, not {_shown(value)}.")
    return value.upper()


def _shown(value: object) -> str:
    """Shows a value in a sentence: short and in ASCII, so that it is safe in every page and database."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    if value is None:
        return "nothing"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a number of many digits"
    shown = ascii(value[:60] if isinstance(value, str) else value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
