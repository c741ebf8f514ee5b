"""SMTP for agents: one try of one mail, over connections that are kept and shared.

Nothing here tries again: the agents' host does, inside the complete-by time.
"""

import asyncio
import contextlib
import ssl
import time
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, urlsplit

import aiosmtplib

from orders.agents.transport import IDLE_CONNECTION
from orders.engine.errors import Fault, Refused, Transient

MAILS_PER_CONNECTION = 100
"""After that many a connection is given up: servers limit it, and a farm of them should share the work."""


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail is handed in. With a `username` or `use_tls` nothing is sent before the connection is encrypted."""

    host: str
    port: int
    use_tls: bool
    username: str | None
    password: str | None


@dataclass(frozen=True, kw_only=True)
class Connection:
    """An open connection that nobody uses now. `idle_since` is in the seconds of `time.monotonic`."""

    client: aiosmtplib.SMTP
    mails: int
    idle_since: float


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
    if type(error) in (
        aiosmtplib.SMTPNotSupported,
        aiosmtplib.SMTPException,
    ):  # the bare one: no STARTTLS or AUTH
        return Refused("smtp_not_supported", "the mail server lacks what this mail needs")
    match error:
        case aiosmtplib.SMTPRecipientsRefused():
            return classify_mail(error.recipients[0])
        case aiosmtplib.SMTPResponseException(code=code) if 500 <= code < 600:
            return Refused(f"smtp_{code}", _one_line(error.message))
        case aiosmtplib.SMTPResponseException() if error.code > 0:
            return Transient(f"smtp_{error.code}", _one_line(error.message))
        case TimeoutError():
            return Transient("timeout", "no answer from the mail server in time")
        case ssl.SSLCertVerificationError():
            return Transient("certificate", "the mail server's certificate does not verify")
    return Transient(
        "connection_lost", f"the connection to the mail server was lost ({type(error).__name__})"
    )


def _one_line(answer: str) -> str:
    shown = "".join(letter if letter.isprintable() else " " for letter in answer[:1_000])
    return " ".join(shown.split())[:300] or "the mail server said no more"


class SmtpRemote:
    """The mail server at `url`, for one event loop. `timeout` is for one mail, in seconds."""

    def __init__(self, url: str, *, timeout: float) -> None:
        self._server = read_email_url(url)
        self._timeout = timeout
        self._idle: list[Connection] = []

    async def send(self, message: bytes, *, sender: str, recipient: str) -> None:
        """Hands one mail in. Raises a `Fault` when the server did not take it (see `classify_mail`)."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._send(message, sender=sender, recipient=recipient)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise classify_mail(error) from error

    async def close(self) -> None:
        """Takes leave of the server. A later mail connects again."""
        idle, self._idle = self._idle, []
        for connection in idle:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await connection.client.quit(timeout=1.0)
            connection.client.close()

    async def _send(self, message: bytes, *, sender: str, recipient: str) -> None:
        kept = self._take_idle()
        client, mails = (kept.client, kept.mails) if kept else (self._new_client(), 0)
        try:
            if not kept:
                await client.connect()
            await client.sendmail(sender, [recipient], message)
        except BaseException:  # whatever it was, and also when cancelled: this connection is not used again
            client.close()
            raise
        if mails + 1 < MAILS_PER_CONNECTION:
            self._idle.append(Connection(client=client, mails=mails + 1, idle_since=time.monotonic()))
        else:
            client.close()

    def _take_idle(self) -> Connection | None:
        """The connection that was used last, if it is still good; what is not is closed on the way."""
        while self._idle:
            connection = self._idle.pop()
            fresh = time.monotonic() - connection.idle_since < IDLE_CONNECTION
            if fresh and connection.client.is_connected:
                return connection
            connection.client.close()
        return None

    def _new_client(self) -> aiosmtplib.SMTP:
        server = self._server
        return aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.username,
            password=server.password,
            use_tls=server.use_tls,
            start_tls=True if server.username and not server.use_tls else None,
            tls_context=self._tls,
            timeout=self._timeout,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Made once: it takes 20 ms to read the system's certificates."""
        return ssl.create_default_context()
