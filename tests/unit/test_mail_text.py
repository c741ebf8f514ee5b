"""What the emails say, and that no customer's data can become a header or an email address of ours."""

import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from html import unescape
from typing import Any

import aiosmtplib
import pytest

from orders.agents.smtp import MailServer, classify_mail, read_email_url
from orders.business import Line, LineName, SumRow
from orders.emails.html import as_html
from orders.emails.letter import Letter, Picture, as_text
from orders.emails.mime import Message, write
from orders.engine.contracts import Json, Request
from orders.engine.errors import Fault, Refused, Transient
from orders.fields.money import Money
from orders.fields.order_numbers import spoken_number
from orders.shop.letters import (
    Enclosures,
    OrderEmail,
    compose_cancellation,
    compose_confirmation,
    message_id,
    read_sender,
)
from orders.shop.tracking import Parcel, parcel_of
from orders.wording.customers.ordered_items import ordered_items
from tests.support.mailbox import text_of

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


def test_the_confirmation_lists_the_lines_the_total_and_the_address() -> None:
    mail = as_received(compose_confirmation(request(), sender=SENDER))
    text = text_of(mail)
    assert mail["To"] == "ada@example.org"
    assert mail["From"] == "Print Shop <orders@shop.example>"
    assert mail["X-Order-Id"] == str(ORDER)
    assert mail["Subject"] == "Your order is confirmed (J46G-TPEM)"
    for part in ("Hello Ada Łucka,", spoken_number(ORDER), "2 × Tidal Lines: €78.00", "1 × Első nap: €49.00"):
        assert part in text
    for part in ("Total: €127.00", "1 Main St", "30-001 Kraków", "Poland"):
        assert part in text
    assert "racking" not in text


SUMMED = {
    "delivery": {"price": 890, "fewest_days": 3, "most_days": 6},
    "tax": {"rate": 2300, "amount": 2541},
    "total": 13590,
}


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
def test_both_emails_have_what_stands_between_the_lines_and_the_total(compose: Any) -> None:
    mail = as_received(compose(request(**SUMMED), sender=SENDER))
    assert (
        "  1 × Első nap: €49.00\n  Delivery to Poland: €8.90\n  Total: €135.90\n  Includes 23% VAT: €25.41\n"
    ) in text_of(mail)
    html = html_of(mail)
    places = [html.index(part) for part in ("Delivery to Poland", "€8.90", "€135.90", "Includes 23% VAT")]
    assert places == sorted(places)


def test_an_email_says_that_delivery_is_free() -> None:
    free = {"delivery": {**SUMMED["delivery"], "price": 0}, "total": 12700}
    assert "Delivery to Poland: free" in text_of(
        as_received(compose_confirmation(request(**free), sender=SENDER))
    )


def test_the_confirmation_says_when_the_parcel_should_arrive_from_when_it_was_sent() -> None:
    sent = {"create-shipment": {"tracking": "trk_1"}}
    friday = Enclosures(sent_at=datetime(2026, 11, 27, 23, 59, tzinfo=UTC))
    mail = as_received(
        compose_confirmation(request(results=sent, **SUMMED), sender=SENDER, enclosures=friday)
    )
    assert "Should arrive: Wed, Dec 2 – Mon, Dec 7" in text_of(mail).replace("\u2009", " ")
    for results, data, enclosures in (
        ({}, SUMMED, friday),
        (sent, {}, friday),
        (sent, SUMMED, Enclosures()),
    ):
        mail = as_received(
            compose_confirmation(request(results=results, **data), sender=SENDER, enclosures=enclosures)
        )
        assert "Should arrive" not in text_of(mail)


def test_the_confirmation_names_the_tracking_number_when_there_is_one() -> None:
    shown = compose_confirmation(request(results={"create-shipment": {"tracking": "trk_1"}}), sender=SENDER)
    assert "Tracking number: trk_1" in text_of(as_received(shown))


SETTING = "https://parcels.example/?id={tracking}"


