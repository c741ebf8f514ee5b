"""SMTP for agents: one try of one email, over connections that are kept and shared.

Nothing is retried here. The agent host retries, within the complete-by time.
"""

import asyncio
import contextlib
import ssl
import time
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from functools import cached_property
from typing import NoReturn
from urllib.parse import unquote, urlsplit

import aiosmtplib

from orders.agents.rehearsing import Held, is_rehearsal, show
from orders.agents.transport import IDLE_CONNECTION
from orders.engine.errors import Fault, Refused, Transient
from orders.engine.rehearsals import EMAIL

MAILS_PER_CONNECTION = 100
"""Emails that one connection carries before it is closed. Servers have a limit of their own, and where several share
the load, new connections spread it."""


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """A mail server. With a `username` or `use_tls`, nothing is sent before the connection is encrypted."""

    host: str
    port: int
    use_tls: bool
    username: str | None
    password: str | None


@dataclass(frozen=True, kw_only=True)
class Connection:
    """An idle connection. `mails` is how many emails it has carried; `idle_since` is a time of `time.monotonic`."""

    client: aiosmtplib.SMTP
    mails: int
    idle_since: float


def read_email_url(url: str) -> MailServer:
    """Reads `smtp://[user:password@]host[:port]` or `smtps://…`. Raises `ValueError` for any other url."""
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("the mail server's url must be smtp://HOST:PORT or smtps://HOST:PORT")
    use_tls = parts.scheme == "smtps"
    return MailServer(
        host=parts.hostname,
        port=parts.port or (465 if use_tls else 25),
        use_tls=use_tls,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
    )


def classify_mail(error: Exception) -> Fault:
    """Returns the fault that an exception stands for.

    SMTP's own rule: an answer of 5xx is a definite no, and one of 4xx may pass. A lost connection may pass, too. A
    server that does not support what the email needs, such as encryption, is a definite no.
    """
    # aiosmtplib raises a bare `SMTPException` if the server offers no STARTTLS or no AUTH.
    if type(error) in (aiosmtplib.SMTPNotSupported, aiosmtplib.SMTPException):
        return Refused("smtp_not_supported", "the mail server does not support what this email needs")
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
    printable = "".join(letter if letter.isprintable() else " " for letter in answer[:1_000])
    return " ".join(printable.split())[:300] or "the mail server gave no reason"


class SmtpRemote:
    """The mail server at `url`, for one event loop. `timeout` is for one email, in seconds."""

    def __init__(self, url: str, *, timeout: float) -> None:
        self._server = read_email_url(url)
        self._timeout = timeout
        self._idle: list[Connection] = []

    async def send(self, message: bytes, *, sender: str, recipient: str) -> None:
        """Sends one email. Raises a `Fault` if the server does not take it (see `classify_mail`)."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._send(message, sender=sender, recipient=recipient)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise classify_mail(error) from error

    async def close(self) -> None:
        """Closes the connections. A later email opens a new one."""
        idle, self._idle = self._idle, []
        for connection in idle:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await connection.client.quit(timeout=1.0)
            connection.client.close()

    async def _send(self, message: bytes, *, sender: str, recipient: str) -> None:
        if is_rehearsal():
            self._hold_back(message)
        reused = self._take_idle()
        client, mails = (reused.client, reused.mails) if reused else (self._new_client(), 0)
        try:
            if not reused:
                await client.connect()
            await client.sendmail(sender, [recipient], message)
        except BaseException:  # even a cancellation: the connection may be in the middle of an email
            client.close()
            raise
        if mails + 1 < MAILS_PER_CONNECTION:
            self._idle.append(Connection(client=client, mails=mails + 1, idle_since=time.monotonic()))
        else:
            client.close()

    def _hold_back(self, message: bytes) -> NoReturn:
        """Shows an email in place of sending it."""
        headers = {name: str(value) for name, value in BytesHeaderParser().parsebytes(message).items()}
        url = f"{'smtps' if self._server.use_tls else 'smtp'}://{self._server.host}:{self._server.port}"
        held = Held(method=EMAIL, url=url, headers=headers, body=message)
        show(held, secrets=[self._server.password or ""])
        raise held

    def _take_idle(self) -> Connection | None:
        """Returns the most recently used connection that is still good, and closes those that are not."""
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
        """The TLS settings, made once: reading the system's certificates takes 20 ms."""
        return ssl.create_default_context()
