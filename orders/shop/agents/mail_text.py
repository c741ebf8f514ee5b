"""The emails' text. Pure: the same request gives the same email, so a second copy is identical."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import formataddr, parseaddr
from typing import Any

from orders.engine.contracts import Json, Request

DIGITS_AFTER_POINT = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "HUF", "ISK", "JPY", "KMF", "KRW"), 0),
    **dict.fromkeys(("PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
"""The currencies whose amounts do not have two digits after the point. HUF has none here, as it is paid."""

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_DOT_ATOM = re.compile(rf"{_ATOM}(\.{_ATOM})*")
_ADDRESS = re.compile(rf"{_ATOM}(\.{_ATOM})*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
LONGEST_ADDRESS = 254


class PlainHeaders(EmailPolicy):
    """Keeps and writes headers as they are, each one line of ASCII. Raises `ValueError` for any other.

    Python's own policy parses every header twice, which was two thirds of the cost of an email, and folds a long
    Message-ID.
    """

    def header_store_parse(self, name: str, value: Any) -> tuple[str, Any]:
        """Refuses a value that could start another header."""
        if not isinstance(value, str) or not value.isascii() or not value.isprintable() or len(value) > 900:
            raise ValueError(f"the header {name} cannot be one line of ASCII")
        return name, value

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Returns the value as it was stored."""
        return value

    def fold_binary(self, name: str, value: str) -> bytes:
        """Writes the header as one line."""
        return f"{name}: {value}\r\n".encode("ascii")


_POLICY = PlainHeaders(linesep="\r\n")


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Who emails come from: the `From` header, the bare `address` and its `domain`."""

    header: str
    address: str
    domain: str


def read_sender(text: str) -> Sender:
    """Reads `orders@shop.example` or `Shop <orders@shop.example>`. Raises `ValueError` for anything else."""
    name, address = parseaddr(text)
    if not _is_address(address) or not text.isprintable():
        raise ValueError(f"the sender of emails must look like Shop <orders@shop.example>, not {text!r}")
    return Sender(header=formataddr((name, address)), address=address, domain=address.rpartition("@")[2])


def money(amount: int, currency: str) -> str:
    """Writes an amount in minor units for a person: 1234500 and "EUR" give "EUR 12,345.00"."""
    digits = DIGITS_AFTER_POINT.get(currency, 2)
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    whole, rest = divmod(amount, 10**digits)
    return f"{currency} {sign}{whole:,}" + (f".{rest:0{digits}d}" if digits else "")


def message_id(key: str, domain: str) -> str:
    """Returns a key's Message-ID (RFC 5322, section 3.6.4). Raises `ValueError` if the key cannot be part of one."""
    if not _DOT_ATOM.fullmatch(key):
        raise ValueError("the key cannot be a Message-ID")
    return f"<{key}@{domain}>"


def compose_confirmation(request: Request, *, sender: Sender) -> EmailMessage:
    """Writes the email that confirms an order. Raises `ValueError` if it cannot be composed."""
    data = request.data
    lines = [
        f"Hello {_one_line(data['ship_to']['name'])},",
        "",
        "Thank you for your order. It is paid for and on its way to you.",
        "",
        f"Order {request.order_id}",
        "",
        *_order_lines(data),
        "",
        f"  Total: {money(data['total'], data['currency'])}",
        "",
        "We are sending it to:",
        "",
        *_address_lines(data["ship_to"]),
    ]
    tracking = (request.results.get("create-shipment") or {}).get(
        "tracking"
    )  # absent if the step was skipped
    if isinstance(tracking, str) and tracking.isprintable():
        lines += ["", f"Your parcel's tracking number is {tracking[:100]}."]
    lines += ["", "Thank you for shopping with us."]
    return _compose(request, sender=sender, subject="Your order is confirmed", text=lines)


def compose_cancellation(request: Request, *, sender: Sender) -> EmailMessage:
    """Writes the email that says that an order was cancelled. Raises `ValueError` if it cannot be composed."""
    data = request.data
    lines = [
        f"Hello {_one_line(data['ship_to']['name'])},",
        "",
        "Your order was cancelled and will not be sent:",
        "",
        f"Order {request.order_id}",
        "",
        *_order_lines(data),
        "",
        "Anything that we reserved on your card or charged for it"
        f" (at most {money(data['total'], data['currency'])}) has been released or refunded."
        " Your bank may take a few days to show it. You don't need to do anything.",
        "",
        "We hope to see you again.",
    ]
    return _compose(request, sender=sender, subject="Your order was cancelled", text=lines)


def _order_lines(data: Json) -> Iterable[str]:
    for line in data["lines"]:
        amount = money(line["quantity"] * line["unit_price"], data["currency"])
        yield f"  {line['quantity']} × {_one_line(line['title'])}: {amount}"


def _address_lines(ship_to: Json) -> Iterable[str]:
    place = f"{ship_to['postal_code']} {ship_to['city']}"
    for part in (ship_to["name"], ship_to["street"], place, ship_to["country"]):
        yield f"  {_one_line(part)}"


def _one_line(text: str) -> str:
    """Joins a text into one line, so that a customer's name cannot add paragraphs to our email."""
    return " ".join(text.split())


def _compose(request: Request, *, sender: Sender, subject: str, text: Iterable[str]) -> EmailMessage:
    recipient = request.data["email"]
    if not isinstance(recipient, str) or not _is_address(recipient):
        raise ValueError("the email is not valid")
    message = EmailMessage(policy=_POLICY)
    message["From"] = sender.header
    message["To"] = recipient
    message["Subject"] = f"{subject} ({str(request.order_id)[-8:]})"
    message["Message-ID"] = message_id(request.key, sender.domain)
    message["X-Order-Id"] = str(request.order_id)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(text) + "\n", cte="quoted-printable")
    return message


def _is_address(text: str) -> bool:
    """Says whether a text is one bare email in ASCII."""
    return len(text) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(text) is not None
