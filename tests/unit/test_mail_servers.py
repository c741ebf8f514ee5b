"""The url of a mail server, and what each of its replies means."""

from typing import Any

import aiosmtplib
import pytest

from orders.agents.smtp import MailServer, classify_mail, read_email_url
from orders.engine.errors import Fault, Refused, Transient


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
