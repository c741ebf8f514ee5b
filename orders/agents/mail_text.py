"""What the mails say. Pure: the same request gives the same mail, so that a second copy is the same one."""

from collections.abc import Iterable
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import parseaddr

from orders.engine.contracts import Json, Request

DIGITS_AFTER_POINT = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "HUF", "ISK", "JPY", "KMF", "KRW"), 0),
    **dict.fromkeys(("PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}
"""The currencies whose amounts do not have two digits after the point; HUF is shown without, as it is paid."""


_WIRE = SMTP.clone(max_line_length=998)
"""RFC 5322's limit of a line. With Python's own of 78 it would fold, and in some releases encode, a Message-ID."""


def money(amount: int, currency: str) -> str:
    """An amount in minor units as a person reads it: 1234500, "EUR" is "EUR 12,345.00"."""
    digits = DIGITS_AFTER_POINT.get(currency, 2)
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    whole, rest = divmod(amount, 10**digits)
    return f"{currency} {sign}{whole:,}" + (f".{rest:0{digits}d}" if digits else "")


def message_id(key: str, domain: str) -> str:
    """The Message-ID of a key (RFC 5322, section 3.6.4). Raises `ValueError` when the key cannot be part of one."""
    if not key or not all(letter.isascii() and (letter.isalnum() or letter in "/-_.+=") for letter in key):
        raise ValueError("the key cannot be a Message-ID")
    if key.startswith(".") or key.endswith(".") or ".." in key:
        raise ValueError("the key cannot be a Message-ID")
    return f"<{key}@{domain}>"


def compose_confirmation(request: Request, *, sender: str) -> EmailMessage:
    """The mail that says what was ordered. Raises `ValueError` when there can be no such mail."""
    data = request.data
    lines = [
        f"Hello {_one_line(data['ship_to']['name'])},",
        "",
        "Thank you for your order. It is paid, and it is on its way to you.",
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
    tracking = (request.results.get("create-shipment") or {}).get("tracking")  # none if it was skipped
    if isinstance(tracking, str) and tracking.isprintable():
        lines += ["", f"Your parcel's tracking number is {tracking[:100]}."]
    lines += ["", "Thank you for shopping with us."]
    return _compose(request, sender=sender, subject="Your order is confirmed", text=lines)


def compose_cancellation(request: Request, *, sender: str) -> EmailMessage:
    """The mail that says that an order was cancelled. Raises `ValueError` when there can be no such mail."""
    data = request.data
    lines = [
        f"Hello {_one_line(data['ship_to']['name'])},",
        "",
        "Your order was cancelled, and nothing of it will be sent to you:",
        "",
        f"Order {request.order_id}",
        "",
        *_order_lines(data),
        "",
        f"Any amount that was authorised or taken for it ({money(data['total'], data['currency'])} at most) has been"
        " returned. Your bank may need a few days to show it.",
        "",
        "There is nothing for you to do.",
        "",
        "We are sorry that it did not work out this time.",
    ]
    return _compose(request, sender=sender, subject="Your order was cancelled", text=lines)


def as_wire(message: EmailMessage) -> bytes:
    """The message as it goes over the wire."""
    return message.as_bytes(policy=_WIRE)


def _order_lines(data: Json) -> Iterable[str]:
    for line in data["lines"]:
        amount = money(line["quantity"] * line["unit_price"], data["currency"])
        yield f"  {line['quantity']} × {_one_line(line['title'])}: {amount}"


def _address_lines(ship_to: Json) -> Iterable[str]:
    place = f"{ship_to['postal_code']} {ship_to['city']}"
    for part in (ship_to["name"], ship_to["street"], place, ship_to["country"]):
        yield f"  {_one_line(part)}"


def _one_line(text: str) -> str:
    """`text` in one line, so that nobody's name can write a paragraph of ours."""
    return " ".join(text.split())


def _compose(request: Request, *, sender: str, subject: str, text: Iterable[str]) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    name, address = parseaddr(sender)
    message["From"] = _address(address, name=name)
    message["To"] = _address(request.data["email"])
    message["Subject"] = f"{subject} ({str(request.order_id)[-8:]})"
    message["Message-ID"] = message_id(request.key, message["From"].addresses[0].domain)
    message["X-Order-Id"] = str(request.order_id)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(text) + "\n", cte="quoted-printable")
    return message


def _address(text: str, *, name: str = "") -> Address:
    """One bare mail address, under a name. Raises `ValueError` for anything that is more, or not quite, that."""
    if not text.isascii() or not text.isprintable() or not set(text).isdisjoint("<>() ") or len(text) > 254:
        raise ValueError("the mail address is not usable")
    try:
        return Address(display_name=name, addr_spec=text)
    except Exception as error:  # the standard library's parser raises IndexError and others for odd addresses
        raise ValueError("the mail address is not usable") from error
