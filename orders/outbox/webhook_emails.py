"""The email that tells a client's developer that nothing is sent to a webhook of theirs any more."""

from urllib.parse import urlsplit

from django.template.loader import render_to_string

from orders.models import OutgoingMessage, WebhookEndpoint
from orders.outbox.content import Email
from orders.vocabulary import DisabledReason


def compose(message: OutgoingMessage) -> list[Email]:
    """Says which webhook was disabled, why, and how to go on; nothing if it has been enabled or deleted since."""
    endpoint = WebhookEndpoint.objects.filter(pk=message.arguments["webhook"]).first()
    if endpoint is None or endpoint.disabled_at is None:
        return []
    text = render_to_string(
        "api/mail/webhook_off.txt",
        {
            "host": urlsplit(endpoint.url).hostname,
            "webhook": endpoint.pk,
            "is_gone": endpoint.disabled_reason == DisabledReason.GONE,
        },
    )
    subject, _, body = text.strip().partition("\n")
    return [Email(recipient=message.recipient, subject=subject, body=body.strip() + "\n")]
