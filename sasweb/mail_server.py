"""The mail server that EMAIL_URL names: sending one email to it, and its form as Django's settings.

With a user name, or with the scheme smtps, nothing is sent before the connection is encrypted.
"""

import asyncio
import contextlib
import ssl
from email.headerregistry import Address
from email.policy import default as email_policy
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import aiosmtplib
import django
from django.utils.encoding import punycode

BACKEND = "django.core.mail.backends.smtp.EmailBackend"
TIMEOUT = 5.0
"""Seconds that the mail server has to take one email, from the connection to its last reply."""


class NotSentError(Exception):
    """Raised when the mail server did not take an email. `is_final`: it refuses this email and always will."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


def send(url: str, message: bytes, *, sender: str, recipient: str) -> None:
    """Hands one email, to one recipient, to the mail server at `url`. Raises `NotSentError`."""
    try:
        asyncio.run(_send(url, message, sender=sender, recipient=recipient))
    except (aiosmtplib.SMTPException, OSError, ValueError) as error:
        raise _not_sent(error) from error


def settings(url: str) -> dict[str, Any]:
    """The mail server as Django's settings, for whatever sends email through them."""
    parts = urlsplit(url)
    options = {
        "host": parts.hostname,
        "port": _port(url),
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_ssl": parts.scheme == "smtps",
        "use_tls": bool(parts.username) and parts.scheme != "smtps",
        "timeout": TIMEOUT,
    }
    if django.VERSION >= (6, 1):
        return {"MAILERS": {"default": {"BACKEND": BACKEND, "OPTIONS": options}}}
    names = {"username": "HOST_USER", "password": "HOST_PASSWORD"}
    return {
        "EMAIL_BACKEND": BACKEND,
        **{f"EMAIL_{names.get(name, name.upper())}": value for name, value in options.items()},
    }


def address(mailbox: str) -> str:
    """The email address of a mailbox such as `Shop <shop@example.org>`, its domain in ASCII. Raises `ValueError`."""
    addresses = email_policy.header_factory("To", mailbox).addresses
    if len(addresses) != 1 or not addresses[0].domain:
        raise ValueError(f"not an email address: {mailbox!r}")
    return Address(username=addresses[0].username, domain=punycode(addresses[0].domain)).addr_spec


async def _send(url: str, message: bytes, *, sender: str, recipient: str) -> None:
    parts = urlsplit(url)
    client = aiosmtplib.SMTP(
        hostname=parts.hostname,
        port=_port(url),
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        use_tls=parts.scheme == "smtps",
        start_tls=True if parts.username and parts.scheme != "smtps" else None,
        tls_context=_tls(),
        timeout=TIMEOUT,
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            await client.connect()
            await client.sendmail(sender, [recipient], message)
        # The email has been taken. Whatever happens from here on must not have it sent again.
        with contextlib.suppress(aiosmtplib.SMTPException, OSError):
            await client.quit(timeout=1.0)
    finally:
        client.close()


def _not_sent(error: Exception) -> NotSentError:
    """SMTP's own rule: a reply of 5xx to the recipient or the text is final, everything else may pass.

    A server that refuses the sender or the password refuses every email: that is fixed in the settings, and then the
    waiting emails are sent.
    """
    match error:
        case aiosmtplib.SMTPRecipientsRefused():
            reply = error.recipients[0]
            return NotSentError(_line(reply.code, reply.message), is_final=reply.code >= 500)
        case aiosmtplib.SMTPDataError():
            return NotSentError(_line(error.code, error.message), is_final=error.code >= 500)
        case aiosmtplib.SMTPResponseException():
            return NotSentError(_line(error.code, error.message))
        case TimeoutError():
            return NotSentError(f"no answer from the mail server within {TIMEOUT:g} seconds")
        case OSError() | aiosmtplib.SMTPException():
            return NotSentError(str(error) or type(error).__name__)
    return NotSentError(str(error) or type(error).__name__, is_final=True)


def _line(code: int, reply: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in f"{code} {reply}"[:1_000])
    return " ".join(printable.split())


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (465 if parts.scheme == "smtps" else 25)


@cache
def _tls() -> ssl.SSLContext:
    """Made once: it takes 20 ms to read the system's certificates."""
    return ssl.create_default_context()
