"""A mail server that keeps what it is sent, and the jobs that send it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.utils.module_loading import import_string
from django_q.models import OrmQ

from tests.support.system import free_ports


class Mailbox:
    """The mails of everybody, in the order in which they came."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 OK"

    def deliver(self) -> list[EmailMessage]:
        """Runs the jobs that wait, as the cluster does, and returns the mails that they sent."""
        before = len(self.mails)
        for job in OrmQ.objects.order_by("id"):
            import_string(job.func())(*job.args(), **(job.kwargs() or {}))
            job.delete()
        return self.mails[before:]

    def link(self) -> str:
        """The path of the first link of the only mail that the waiting jobs send."""
        (mail,) = self.deliver()
        return links(mail)[0]


def links(mail: EmailMessage) -> list[str]:
    """The paths of the links of a mail."""
    return re.findall(r"^https?://testserver(/\S*)$", mail.get_content().replace("\r", ""), flags=re.M)


@contextmanager
def mailbox(settings: Any) -> Iterator[Mailbox]:
    """A mail server to which the settings lead."""
    box = Mailbox()
    server = Controller(box, hostname="127.0.0.1", port=free_ports())
    server.start()
    settings.CONFIG = replace(settings.CONFIG, email_url=f"smtp://127.0.0.1:{server.port}")
    try:
        yield box
    finally:
        server.stop()
