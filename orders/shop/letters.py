"""The shop's own emails about an order: that it is on its way, and that it was cancelled.

Their words are written from the step's request and what is enclosed; what neither says is not said. The same request
and enclosures give the same email. A second copy differs from the first at most in the signature of its link, which has
the day when it was made, and in what could not be looked up.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parseaddr

from django.utils import translation
from django.utils.translation import gettext as _

from orders.business.lines import Line, LineName
from orders.emails.html import as_html
from orders.emails.letter import (
    Block,
    Facts,
    Heading,
    Items,
    Letter,
    Link,
    Note,
    Paragraph,
    Picture,
    as_text,
    one_line,
)
from orders.emails.mime import Message, mailbox, write
from orders.engine.contracts import Json, Request
from orders.fields.locales import known_language, reader_locale
from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.shop.addresses import written_address
from orders.shop.delivery import expected_arrival
from orders.shop.delivery_words import arrives, sum_rows
from orders.shop.editions import EditionNumbers, numbers_in_words
from orders.shop.fulfilment import SHIPMENT
from orders.shop.tracking import parcel_of
from orders.wording.customers.labels import labelled
from orders.wording.customers.order_links import order_button, secrecy_note
from orders.wording.customers.ordered_items import ordered_items
from sasweb.environment import DOT_ATOM, is_ascii_address


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Who emails come from: the `From` header, the `name` in it, the bare `address` and its `domain`. `reply_to` is the
    header `Reply-To`; "" if replies go to the sender."""

    header: str
    name: str
    address: str
    domain: str
    reply_to: str = ""


@dataclass(frozen=True, kw_only=True)
class Enclosures:
    """What an email has beside the request's words: the links to the order and to its `receipt`, if its
    reader can open them, and by SKU what the lines are called in the order's language, and their pictures.

    `is_guests` is whether whoever has the link can see the order. `cancellation` are sentences in the order's language:
    why it was cancelled, and what became of its money; none if that is not known. `tracking_url` is the url of parcels'
    pages, with `{tracking}` for the number. `numbers` are those of numbered prints, by SKU. `sent_at` is when the
    carrier took the parcel, if that is known, and `written_at` is now.
    """

    link: str = ""
    receipt: str = ""
    is_guests: bool = False
    names: Mapping[str, LineName] = field(default_factory=dict)
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    cancellation: Sequence[str] = ()
    tracking_url: str = ""
    sent_at: datetime | None = None
    written_at: datetime | None = None
    numbers: Mapping[str, EditionNumbers] = field(default_factory=dict)


NOTHING = Enclosures()


@dataclass(frozen=True, kw_only=True)
class OrderEmail:
    """An email that is ready to be sent."""

    recipient: str
    message_id: str
    content: bytes


def read_sender(text: str, *, reply_to: str = "") -> Sender:
    """Reads `orders@shop.example` or `Shop <orders@shop.example>`, and where replies go, if not there. Raises
    `ValueError` for anything else."""
    name, address = parseaddr(text)
    if not is_ascii_address(address) or not text.isprintable():
        raise ValueError(f"the sender of emails must look like Shop <orders@shop.example>, not {text!r}")
    domain = address.rpartition("@")[2]
    return Sender(
        header=mailbox(text, address=address),
        name=name or domain,
        address=address,
        domain=domain,
        reply_to=_read_reply_to(reply_to) if reply_to else "",
    )


def _read_reply_to(text: str) -> str:
    address = parseaddr(text)[1]
    if not is_ascii_address(address) or not text.isprintable():
        raise ValueError(f"replies to emails must go to an address like hello@shop.example, not {text!r}")
    return mailbox(text, address=address)


def message_id(key: str, domain: str) -> str:
    """Returns a key's Message-ID (RFC 5322, section 3.6.4). Raises `ValueError` if the key cannot be part of one."""
    if not re.fullmatch(DOT_ATOM, key):
        raise ValueError("the key cannot be a Message-ID")
    return f"<{key}@{domain}>"


def compose_confirmation(request: Request, *, sender: Sender, enclosures: Enclosures = NOTHING) -> OrderEmail:
    """Writes the email that says that an order is on its way. Raises `ValueError` if it cannot be composed."""
    with translation.override(known_language(request.data.get("language"))):
        sent = _was_sent(request)
        heading = _("Your order is on its way.") if sent else _("Your order is confirmed.")
        facts = [
            (_("Order number"), spoken_number(request.order_id)),
            (_("Ships to"), written_address(request.data["ship_to"])),
            *_gift_note(request.data),
            *_arrival(request, enclosures),
            *_tracking(request, enclosures),
            *_numbers(request.data, enclosures),
            *(
                [(_("Receipt"), Link(_("Download the PDF"), enclosures.receipt))]
                if enclosures.receipt
                else []
            ),
        ]
        thanks = _("Thank you for your order.")
        blocks: list[Block] = [
            Heading(heading),
            Paragraph(_hello(request.data)),
            Paragraph(_("Thank you for your order. It’s with the carrier.") if sent else thanks),
            *_link(enclosures),
            _items(request.data, enclosures),
            Facts(facts),
            *_small_print(enclosures),
        ]
        return _compose(request, sender=sender, heading=heading, blocks=blocks)


