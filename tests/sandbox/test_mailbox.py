"""The mailbox shows people what the sink has stored, and trusts none of it."""

import http.client
import re
import smtplib
import sqlite3
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.sandbox.process import BOUND, Sandbox, new_key

PNG = b"\x89PNG\r\n\x1a\n a picture"
OLD_TABLE = """
CREATE TABLE mail (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL, sender TEXT NOT NULL, recipients TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, order_id TEXT NOT NULL, at TEXT NOT NULL
);
INSERT INTO mail VALUES (1, 'k', 'shop@example.com', '["ada@example.com"]', 'Old', 'Hello https://example.com/old.', '',
    '2026-01-01T00:00:00.000000Z');
"""


def page(sandbox: Sandbox, path: str) -> tuple[int, dict[str, str], str]:
    """The status, the headers and the text of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", sandbox.port, timeout=BOUND)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, dict(response.headers), response.read().decode(errors="replace")
    finally:
        connection.close()


def send(sandbox: Sandbox, content: bytes, *, to: str) -> int:
    """Sends an email and returns its number in the mailbox."""
    connection = smtplib.SMTP("127.0.0.1", sandbox.port + 1, "localhost", BOUND)
    try:
        connection.sendmail("shop@example.com", [to], content.replace(b"\n", b"\r\n"))
    finally:
        connection.close()
    return numbers(page(sandbox, f"/_mail/?to={to}")[2])[0]


def numbers(listing: str) -> list[int]:
    return [int(number) for number in re.findall(r'<li><a href="/_mail/(\d+)">', listing)]


def with_picture(page_of_it: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Print Shop <shop@example.com>", "김 <kim@example.com>"
    mail["Subject"], mail["X-Order-ID"] = "Your order <b> & 김", "o-1"
    mail.set_content("Confirm: https://shop.example/sign-up/x?a=1&b=2.\n")
    mail.add_alternative(page_of_it, subtype="html")
    related = mail.get_payload()[1]
    related.add_related(PNG, "image", "png", cid="<poster-1@shop>")
    return mail.as_bytes()


def test_an_email_is_shown_with_its_html_its_pictures_its_text_and_its_source(sandbox: Sandbox) -> None:
    to = f"{new_key()}@example.com"
    sent = with_picture(
        '<html><head lang="en"><title>x</title></head><body><img src="cid:poster-1@shop" alt="Tidal Lines">'
        '<a href="https://shop.example/o/1" target="_blank">Your order</a></body></html>'
    )
    number = send(sandbox, sent, to=to)
    status, headers, shown = page(sandbox, f"/_mail/{number}")
    assert status == 200
    assert headers["Content-Security-Policy"].startswith(
        "default-src 'none'; style-src 'self'; frame-src 'self'"
    )
    assert "<h1>Your order &lt;b&gt; &amp; 김</h1>" in shown
    assert "Print Shop &lt;shop@example.com&gt;" in shown
    assert "<dd>o-1</dd>" in shown
    assert '<a href="https://shop.example/sign-up/x?a=1&amp;b=2">' in shown
    assert f'<iframe src="/_mail/{number}/html"' in shown

    _, headers, part = page(sandbox, f"/_mail/{number}/html")
    assert '<head lang="en"><base target="_top"><title>' in part
    assert (
        '<a href="https://shop.example/o/1">Your order</a>' in part
    )  # which opens in the whole window, then
    assert 'src="data:image/png;base64,iVBORw0KGgogYSBwaWN0dXJl"' in part
    policy = headers["Content-Security-Policy"]
    assert policy.startswith(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'"
    )
    assert "allow-scripts" not in policy + shown
    assert "allow-same-origin" not in policy + shown

    _, headers, raw = page(sandbox, f"/_mail/{number}/raw")
    assert (headers["Content-Type"], headers["X-Content-Type-Options"]) == (
        "text/plain; charset=utf-8",
        "nosniff",
    )
    assert raw.replace("\r\n", "\n") == sent.decode()


def test_the_newest_emails_come_first_a_page_at_a_time_and_to_one_recipient(sandbox: Sandbox) -> None:
    to = f"{new_key()}@example.com"
    sent = [send(sandbox, b"Subject: hello\n\nhi", to=to) for _ in range(52)]
    other = send(sandbox, b"Subject: hello\n\nhi", to=f"other-{to}")
    assert numbers(page(sandbox, "/_mail/")[2])[:2] == [other, sent[-1]]
    first = page(sandbox, f"/_mail/?to={to.upper()}")[2]
    assert numbers(first) == sent[:1:-1]
    assert f"<option selected>{to}</option>" in first
    (older,) = re.findall(r'<a href="([^"]+)">Older emails', first)
    rest = page(sandbox, older.replace("&amp;", "&"))[2]
    assert numbers(rest) == [sent[1], sent[0]]
    assert "Older emails" not in rest
    assert "No email to nobody@example.com so far." in page(sandbox, "/_mail/?to=nobody@example.com")[2]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no header at all",
        b"Subject: =?nonsense?q?x?=\nFrom: a b@[\n\nbody",
        b"Content-Type: text/plain; charset=nonsense\n\nbody",
        b"Content-Type: multipart/mixed\n\nbody",
        b"Content-Type: text/html; charset=utf-8\n\n\xff<p>",
        b"Content-Type: multipart/related; boundary=x\n\n--x\nContent-ID: <a>\nContent-Type: image/png\n\n%\n--x--",
    ],
)
def test_a_malformed_email_has_a_page_too(sandbox: Sandbox, content: bytes) -> None:
    number = send(sandbox, content, to=f"{new_key()}@example.com")
    assert page(sandbox, f"/_mail/{number}")[0] == 200
    assert page(sandbox, f"/_mail/{number}/raw")[0] == 200
    assert page(sandbox, f"/_mail/{number}/html")[0] in (200, 404)


def test_there_is_no_page_of_an_email_that_did_not_arrive(sandbox: Sandbox) -> None:
    for path in ("999999999", "999999999/html", "999999999/raw"):
        status, headers, shown = page(sandbox, f"/_mail/{path}")
        assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")
        assert "No such email" in shown


def test_the_ledger_of_an_older_sandbox_keeps_its_emails_and_takes_new_ones(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "sandbox.sqlite3")
    connection.executescript(OLD_TABLE)
    connection.close()
    sandbox = Sandbox(tmp_path)
    try:
        shown = page(sandbox, "/_mail/1")[2]
        assert '<pre>Hello <a href="https://example.com/old">https://example.com/old</a>.</pre>' in shown
        assert "Source" not in shown
        assert page(sandbox, "/_mail/1/raw")[0] == 404
        number = send(sandbox, b"Subject: new\n\nhi", to="ada@example.com")
        assert numbers(page(sandbox, "/_mail/?to=ada@example.com")[2]) == [number, 1]
        assert [entry["subject"] for entry in sandbox.ledger("mail")] == ["Old", "new"]
    finally:
        sandbox.end()


def test_an_emails_order_has_the_number_that_customers_know(sandbox: Sandbox) -> None:
    sent = b"Subject: Your posters are on their way (7KXM-93DJ)\nX-Order-Id: o-1\n\nhi"
    shown = page(sandbox, f"/_mail/{send(sandbox, sent, to=f'{new_key()}@example.com')}")[2]
    assert "<dt>Order</dt><dd>7KXM-93DJ</dd>" in shown
