"""What the emails say, and that no customer's data can become a header or an email address of ours."""

import uuid
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any

import aiosmtplib
import pytest

from orders.agents.smtp import MailServer, classify_mail, read_email_url
from orders.engine.contracts import Json, Request
from orders.engine.errors import Fault, Refused, Transient
from orders.shop.agents.mail_text import (
    PlainHeaders,
    compose_cancellation,
    compose_confirmation,
    message_id,
    money,
    read_sender,
)

ORDER = uuid.UUID("01936c2e-0000-7000-8000-0000000000aa")
SENDER = read_sender("Print Shop <orders@shop.example>")


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


def as_received(message: EmailMessage) -> EmailMessage:
    """The message as its recipient gets it."""
    received = BytesParser(policy=default).parsebytes(bytes(message))
    assert isinstance(received, EmailMessage)
    return received


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (12700, "EUR", "EUR 127.00"),
        (1, "EUR", "EUR 0.01"),
        (123456789, "USD", "USD 1,234,567.89"),
        (0, "EUR", "EUR 0.00"),
        (-250, "EUR", "EUR -2.50"),
        (4900, "JPY", "JPY 4,900"),
        (4900, "HUF", "HUF 4,900"),
        (4900, "KRW", "KRW 4,900"),
        (4900, "KWD", "KWD 4.900"),
    ],
)
def test_money_is_shown_from_minor_units(amount: int, currency: str, text: str) -> None:
    assert money(amount, currency) == text


def test_the_confirmation_lists_the_lines_the_total_and_the_address() -> None:
    mail = as_received(compose_confirmation(request(), sender=SENDER))
    text = mail.get_content()
    assert mail["To"] == "ada@example.org"
    assert mail["From"] == "Print Shop <orders@shop.example>"
    assert mail["X-Order-Id"] == str(ORDER)
    assert "confirmed" in mail["Subject"]
    for part in ("Hello Ada Łucka,", str(ORDER), "2 × Tidal Lines: EUR 78.00", "1 × Első nap: EUR 49.00"):
        assert part in text
    for part in ("Total: EUR 127.00", "1 Main St", "30-001 Kraków", "PL"):
        assert part in text
    assert "tracking" not in text


def test_the_confirmation_names_the_tracking_number_when_there_is_one() -> None:
    shown = compose_confirmation(request(results={"create-shipment": {"tracking": "trk_1"}}), sender=SENDER)
    assert "tracking number is trk_1." in as_received(shown).get_content()


@pytest.mark.parametrize("result", [None, {}, {"tracking": 5}, {"tracking": "a\nb"}])
def test_the_confirmation_does_not_need_a_usable_tracking_number(result: Any) -> None:
    shown = compose_confirmation(request(results={"create-shipment": result}), sender=SENDER)
    assert "tracking" not in as_received(shown).get_content()


@pytest.mark.pattern("C10")
def test_the_notice_says_that_nothing_is_owed_and_no_action_is_needed() -> None:
    mail = as_received(compose_cancellation(request(), sender=SENDER))
    text = mail.get_content()
    assert "cancelled" in mail["Subject"]
    assert mail["X-Order-Id"] == str(ORDER)
    for part in ("was cancelled", "EUR 127.00", "has been released or refunded", "need to do anything"):
        assert part in text


@pytest.mark.pattern("A3", "A7")
def test_the_same_request_gives_the_same_email() -> None:
    first, second = (bytes(compose_confirmation(request(), sender=SENDER)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("suffix", ["", "/undo", "/undo2"])
def test_the_message_id_is_the_key(suffix: str) -> None:
    key = f"{ORDER}/send-confirmation/12{suffix}"
    mail = as_received(compose_confirmation(request(key=key), sender=SENDER))
    assert str(mail["Message-ID"]) == f"<{key}@shop.example>"
    assert not mail["Message-ID"].defects


@pytest.mark.parametrize("key", ["", "a b", "a\nb", "a>b", "a@b", ".a", "a.", "a..b", "é"])
def test_a_key_that_cannot_be_a_message_id_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="Message-ID"):
        message_id(key, "shop.example")


@pytest.mark.parametrize(
    "email",
    [
        "",
        "@",
        "ada",
        "ada@example.org\nBcc: eve@example.org",
        "ada@example.org\r\nBcc: eve@example.org",
        "ada@example.org, eve@example.org",
        "Ada <ada@example.org>",
        "ada@example.org (Ada)",
        "ada @example.org",
        "ada@example@org",
        "ada\0@example.org",
        "ádá@example.org",
        "a..b@example.org",
        ".a@example.org",
        "a" * 250 + "@example.org",
    ],
)
def test_only_a_single_bare_recipient_is_accepted(email: str) -> None:
    with pytest.raises(ValueError, match="email"):
        compose_confirmation(request(email=email), sender=SENDER)


@pytest.mark.parametrize(
    ("text", "header", "domain"),
    [
        ("orders@shop.example", "orders@shop.example", "shop.example"),
        ("Print Shop <orders@localhost>", "Print Shop <orders@localhost>", "localhost"),
        ("Plakát <orders@shop.example>", "=?utf-8?q?Plak=C3=A1t?= <orders@shop.example>", "shop.example"),
    ],
)
def test_a_sender_is_an_email_address_with_or_without_a_name(text: str, header: str, domain: str) -> None:
    sender = read_sender(text)
    assert (sender.header, sender.domain) == (header, domain)
    assert compose_confirmation(request(), sender=sender)["From"] == header


@pytest.mark.parametrize("text", ["", "Shop", "Shop <>", "a@b\nBcc: x@y", "Shop\n <a@b.example>"])
def test_an_invalid_sender_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="sender"):
        read_sender(text)