def test_the_confirmation_leads_to_the_carriers_page_about_the_parcel() -> None:
    mail = as_received(
        compose_confirmation(
            request(results={"create-shipment": {"tracking": "trk_1"}}),
            sender=SENDER,
            enclosures=Enclosures(tracking_url=SETTING),
        )
    )
    assert "Tracking number:\n  trk_1\n  https://parcels.example/?id=trk_1\n" in text_of(mail)
    assert re.search(r'<a [^>]*href="https://parcels\.example/\?id=trk_1"[^>]*>trk_1</a>', html_of(mail))


def test_the_confirmation_leads_to_the_receipt() -> None:
    url = "https://shop.example/o/x/receipt.pdf"
    mail = as_received(compose_confirmation(request(), sender=SENDER, enclosures=Enclosures(receipt=url)))
    assert f"Receipt:\n  Receipt (PDF)\n  {url}\n" in text_of(mail)
    assert "eceipt" not in text_of(as_received(compose_confirmation(request(), sender=SENDER)))


@pytest.mark.parametrize(
    ("answer", "setting", "url"),
    [
        ({}, "", ""),
        ({}, SETTING, "https://parcels.example/?id=a%2F%22%C3%A9"),
        ({"tracking_url": "https://carrier.example/p/1"}, SETTING, "https://carrier.example/p/1"),
        ({"tracking_url": "javascript:alert(1)"}, SETTING, "https://parcels.example/?id=a%2F%22%C3%A9"),
        ({"tracking_url": "https://x\nBcc: eve"}, "", ""),
        ({"tracking_url": "https://x/" + "y" * 500}, "", ""),
        ({"tracking_url": ["https://x/"]}, "", ""),
    ],
)
def test_a_parcels_page_is_the_carriers_answer_or_follows_from_the_setting(
    answer: Json, setting: str, url: str
) -> None:
    parcel = parcel_of({"tracking": 'a/"é', **answer}, tracking_url=setting)
    assert parcel == Parcel(tracking='a/"é', url=url)


@pytest.mark.parametrize("result", [None, {}, {"tracking": 5}, {"tracking": "a\nb"}])
def test_the_confirmation_does_not_need_a_usable_tracking_number(result: Any) -> None:
    shown = compose_confirmation(request(results={"create-shipment": result}), sender=SENDER)
    assert "racking" not in text_of(as_received(shown))


@pytest.mark.pattern("C10")
def test_the_notice_says_that_nothing_is_owed_and_no_action_is_needed_and_guesses_no_sum() -> None:
    mail = as_received(compose_cancellation(request(), sender=SENDER))
    text = text_of(mail)
    assert "cancelled" in mail["Subject"]
    assert mail["X-Order-Id"] == str(ORDER)
    for part in ("was cancelled", "released or refunded", "up to 10 days", "nothing you need to do"):
        assert part in text
    assert "carrier" not in text and "€127.00 has" not in text


@pytest.mark.pattern("C10")
def test_the_notice_says_why_and_what_became_of_the_money_where_that_is_known() -> None:
    sentences = ("You cancelled it.", "Nothing was charged or reserved.")
    enclosures = replace(ENCLOSURES, cancellation=sentences)
    mail = as_received(compose_cancellation(request(), sender=SENDER, enclosures=enclosures))
    for part in (text_of(mail), html_of(mail)):
        assert all(sentence in part for sentence in sentences)
        assert "If any money" not in part and "bank" not in part


@pytest.mark.pattern("C10")
def test_the_notice_of_an_order_that_was_handed_over_says_so_without_the_number_of_its_parcel() -> None:
    request_ = request(results={"create-shipment": {"tracking": "trk_1"}})
    text = text_of(as_received(compose_cancellation(request_, sender=SENDER)))
    assert "handed to the carrier already, and we’ve cancelled the shipment" in text
    assert "trk_1" not in text


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
def test_both_emails_call_each_line_what_the_pages_call_it(compose: Any) -> None:
    names = {"tidal-lines": LineName(title="Tidal Lines", details="30 × 40 cm · Open edition")}
    mail = as_received(compose(request(), sender=SENDER, enclosures=Enclosures(names=names)))
    lines = "  2 × Tidal Lines: €78.00\n      30 × 40 cm · Open edition\n  1 × Első nap: €49.00\n  Total: €127.00\n"
    assert lines in text_of(mail)
    assert html_of(mail).count(">30 × 40 cm · Open edition</span>") == 1


