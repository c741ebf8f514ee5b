"""The operations of the three services, and how a request is parsed into a call of one of them."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sandbox.answers import InvalidRequest

LONGEST_TEXT = 255
LARGEST_NUMBER = 10**12

_CURSOR = re.compile(r"[0-9TZ:.-]{1,40}/[0-9]{1,18}", re.ASCII)

Body = Mapping[str, Any]


def _invalid(message: str) -> InvalidRequest:
    return InvalidRequest("invalid_body", message)


def _text(body: Body, name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_TEXT or not value.isprintable():
        raise _invalid(f"{name} must be a string of 1 to {LONGEST_TEXT} printable characters")
    return value


def _whole(body: Body, name: str, lowest: int) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= LARGEST_NUMBER:
        raise _invalid(f"{name} must be a whole number from {lowest} to {LARGEST_NUMBER}")
    return value


def _check_lines(body: Body) -> None:
    lines = body.get("lines")
    if not isinstance(lines, list) or not lines:
        raise _invalid("lines must be an array of at least one line")
    for line in lines:
        if not isinstance(line, dict):
            raise _invalid('each line must be {"sku", "quantity"}')
        _text(line, "sku")
        _whole(line, "quantity", 1)
        if "edition" in line:
            _whole(line, "edition", 1)


def _quantities(body: Body) -> dict[str, int]:
    quantities: dict[str, int] = {}
    for line in body["lines"]:
        quantities[line["sku"]] = quantities.get(line["sku"], 0) + line["quantity"]
    return quantities


def _editions(body: Body) -> dict[str, int]:
    return {line["sku"]: line["edition"] for line in body["lines"] if "edition" in line}


def _check_money(body: Body) -> None:
    _whole(body, "amount", 0)
    currency = body.get("currency")
    if not (isinstance(currency, str) and len(currency) == 3 and currency.isascii() and currency.isalpha()):
        raise _invalid("currency must be a three-letter code")


def _check_authorise(body: Body) -> None:
    _check_money(body)
    if not isinstance(body.get("payment_method"), str):
        raise _invalid("payment_method must be a string")


def _check_capture(body: Body) -> None:
    _check_money(body)
    _text(body, "authorisation")


def _check_create(body: Body) -> None:
    if not isinstance(body.get("ship_to"), dict) or not body["ship_to"]:
        raise _invalid("ship_to must be an object that holds the address")
    _check_lines(body)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation. A forward operation answers with the names in `gives`, each with a random id after its prefix. A
    reversal names in `reverses` the operation that it reverses."""

    service: str
    name: str
    check: Callable[[Body], None] = lambda body: None
    gives: Mapping[str, str] | None = None
    reverses: str = ""
    done: str = ""


_ALL = (
    Operation(service="warehouse", name="reserve", check=_check_lines, gives={"reservation": "rsv_"}),
    Operation(service="warehouse", name="release", reverses="reserve", done="released"),
    Operation(service="payments", name="authorise", check=_check_authorise, gives={"authorisation": "auth_"}),
    Operation(service="payments", name="void", reverses="authorise", done="voided"),
    Operation(service="payments", name="capture", check=_check_capture, gives={"capture": "cap_"}),
    Operation(service="payments", name="refund", reverses="capture", done="refunded"),
    Operation(
        service="carrier", name="create", check=_check_create, gives={"shipment": "shp_", "tracking": "trk_"}
    ),
    Operation(service="carrier", name="cancel", reverses="create", done="cancelled"),
)
OPERATIONS = {(operation.service, operation.name): operation for operation in _ALL}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One valid call. `digest` distinguishes two bodies; `amount` is in minor units; `reverses` is a forward key.
    `quantities` are those of the products to reserve, by SKU, and `editions` how many numbers those have that are
    numbered; `country` is where a parcel is to go."""

    operation: Operation
    key: str
    digest: str
    order_id: str
    amount: int | None
    payment_method: str
    reverses: str
    quantities: Mapping[str, int] = field(default_factory=dict)
    editions: Mapping[str, int] = field(default_factory=dict)
    country: object = ""


def find_operation(service: str, name: str) -> Operation:
    """The operation `name` of `service`. Raises `InvalidRequest` (404) if it is unknown."""
    operation = OPERATIONS.get((service, name))
    if operation is None:
        paths = [
            f"/{service}/{known_name}" for known_service, known_name in OPERATIONS if known_service == service
        ]
        allowed = ", ".join(paths)
        raise InvalidRequest("unknown_operation", f"unknown operation; use {allowed}", status=404)
    return operation


def read_key(value: str | None) -> str:
    """The value of the `Idempotency-Key` header. Raises `InvalidRequest` when it is missing or not valid."""
    if not value:
        raise InvalidRequest("missing_idempotency_key", "the Idempotency-Key header is missing")
    if len(value) > LONGEST_TEXT or not (value.isascii() and value.isprintable()):
        raise InvalidRequest(
            "invalid_idempotency_key",
            f"Idempotency-Key must be at most {LONGEST_TEXT} printable ASCII characters",
        )
    return value


def read_since(value: str | None) -> datetime:
    """The time from which effects are listed. Raises `InvalidRequest` when it is missing or has no time zone."""
    try:
        moment = datetime.fromisoformat(value or "")
    except ValueError as error:
        raise InvalidRequest("invalid_since", "since must be a time in ISO 8601") from error
    if moment.tzinfo is None:
        raise InvalidRequest("invalid_since", "since must have a time zone")
    return moment


def read_cursor(value: str | None) -> str:
    """The cursor behind which effects are listed; empty for the first page. Raises `InvalidRequest`."""
    if value and not _CURSOR.fullmatch(value):
        raise InvalidRequest("invalid_after", "after must be the next of an earlier page")
    return value or ""


def read_sku(value: str | None) -> str:
    """The SKU behind which stock is listed; empty for the first page. Raises `InvalidRequest`."""
    if value and len(value) > LONGEST_TEXT:
        raise InvalidRequest("invalid_after", "after must be the next of an earlier page")
    return value or ""


def read_call(operation: Operation, key: str, raw: bytes) -> Call:
    """Parses a request's body. Raises `InvalidRequest` when it does not fit the operation."""
    try:
        body = json.loads(raw)
        canonical = json.dumps([operation.name, body], sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise InvalidRequest("invalid_json", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise _invalid("the body must be a JSON object")
    order_id = _text(body, "order_id")
    operation.check(body)
    reverses = _text(body, "reverses") if operation.reverses else ""
    if reverses and reverses == key:
        raise _invalid("reverses must name the forward key, not the reversal's own")
    forward_money = operation.service == "payments" and not operation.reverses
    return Call(
        operation=operation,
        key=key,
        digest=hashlib.sha256(canonical.encode()).hexdigest(),
        order_id=order_id,
        amount=body["amount"] if forward_money else None,
        payment_method=body["payment_method"] if operation.name == "authorise" else "",
        reverses=reverses,
        quantities=_quantities(body) if operation.name == "reserve" else {},
        editions=_editions(body) if operation.name == "reserve" else {},
        country=body["ship_to"].get("country", "") if operation.name == "create" else "",
    )
