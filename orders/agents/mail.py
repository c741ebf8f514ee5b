"""Mail to the customer over SMTP: the confirmation of an order, and the notice that it was cancelled.

A receiver of mail cannot deduplicate, so that a mail is sent at least once; its Message-ID is the request's key, by
which mail programs and people tell a second copy.
"""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

import aiosmtplib

from orders.agents.mail_text import as_wire, compose_cancellation, compose_confirmation
from orders.agents.transport import unknown_operation
from orders.engine.contracts import Json, Request
from orders.engine.errors import Fault, Refused, Transient

SENDER = "Print Shop <orders@localhost>"


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail is handed in. With a `username` or `use_tls` nothing is sent before the connection is encrypted."""

    host: str
    port: int
    use_tls: bool
    username: str | None
    password: str | None


def read_email_url(url: str) -> MailServer:
    """The server of `smtp://[user:password@]host[:port]` or `smtps://…`. Raises `ValueError` for any other."""
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("the mail server's address must be smtp://HOST:PORT or smtps://HOST:PORT")
    use_tls = parts.scheme == "smtps"
    return MailServer(
        host=parts.hostname,
        port=parts.port or (465 if use_tls else 25),
        use_tls=use_tls,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
    )


def classify_mail(error: Exception) -> Fault:
    """The fault that the exception of a mail stands for.

    SMTP's own rule: an answer of 5xx is a definite no, one of 4xx may pass; so may a connection that is lost. A server
    that lacks what the message needs (an encrypted connection, say) is a definite no.
    """
    match error:
        case aiosmtplib.SMTPRecipientsRefused():
            return classify_mail(error.recipients[0])
        case aiosmtplib.SMTPResponseException(code=code) if 500 <= code < 600:
            return Refused(f"smtp_{code}", _one_line(error.message))
        case aiosmtplib.SMTPResponseException():
            return Transient(f"smtp_{error.code}", _one_line(error.message))
        case aiosmtplib.SMTPNotSupported():
            return Refused("smtp_not_supported", "the mail server lacks what this mail needs")
        case TimeoutError():
            return Transient("timeout", "no answer from the mail server in time")
        case ssl.SSLCertVerificationError():
            return Transient("certificate", "the mail server's certificate does not verify")
    return Transient("connection_lost", f"no connection to the mail server ({type(error).__name__})")


def _one_line(answer: str) -> str:
    shown = "".join(letter if letter.isprintable() else " " for letter in answer[:1_000])
    return " ".join(shown.split())[:300] or "the mail server said no more"


class Mail:
    """The agent of the mail server at `url`. `sender` is who mails come from, as in `Shop <orders@shop.example>`."""

    name = "mail"
    call_timeout = 5.0

    def __init__(self, url: str, *, sender: str = SENDER, capacity: int = 50) -> None:
        self.capacity = capacity
        self._server = read_email_url(url)
        self._sender = sender

    async def perform(self, request: Request) -> Json:
        """Sends the confirmation. Raises `Refused` when the address takes no mail."""
        if request.operation != "confirm":
            raise unknown_operation(request)
        return await self._send(self._composed(compose_confirmation, request))

    async def compensate(self, request: Request) -> Json:
        """Sends the notice that the order was cancelled."""
        if request.operation != "confirm":
            raise unknown_operation(request)
        return await self._send(self._composed(compose_cancellation, request))

    async def close(self) -> None:
        """Nothing is kept open between mails."""

    def _composed(self, compose: Callable[..., EmailMessage], request: Request) -> EmailMessage:
        try:
            return compose(request, sender=self._sender)
        except ValueError as error:
            raise Refused("bad_mail", str(error)) from error

    async def _send(self, message: EmailMessage) -> Json:
        server = self._server
        try:
            async with asyncio.timeout(self.call_timeout):
                await aiosmtplib.send(
                    as_wire(message),
                    sender=message["From"].addresses[0].addr_spec,
                    recipients=[message["To"].addresses[0].addr_spec],
                    hostname=server.host,
                    port=server.port,
                    username=server.username,
                    password=server.password,
                    use_tls=server.use_tls,
                    start_tls=True if server.username and not server.use_tls else None,
                    timeout=self.call_timeout,
                )
        except (aiosmtplib.SMTPException, OSError) as error:
            raise classify_mail(error) from error
        return {"message_id": str(message["Message-ID"])}
