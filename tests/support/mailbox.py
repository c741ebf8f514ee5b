"""A real mail server that keeps what it receives, and can be slow, down or unwilling."""

import asyncio
import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from orders.outbox.queue import deliver_due
from tests.support.ports import free_ports

TAKEN = "250 OK"


class Mailbox:
    """Everybody's emails, in the order in which they arrived.

    `to_recipient` and `to_text` are the server's replies to RCPT and to DATA; `delay` is the seconds between receiving
    an email and acknowledging it.
    """

    def __init__(self) -> None:
        self.emails: list[EmailMessage] = []
        self.to_recipient = TAKEN
        self.to_text = TAKEN
        self.delay = 0.0
        self.port = 0

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, recipient: str, options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(recipient)
        return self.to_recipient

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        email = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(email, EmailMessage)
        if self.to_text == TAKEN:
            self.emails.append(email)
        await asyncio.sleep(self.delay)
        return self.to_text

    def deliver(self) -> list[EmailMessage]:
        """Has the outbox send what is due, as the jobs process does; returns the emails that arrived."""
        before = len(self.emails)
        deliver_due(limit=1_000, seconds=60)
        return self.emails[before:]

    def link(self) -> str:
        """The path of the first link in the only email that the outbox sends."""
        (email,) = self.deliver()
        return links(email)[0]


def links(email: EmailMessage) -> list[str]:
    """The paths of the links in an email."""
    return re.findall(r"^https?://testserver(/\S*)$", text_of(email), flags=re.M)


def text_of(email: EmailMessage) -> str:
    """The plain text of an email."""
    part = email.get_body(("plain",))
    assert part is not None, "every email has a part in plain text"
    return str(part.get_content()).replace("\r", "")


@contextmanager
def serving(box: Mailbox, *, port: int = 0) -> Iterator[Mailbox]:
    """Serves until the block ends, on the given port or any free one."""
    server = Controller(box, hostname="127.0.0.1", port=port or free_ports())
    server.start()
    box.port = server.port
    try:
        yield box
    finally:
        server.stop()
        with warnings.catch_warnings():  # it does not close the connections of clients that were killed
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@contextmanager
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """A mail server that the settings point to."""
    with serving(Mailbox()) as box:
        settings.CONFIG = replace(
            settings.CONFIG, email_url=f"smtp://127.0.0.1:{box.port}", public_url="http://testserver"
        )
        yield box
