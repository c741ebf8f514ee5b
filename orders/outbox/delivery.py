"""One attempt to deliver what the outbox has composed: over SMTP, or to a webhook."""

import json
import time

import structlog
from django.conf import settings
from django.core.mail import EmailMessage

from orders.outbox.content import Content, Email, WebhookCall
from sasweb import mail_server, webhooks
from sasweb.mail_server import NotSentError
from sasweb.webhook_signatures import signed_headers

log = structlog.get_logger()


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
    body = json.dumps(call.body).encode()
    signed = signed_headers(
        message_id,
        body=body,
        timestamp=int(time.time()),
        signing_secrets=settings.CONFIG.alert_webhook_secret,
    )
    webhooks.call(
        call.url,
        body=body,
        headers={"Content-Type": "application/json", "Idempotency-Key": message_id, **signed},
    )


def call_heartbeat(url: str) -> bool:
    """Calls the url of a dead man's switch. Returns whether it answered; if it did not, that is only logged."""
    try:
        webhooks.call(url)
    except NotSentError as error:
        log.warning("heartbeat not delivered", action="heartbeat", error=str(error))
        return False
    return True