def compose_cancellation(request: Request, *, sender: Sender, enclosures: Enclosures = NOTHING) -> OrderEmail:
    """Writes the email that says that an order was cancelled. Raises `ValueError` if it cannot be composed.

    It is sent after everything else has been reversed (docs/adr/0005).
    """
    with translation.override(known_language(request.data.get("language"))):
        heading = _("Your order was cancelled.")
        handed_over = _("The carrier already had your parcel, so we’ve cancelled the shipment.")
        blocks: list[Block] = [
            Heading(heading),
            Paragraph(_hello(request.data)),
            *[Paragraph(sentence) for sentence in enclosures.cancellation or [_uncertain()]],
            *([Paragraph(handed_over)] if _was_sent(request) else []),
            *_link(enclosures),
            _items(request.data, enclosures),
            Facts([(_("Order number"), spoken_number(request.order_id))]),
            *_small_print(enclosures),
        ]
        return _compose(request, sender=sender, heading=heading, blocks=blocks)


def _uncertain() -> str:
    """What is true of any cancelled order's money."""
    return _(
        "If any money was reserved on your card or charged for this order, all of it has been released or refunded, and"
        " your bank may take up to 10 days to show it. There’s nothing you need to do."
    )


def _hello(data: Json) -> str:
    return _("Hello {name},").format(name=one_line(data["ship_to"]["name"]))


def _was_sent(request: Request) -> bool:
    """Whether the carrier has taken the parcel: the step has a result. It has none if it was skipped."""
    return bool(request.results.get(SHIPMENT))


def _gift_note(data: Json) -> Sequence[tuple[str, str]]:
    note = data.get("gift_note")
    return [(_("Gift note for the parcel"), one_line(note))] if note else []


def _arrival(request: Request, enclosures: Enclosures) -> Sequence[tuple[str, str]]:
    """From when to when the parcel should arrive, if it was sent, the order says how long that takes, and the email is
    not that late itself."""
    sent_at, written_at = enclosures.sent_at, enclosures.written_at
    if sent_at is None or written_at is None or not _was_sent(request):
        return []
    days = expected_arrival(request.data, sent_at, now=written_at)
    return [(_("Should arrive"), arrives(days, locale=reader_locale()))] if days else []


def _tracking(request: Request, enclosures: Enclosures) -> Sequence[tuple[str, str | Link]]:
    parcel = parcel_of(request.results.get(SHIPMENT), tracking_url=enclosures.tracking_url)
    if parcel is None:
        return []
    return [(_("Tracking number"), Link(parcel.tracking, parcel.url) if parcel.url else parcel.tracking)]


def _numbers(data: Json, enclosures: Enclosures) -> Sequence[tuple[str, str]]:
    """The numbers of the prints, each with the name of its line."""
    locale, numbers = reader_locale(), enclosures.numbers
    return [
        (one_line(name.whole), numbers_in_words(numbers[line["sku"]], locale=locale))
        for line in data["lines"]
        if line["sku"] in numbers
        for name in [enclosures.names.get(line["sku"]) or LineName(title=line["title"])]
    ]


def _link(enclosures: Enclosures) -> Sequence[Block]:
    return [order_button(enclosures.link)] if enclosures.link else []


def _small_print(enclosures: Enclosures) -> Sequence[Block]:
    notes = [Note(_("Questions? Reply to this email, and a person will answer."))]
    if enclosures.is_guests:
        notes.append(secrecy_note())
    return notes


def _items(data: Json, enclosures: Enclosures) -> Items:
    lines = (
        Line(sku=line["sku"], title=line["title"], quantity=line["quantity"], unit_price=line["unit_price"])
        for line in data["lines"]
    )
    return ordered_items(
        lines,
        total=Money(amount=data["total"], currency=data["currency"]),
        names=enclosures.names,
        pictures=enclosures.pictures,
        sums=sum_rows(data),
    )


def _compose(request: Request, *, sender: Sender, heading: str, blocks: Sequence[Block]) -> OrderEmail:
    recipient = request.data["email"]
    if not isinstance(recipient, str) or not is_ascii_address(recipient):
        raise ValueError("the email is not valid")
    letter = Letter(
        language=translation.get_language() or "en",
        sender=sender.name,
        subject=f"{heading.rstrip('.。')} ({spoken_number(request.order_id)})",
        preheader=", ".join(_titles(request.data)),
        blocks=blocks,
        labelled=labelled(),
    )
    headers = {
        "From": sender.header,
        **({"Reply-To": sender.reply_to} if sender.reply_to else {}),
        "To": recipient,
        "Subject": letter.subject,
        "Message-ID": message_id(request.key, sender.domain),
        "X-Order-Id": str(request.order_id),
        "Auto-Submitted": "auto-generated",
    }
    content = write(
        Message(headers=headers, text=as_text(letter), html=as_html(letter), pictures=letter.pictures)
    )
    return OrderEmail(recipient=recipient, message_id=headers["Message-ID"], content=content)


def _titles(data: Json) -> Iterable[str]:
    for line in data["lines"][:3]:
        yield f"{line['quantity']} × {one_line(line['title'])}"