def test_what_a_total_consists_of_stands_between_the_lines_and_the_total() -> None:
    sums = [
        SumRow(label="Delivery to <Germany>", amount=Money(amount=690, currency="EUR"), is_included=False),
        SumRow(label="includes 21% VAT", amount=Money(amount=120, currency="EUR"), is_included=True),
    ]
    lines = [Line(sku="nap", title="Nap", unit_price=4900)]
    total = Money(amount=5590, currency="EUR")
    items = ordered_items(lines, total=total, names={}, pictures={}, sums=sums)
    letter = Letter(language="en", sender="S", subject="S", preheader="", blocks=[items])
    assert as_text(letter) == (
        "  1 × Nap: €49.00\n  Delivery to <Germany>: €6.90\n  Total: €55.90\n  includes 21% VAT: €1.20\n"
    )
    parts = ("Nap<", "€49.00", "Delivery to &lt;Germany&gt;", "€6.90", "Total", "€55.90", "21% VAT", "€1.20")
    places = [as_html(letter).index(part) for part in parts]
    assert places == sorted(places)


def test_names_in_any_script_arrive_as_they_are() -> None:
    sender = read_sender("Plakát 포스터 <orders@shop.example>")
    ship_to = {**request().data["ship_to"], "name": "김민지 Müller", "city": "서울", "country": "KR"}
    mail = as_received(compose_confirmation(request(ship_to=ship_to), sender=sender))
    assert mail["From"] == "Plakát 포스터 <orders@shop.example>"
    for part in (text_of(mail), html_of(mail)):
        assert "Hello 김민지 Müller," in part and "서울" in part and "South Korea" in part


@pytest.mark.parametrize(
    ("tag", "language", "total"),
    [("en", "en", "€127.00"), ("hu-HU", "hu", "127,00"), ("tlh", "en", "€127.00")],
)
def test_an_email_is_in_the_language_of_the_order_if_we_have_it(tag: str, language: str, total: str) -> None:
    mail = as_received(compose_confirmation(request(language=tag), sender=SENDER))
    assert f'<html lang="{language}">' in html_of(mail)
    assert total in text_of(mail) and total in html_of(mail)


def test_both_forms_of_an_email_say_the_same_and_fetch_nothing() -> None:
    ship_to = {**request().data["ship_to"], "name": "<b>Ada</b> & Co"}
    mail = as_received(compose_confirmation(request(ship_to=ship_to), sender=SENDER, enclosures=ENCLOSURES))
    html = html_of(mail)
    assert "&lt;b&gt;Ada&lt;/b&gt; &amp; Co" in html and "<b>Ada" not in html
    assert not re.search(r"(src|url)\W{1,3}https?:|<script|@import", html)
    assert re.findall(r"href=\"(.*?)\"", html) == [ENCLOSURES.link]
    words = unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split()
    missing = set(text_of(mail).replace(":", " ").replace("2 ×", "").replace("1 ×", "").split()) - set(words)
    missing -= {"https", ENCLOSURES.link.removeprefix("https:")}
    assert missing == set()


@pytest.mark.pattern("A3", "A7")
def test_the_same_request_and_enclosures_give_the_same_email() -> None:
    first, second = (
        compose_confirmation(request(), sender=SENDER, enclosures=ENCLOSURES).content for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("compose", [compose_confirmation, compose_cancellation])
@pytest.mark.parametrize("is_guests", [True, False])
def test_both_emails_lead_to_the_order_and_show_what_has_a_picture(compose: Any, is_guests: bool) -> None:
    enclosures = replace(ENCLOSURES, is_guests=is_guests)
    mail = as_received(compose(request(), sender=SENDER, enclosures=enclosures))
    html = html_of(mail)
    assert f"Go to your order:\n\n{ENCLOSURES.link}\n" in text_of(mail)
    assert f'<a class="action" href="{ENCLOSURES.link}"' in html
    assert html.count("<img") == html.count(f'src="cid:{PICTURE.cid}"') == 1
    (png,) = (part for part in mail.walk() if part.get_content_type() == "image/png")
    assert (png["Content-ID"], png.get_content()) == (f"<{PICTURE.cid}>", PICTURE.png)
    assert (KEEP_IT in text_of(mail)) == (KEEP_IT in html) == is_guests


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
