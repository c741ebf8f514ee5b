"""What a message of the outbox says, once it has been composed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.urls import reverse


@dataclass(frozen=True, kw_only=True)
class Email:
    """One email in plain text, to one recipient."""

    recipient: str
    subject: str
    body: str


@dataclass(frozen=True, kw_only=True)
class WebhookCall:
    """One call of a webhook, with its body as JSON."""

    url: str
    body: Mapping[str, Any]


def public_url(name: str, *arguments: object) -> str:
    """The url of a page, as people reach it from outside: an email goes to somebody who may not have asked for it, so
    no part of it may come from the request that did."""
    return str(settings.CONFIG.public_url) + reverse(name, args=arguments)


Content = Email | WebhookCall
