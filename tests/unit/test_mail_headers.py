"""No customer's data can become a header, a line or an email address of ours."""

from email.parser import BytesParser
from email.policy import default
from typing import Any

import pytest

from orders.emails.mime import Message, write
from orders.shop.letters import (
    compose_cancellation,
    compose_confirmation,
    message_id,
    read_sender,
)
from tests.support.mailbox import text_of
from tests.unit.order_emails import ORDER, SENDER, as_received, request


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
    content = compose_confirmation(request(), sender=sender).content
    assert content.startswith(f"From: {header}\r\n".encode())


@pytest.mark.parametrize("text", ["", "Shop", "Shop <>", "a@b\nBcc: x@y", "Shop\n <a@b.example>"])
def test_an_invalid_sender_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="sender"):
        read_sender(text)


@pytest.mark.parametrize("value", ["a\nBcc: x@y", "a\rb", "a\0b", "é\nBcc: x@y", "a\u2028b", "x" * 901])
def test_no_header_can_contain_another(value: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        write(Message(headers={"Subject": value}, text="t"))


def test_a_long_subject_in_another_script_is_folded_and_read_back() -> None:
    subject = "주문이 접수되었습니다 " * 12
    received = BytesParser(policy=default).parsebytes(write(Message(headers={"Subject": subject}, text="t")))
    assert received["Subject"].split() == subject.split()


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
            "Content-Type", "MIME-Version",
        }  # fmt: skip
        assert not any(line.strip().startswith(("Pay", "Bcc")) for line in text_of(mail).splitlines())


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("hello@shop.example", "hello@shop.example"),
        ("Plakát <hello@shop.example>", "=?utf-8?q?Plak=C3=A1t?= <hello@shop.example>"),
    ],
)
@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
def test_replies_go_where_customers_write_to(compose: Any, text: str, header: str) -> None:
    sender = read_sender("Print Shop <orders@shop.example>", reply_to=text)
    content = compose(request(), sender=sender).content
    assert f"\r\nReply-To: {header}\r\n".encode() in content
    assert b"Reply-To" not in compose(request(), sender=SENDER).content


@pytest.mark.parametrize("text", ["shop", "hello@shóp.example", "hello@shop.example\n"])
def test_replies_go_to_one_email_address_in_ascii(text: str) -> None:
    with pytest.raises(ValueError, match="replies to emails must go to an address like"):
        read_sender("orders@shop.example", reply_to=text)
