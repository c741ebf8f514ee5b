"""The urls that clients name, and the secrets that sign what is posted there. The secrets are stored sealed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings

from orders.models import WebhookEndpoint
from sasweb.public_hosts import may_be_called
from sasweb.sealing import BrokenSealError, seal, unseal
from sasweb.webhook_signatures import make_secret

PURPOSE = "webhook"
ROTATION = timedelta(hours=24)
"""How long a secret that was replaced goes on signing."""


def refusal_of(url: str) -> str:
    """Why a url may not be called, as far as one can see: its host is looked up and checked at each call. Empty if it
    may."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname)
    except ValueError:
        has_host = False
    if not has_host:
        return "This url names no host."
    try:
        has_port = parts.port != 0
    except ValueError:
        has_port = False
    if not has_port:
        return "A port is a number from 1 to 65535."
    if "@" in parts.netloc:
        return "This url has a name or a password in it, which would be shown with the webhook."
    if parts.fragment:
        return "This url has a fragment (#…), which nobody is sent."
    if not may_be_called(url, settings.CONFIG.client_webhook_networks):
        return "This must be an https:// url whose host is public."
    return ""


def new_sealed_secret() -> tuple[bytes, str]:
    """A new secret, and how it is stored."""
    secret = make_secret()
    return secret, seal(secret, purpose=PURPOSE)


def signing_secrets(endpoint: WebhookEndpoint, *, now: datetime) -> Sequence[bytes]:
    """The secrets that are valid now, the newest first. None of them if they were sealed with a key that is lost."""
    sealed = [endpoint.secret]
    if endpoint.previous_until is not None and endpoint.previous_until > now:
        sealed.append(endpoint.previous_secret)
    try:
        return [unseal(text, purpose=PURPOSE) for text in sealed]
    except BrokenSealError:
        return []
