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


def is_allowed(url: str) -> bool:
    """Whether a url may be called as far as one can see: its host is looked up and checked at each call."""
    try:
        parts = urlsplit(url)
        return (
            bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc  # a password in it would be shown with it
            and not parts.fragment
            and may_be_called(url, settings.CONFIG.client_webhook_networks)
        )
    except ValueError:
        return False


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
