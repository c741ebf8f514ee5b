"""What clients send: the body of an order, and the headers that control a response. It accepts nothing that the
submission process would set aside (`orders.workflow.description`).
"""

import re
from collections import Counter
from typing import Any

from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from orders.api.fields import MailedText, Strict, Text, Token, Whole
from orders.api.paging import LONGEST_WAIT
from orders.api.problems import invalid
from orders.fields import email as email_addresses
from orders.fields.numbers import read_whole_number
from orders.fields.postal_address import LONGEST_PART
from orders.selectors.response_queues import queue_of
from orders.services.placing import DEFAULT_PRIORITY, NewLine, NewOrder

QUEUE_NAME = r"[A-Za-z0-9._-]{1,64}"
IDEMPOTENCY_KEY = re.compile(r"[\x20-\x7e]{1,255}")

PART = {"max_length": LONGEST_PART}


class LineIn(Strict):
    """A product and its quantity."""

    sku = Text(max_length=40)
    quantity = Whole(min_value=1, max_value=999)


class AddressIn(Strict):
    """Where an order is shipped."""

    name = MailedText(**PART)
    street = MailedText(**PART)
    city = MailedText(**PART)
    postal_code = MailedText(**PART)
    country = Token(pattern="[A-Za-z]{2}", message="This must be a two-letter country code (ISO 3166).")

    def validate_country(self, country: str) -> str:
        return country.upper()


@extend_schema_field(OpenApiTypes.EMAIL)
class EmailField(Token):
    """An email address in ASCII."""


class NewOrderIn(Strict):
    """A new order. `payment_method` is a token from the payment gateway; `reply_to` names a response queue."""

    lines = LineIn(many=True, min_length=1, max_length=100)  # type: ignore[call-arg]  # many=True takes them
    ship_to = AddressIn()
    email = EmailField(
        pattern=email_addresses.PATTERN,
        message="This must be an email address in ASCII.",
        max_length=email_addresses.LONGEST,
    )
    payment_method = Token(pattern="[!-~]{1,64}", message="This must be 1 to 64 printable ASCII characters.")
    priority = Whole(
        min_value=0,
        max_value=9,
        default=DEFAULT_PRIORITY,
        help_text=(
            "Orders with priority 9 go first, but every fourth turn goes to those that have waited longest. "
            f"A priority above {DEFAULT_PRIORITY} needs a token with the scope `priority`."
        ),
    )
    reply_to = Token(
        pattern=QUEUE_NAME,
        message="This must be 1 to 64 letters, digits, dots, underscores or hyphens.",
        default="",
    )

    def validate_lines(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        counts = Counter(line["sku"] for line in lines)
        seen: set[str] = set()
        mistakes: list[dict[str, Any]] = []
        for line in lines:
            is_again = counts[line["sku"]] > 1 and line["sku"] in seen
            seen.add(line["sku"])
            mistakes.append({"sku": ["An earlier line already has this product."]} if is_again else {})
        if any(mistakes):
            raise serializers.ValidationError(mistakes)
        return lines


def client_id(request: Request) -> int:
    """The ID of the account that the request's token belongs to. Raises `NotAuthenticated`."""
    account_id = request.user.pk
    if account_id is None:
        raise NotAuthenticated
    return account_id


def read_order(request: Request) -> NewOrder:
    """The order in a request's body. Its response queue belongs to the client. Raises `ValidationError`."""
    order = NewOrderIn.read(request.data)
    lines = [NewLine(sku=line["sku"], quantity=line["quantity"]) for line in order["lines"]]
    reply_to = queue_of(client_id(request), order["reply_to"]) if order["reply_to"] else ""
    return NewOrder(**{**order, "lines": lines, "ship_to": dict(order["ship_to"]), "reply_to": reply_to})


def read_idempotency_key(request: Request) -> str | None:
    """The `Idempotency-Key` header, if there is one. Raises `ProblemError`."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and not IDEMPOTENCY_KEY.fullmatch(key):
        raise invalid("This must be 1 to 255 printable ASCII characters.", header="Idempotency-Key")
    return key


def read_wait(request: Request) -> int:
    """The seconds in `Prefer: wait=N`, or 0 without it. Ignores a preference that cannot be read (RFC 7240)."""
    for preference in re.split("[,;]", request.headers.get("Prefer", "")):
        name, _, value = preference.partition("=")
        seconds = read_whole_number(value.strip().strip('"'))
        if name.strip().lower() == "wait" and seconds is not None:
            return min(seconds, LONGEST_WAIT)
    return 0


def read_known_versions(request: Request) -> set[str] | None:
    """The versions in `If-None-Match`, which the client has; `*` stands for any. None without the header."""
    header = request.headers.get("If-None-Match")
    if header is None:
        return None
    return {etag.removeprefix("W/").strip('"') for etag in parse_etags(header)}


def etag(version: str) -> str:
    """The ETag of a version. It is weak because the same version may be sent as different bytes."""
    return f'W/"{version}"'
