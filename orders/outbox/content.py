"""What a message of the outbox says, once it has been composed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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


Content = Email | WebhookCall