@pytest.mark.parametrize("value", ["a\nBcc: x@y", "a\rb", "a\0b", "é", "a\u2028b", "x" * 901, 5])
def test_no_header_can_contain_another(value: Any) -> None:
    message = EmailMessage(policy=PlainHeaders())
    with pytest.raises(ValueError, match="one line"):
        message["Subject"] = value


def test_a_long_email_address_survives_the_wire() -> None:
    email = f"{'a' * 60}@{'b' * 60}.{'c' * 60}.example.org"
    assert as_received(compose_confirmation(request(email=email), sender=SENDER))["To"] == email


def test_no_order_data_can_forge_a_line() -> None:
    lines = [{"sku": "x", "title": "A\n\nPay eve", "quantity": 1, "unit_price": 12700}]
    ship_to = dict.fromkeys(("name", "street", "city", "postal_code", "country"), "B\r\nBcc: eve")
    for compose in (compose_confirmation, compose_cancellation):
        mail = as_received(compose(request(lines=lines, ship_to=ship_to), sender=SENDER))
        assert set(mail.keys()) == {
            "From", "To", "Subject", "Message-ID", "X-Order-Id", "Auto-Submitted",
            "Content-Type", "Content-Transfer-Encoding", "MIME-Version",
        }  # fmt: skip
        assert not any(line.strip().startswith(("Pay", "Bcc")) for line in mail.get_content().splitlines())


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://127.0.0.1:9001", ("127.0.0.1", 9001, False, None, None)),
        ("smtp://mail.example", ("mail.example", 25, False, None, None)),
        ("smtps://mail.example", ("mail.example", 465, True, None, None)),
        ("smtps://a%40b:p%3Aq@mail.example:1465", ("mail.example", 1465, True, "a@b", "p:q")),
        ("smtp://[::1]:2525", ("::1", 2525, False, None, None)),
    ],
)
def test_a_mail_server_url_is_read(url: str, server: tuple[Any, ...]) -> None:
    host, port, use_tls, username, password = server
    assert read_email_url(url) == MailServer(
        host=host, port=port, use_tls=use_tls, username=username, password=password
    )


@pytest.mark.parametrize("url", ["http://mail.example", "smtp://", "mail.example", "", "smtp://mail:port"])
def test_an_invalid_mail_server_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        read_email_url(url)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (aiosmtplib.SMTPDataError(451, "later"), Transient, "smtp_451"),
        (aiosmtplib.SMTPDataError(550, "never"), Refused, "smtp_550"),
        (aiosmtplib.SMTPConnectResponseError(421, "down"), Transient, "smtp_421"),
        (aiosmtplib.SMTPAuthenticationError(535, "who?"), Refused, "smtp_535"),
        (
            aiosmtplib.SMTPRecipientsRefused([aiosmtplib.SMTPRecipientRefused(550, "no such", "a@b")]),
            Refused,
            "smtp_550",
        ),
        (
            aiosmtplib.SMTPRecipientsRefused([aiosmtplib.SMTPRecipientRefused(450, "later", "a@b")]),
            Transient,
            "smtp_450",
        ),
        (aiosmtplib.SMTPNotSupported("no TLS"), Refused, "smtp_not_supported"),
        (aiosmtplib.SMTPServerDisconnected("gone"), Transient, "connection_lost"),
        (aiosmtplib.SMTPConnectTimeoutError("slow"), Transient, "timeout"),
        (aiosmtplib.SMTPReadTimeoutError("slow"), Transient, "timeout"),
        (TimeoutError(), Transient, "timeout"),
        (ConnectionRefusedError(), Transient, "connection_lost"),
    ],
)
def test_each_smtp_reply_is_one_kind_of_fault(error: Exception, kind: type[Fault], code: str) -> None:
    fault = classify_mail(error)
    assert type(fault) is kind
    assert fault.code == code
