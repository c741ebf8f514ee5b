"""What the API sends about clients' webhooks."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from orders.api import enumerations
from orders.api.representations import Out, page_of
from orders.vocabulary import DeliveryState, EventKind


class WebhookOut(Out):
    """A webhook. It is disabled if it does not take a message for three days, or if it answers 410."""

    id = serializers.UUIDField()
    url = serializers.CharField(help_text="Where messages are posted.")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(EventKind)),
        help_text="The changes it gets; none means all.",
    )
    created_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(
        allow_null=True,
        help_text="The first failure since the last success. Null if the last call was taken.",
    )
    disabled_at = serializers.DateTimeField(
        allow_null=True, help_text="Since when nothing is sent to it. Null if it is enabled."
    )
    disabled_reason = serializers.ChoiceField(
        choices=enumerations.DISABLED_REASONS,
        allow_null=True,
        help_text="`failing` after three days without a success, `gone` after an answer of 410.",
    )
    previous_secret_until = serializers.DateTimeField(
        allow_null=True,
        help_text="Until then each message is signed by the secret before the present one, too.",
    )


class NewWebhookOut(WebhookOut):
    """A new webhook with its secret, which cannot be read again."""

    secret = serializers.CharField()


class WebhookListOut(Out):
    """All of your webhooks, the oldest first."""

    results = WebhookOut(many=True)


class SecretOut(Out):
    """A new secret, which cannot be read again. The one before it is valid until `previous_secret_until`."""

    secret = serializers.CharField()
    previous_secret_until = serializers.DateTimeField()


class AttemptOut(Out):
    """One attempt to send a message."""

    at = serializers.DateTimeField()
    seconds = serializers.FloatField(help_text="How long it took.")
    headers = serializers.DictField(child=serializers.CharField(), help_text="The headers that were sent.")
    status = serializers.IntegerField(
        allow_null=True, help_text="The status of the answer. Null if there was none."
    )
    answer = serializers.CharField(
        allow_blank=True, help_text="The first 1,000 characters of the answer's body."
    )
    error = serializers.CharField(allow_blank=True, help_text="Why it was no success. Empty if it was one.")


class DeliveryOut(Out):
    """A message to a webhook."""

    id = serializers.IntegerField()
    message_id = serializers.CharField(help_text="Its `webhook-id`, the same at each attempt.")
    order_id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=list(EventKind))
    state = serializers.ChoiceField(choices=list(DeliveryState))
    created_at = serializers.DateTimeField()
    next_attempt_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Null if it is delivered, being sent, or waits for an earlier message of its order.",
    )
    delivered_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField(
        help_text="How often it was sent since it was last queued, which redelivering does anew."
    )
    body = serializers.CharField(help_text="Exactly what is posted.")
    log = AttemptOut(many=True, help_text="The latest ten attempts, also from before it was queued anew.")


DeliveryPageOut = page_of(DeliveryOut, "A page of the messages to a webhook, newest first.")


class RedeliveryOut(Out):
    """How many messages will be sent again."""

    queued = serializers.IntegerField(min_value=0)


def webhook(endpoint: Any) -> dict[str, Any]:
    """A webhook, as `WebhookOut` reads it."""
    return {
        "id": endpoint.pk,
        "url": endpoint.url,
        "kinds": endpoint.kinds,
        "created_at": endpoint.created_at,
        "failing_since": endpoint.failing_since,
        "disabled_at": endpoint.disabled_at,
        "disabled_reason": endpoint.disabled_reason or None,
        "previous_secret_until": endpoint.previous_until,
    }


def delivery(row: Any) -> dict[str, Any]:
    """A delivery, as `DeliveryOut` reads it."""
    return {
        **{
            name: getattr(row, name)
            for name in ("id", "message_id", "order_id", "kind", "state", "created_at")
        },
        "next_attempt_at": row.due_at if row.state == DeliveryState.QUEUED else None,
        **{name: getattr(row, name) for name in ("delivered_at", "attempts", "body")},
        "log": [{**attempt, "at": datetime.fromisoformat(attempt["at"])} for attempt in row.log],
    }
