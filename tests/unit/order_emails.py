"""An order that is emailed about, and its emails as they are received."""

import uuid
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any

from orders.emails.letter import Picture
from orders.engine.contracts import Json, Request
from orders.shop.letters import (
    Enclosures,
    OrderEmail,
    read_sender,
)

ORDER = uuid.UUID("01936c2e-0000-7000-8000-0000000000aa")
SENDER = read_sender("Print Shop <orders@shop.example>")
PICTURE = Picture(cid="picture0@order", png=b"\x89PNG", width=72, height=96)
ENCLOSURES = Enclosures(link="https://shop.example/o/abc/", pictures={"first-sun": PICTURE})
KEEP_IT = "Anyone who has this email can see your order, so please keep it to yourself."


def request(*, key: str = "", results: dict[str, Json] | None = None, **data: Any) -> Request:
    return Request(
        order_id=ORDER,
        step="send-confirmation",
        operation="confirm",
        attempt=1,
        key=key or f"{ORDER}/send-confirmation/1",
        data={
            "email": "ada@example.org",
            "lines": [
                {"sku": "tidal-lines", "title": "Tidal Lines", "quantity": 2, "unit_price": 3900},
                {"sku": "first-sun", "title": "Első nap", "quantity": 1, "unit_price": 4900},
            ],
            "total": 12700,
            "currency": "EUR",
            "ship_to": {
                "name": "Ada Łucka",
                "street": "1 Main St",
                "city": "Kraków",
                "postal_code": "30-001",
                "country": "PL",
            },
            **data,
        },
        results=results or {},
        compensates=False,
        reverses="",
        seconds_left=30.0,
    )


def as_received(email: OrderEmail) -> EmailMessage:
    """The email as its recipient gets it."""
    received = BytesParser(policy=default).parsebytes(email.content)
    assert isinstance(received, EmailMessage)
    return received


def html_of(email: EmailMessage) -> str:
    part = email.get_body(("html",))
    assert part is not None
    return str(part.get_content())
