"""What a message of the outbox says, once it has been composed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings

from orders.emails.html import as_html
from orders.emails.letter import Letter, Picture, as_text


@dataclass(frozen=True, kw_only=True)
class Email:
    """One email to one recipient: in plain text, and also in HTML with pictures if it is for a customer. Replies go to
    `reply_to`, or to the sender if that is empty."""

    recipient: str
    subject: str
    body: str
    html: str = ""
    pictures: Sequence[Picture] = ()
    reply_to: str = ""


@dataclass(frozen=True, kw_only=True)
class WebhookCall:
    """One call of a webhook, with its body as JSON."""

    url: str
    body: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Delay:
    """In place of contents: why it is not known yet whether there is anything to say, and when to look again."""

    reason: str
    wait: timedelta


def email_of(letter: Letter, *, recipient: str) -> Email:
    """The email that a letter to a customer is sent as."""
    return Email(
        recipient=recipient,
        subject=letter.subject,
        body=as_text(letter),
        html=as_html(letter),
        pictures=letter.pictures,
        reply_to=settings.CONFIG.shop_email,
    )


Content = Email | WebhookCall
