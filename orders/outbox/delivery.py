"""One attempt to deliver what the outbox has composed: over SMTP, or to a webhook."""

import json
import time
from email.utils import format_datetime, parseaddr

import structlog
from django.conf import settings
from django.utils import timezone

from orders.emails.mime import Message, mailbox, write
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
    try:
        sender, recipient = mail_server.address(config.email_from), mail_server.address(email.recipient)
        message = Message(
            headers={
                "From": mailbox(config.email_from, address=sender),
                **_reply_to(email),
                "To": recipient,
                "Subject": email.subject,
                "Message-ID": f"<{message_id}>",
                "Date": format_datetime(timezone.now()),
                "Auto-Submitted": "auto-generated",
            },
            text=email.body,
            html=email.html,
            pictures=email.pictures,
        )
        content = write(message)
    except ValueError as error:  # a line break in a header, or an invalid email
        raise NotSentError(str(error), is_final=True) from error
    mail_server.send(config.email_url, content, sender=sender, recipient=recipient)


def _reply_to(email: Email) -> dict[str, str]:
    if not email.reply_to:
        return {}
    address = mail_server.address(parseaddr(email.reply_to)[1])  # the first, as on the pages
    return {"Reply-To": mailbox(email.reply_to, address=address)}


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
