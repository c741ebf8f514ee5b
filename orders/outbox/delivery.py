"""One attempt to deliver what the outbox has composed: over SMTP, or to a webhook."""

import http.client
import json
import urllib.request
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import EmailMessage

from orders.outbox.content import Content, Email, WebhookCall
from sasweb import mail_server
from sasweb.mail_server import NotSentError

log = structlog.get_logger()

WEBHOOK_TIMEOUT = 5.0
"""Seconds that a webhook has to accept the connection, and again to reply."""


def deliver(content: Content, *, message_id: str) -> None:
    """Delivers it once. `message_id` is the same for every attempt, so that a recipient can drop a repetition.

    Raises `NotSentError`.
    """
    match content:
        case Email():
            _send(content, message_id)
        case WebhookCall():
            _call(content, message_id)


def _send(email: Email, message_id: str) -> None:
    config = settings.CONFIG
    mail_server.send(
        config.email_url,
        EmailMessage(
            email.subject,
            email.body,
            config.email_from,
            [email.recipient],
            headers={"Message-ID": f"<{message_id}>"},
        ),
    )


def _call(call: WebhookCall, message_id: str) -> None:
    request = urllib.request.Request(
        call.url,
        data=json.dumps(call.body).encode(),
        headers={"Content-Type": "application/json", "Idempotency-Key": message_id},
    )
    try:
        with _OPENER.open(request, timeout=WEBHOOK_TIMEOUT):
            pass
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotSentError(str(error) or type(error).__name__) from error


def call_heartbeat(url: str) -> bool:
    """Calls the url of a dead man's switch. Returns whether it answered; if it did not, that is only logged."""
    try:
        with _OPENER.open(url, timeout=WEBHOOK_TIMEOUT):
            return True
    except (OSError, http.client.HTTPException, ValueError) as error:
        log.warning("heartbeat not delivered", action="heartbeat", error=str(error) or type(error).__name__)
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: the call is meant for the host in the settings and for no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)
