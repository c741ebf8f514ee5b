"""The mail sink: an SMTP server that stores every email in the ledger and has its own faults.

Its faults, in order: down (421 to the connection and to every command), latency, hang, error (451), refuse (550), then
the email is stored, lost reply (the connection is cut after that). `error_status` and `keyless`
have no meaning here.
"""

import asyncio
import email
import email.policy
import json
from email.message import EmailMessage
from functools import partial
from typing import Any, cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from sandbox import ledger
from sandbox.commits import Commits
from sandbox.faults import FaultBoard, happens

ORDER_HEADER = "x-order-id"
LARGEST_MAIL = 2**23
"""In bytes."""
DOWN = "421 4.3.2 the mail service is down"


def read_mail(envelope: Envelope) -> ledger.Mail:
    """The email in `envelope`, as the ledger stores it. Parts that cannot be decoded are stored as they came."""
    content = envelope.content if isinstance(envelope.content, bytes) else b""
    message = email.message_from_bytes(content, policy=email.policy.default)
    raw = {name.lower(): " ".join(str(value).split()) for name, value in message.raw_items()}
    return ledger.Mail(
        message_id=_storable(raw.get("message-id", "").removeprefix("<").removesuffix(">")),
        sender=_storable(envelope.mail_from or ""),
        recipients=json.dumps([_storable(recipient) for recipient in envelope.rcpt_tos]),
        subject=_storable(_subject(message, raw.get("subject", ""))),
        body=_storable(_body(message)),
        order_id=_storable(raw.get(ORDER_HEADER, "")),
        raw=content,
    )


def _subject(message: EmailMessage, raw: str) -> str:
    try:
        return str(message.get("subject", ""))
    except (ValueError, LookupError, IndexError):
        return raw


def _body(message: EmailMessage) -> str:
    try:
        part = message.get_body(preferencelist=("plain", "html"))
        return str(part.get_content()).replace("\r\n", "\n") if part is not None else ""
    except (ValueError, LookupError, IndexError):
        return str(message)


def _storable(text: str) -> str:
    """`text` without the halves of surrogate pairs that stand for undecodable bytes, which SQLite cannot store."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Sink:
    """Handles each email."""

    def __init__(self, commits: Commits, faults: FaultBoard) -> None:
        self._commits = commits
        self._faults = faults

    @property
    def is_down(self) -> bool:
        """Whether every connection and command is answered 421."""
        return self._faults["mail"].down

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Accepts one email and returns the reply to the client. Cancelled when the client disconnects."""
        if self.is_down:
            return DOWN
        await asyncio.sleep(self._faults["mail"].latency())
        if self.is_down:
            return DOWN
        if happens(self._faults["mail"].hang_rate):
            await self._faults.hold(asyncio.get_running_loop().create_future())
            return await _cut(server)
        if happens(self._faults["mail"].error_rate):
            return "451 4.3.0 the mail service has a temporary failure"
        if happens(self._faults["mail"].refuse_rate):
            return "550 5.7.1 the mail service refuses this email for good"
        await self._commits.write(partial(ledger.add_mail, mail=read_mail(envelope)))
        if happens(self._faults["mail"].lost_reply_rate):
            return await _cut(server)
        return "250 2.0.0 kept"


async def _cut(server: SMTP) -> str:
    """Cuts the connection, then waits for the library to cancel the session, so that nothing more is written to it."""
    if server.transport is not None:
        cast(asyncio.WriteTransport, server.transport).abort()
    return str(await asyncio.get_running_loop().create_future())


class SinkSession(SMTP):
    """One SMTP session. It answers 421 and hangs up at the first command after the sink has gone down."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(
            sink, hostname="sandbox", ident="mail sink", enable_SMTPUTF8=True, data_size_limit=LARGEST_MAIL
        )
        self._sink = sink

    async def push(self, status: Any) -> None:
        """Sends one line of a reply."""
        if not self._sink.is_down:
            await super().push(status)
            return
        await super().push(DOWN)
        if self.transport is not None:
            self.transport.close()
        await asyncio.get_running_loop().create_future()  # until the library cancels the session


async def listen(host: str, port: int, sink: Sink) -> asyncio.Server:
    """Listens for email. Raises `OSError` when the port is not available."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: SinkSession(sink), host, port, backlog=1024)
