"""What the API sends about clients' webhooks."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from orders.api import enumerations
from orders.api.representations import Out, page_of
from orders.vocabulary import DeliveryState, DisabledReason, EventKind


class WebhookOut(Out):
    """A webhook. It is disabled if it does not take a message for three days (`failing`), or answers 410 (`gone`).

    `failing_since` is the first failure since the last success. Until `previous_secret_until` each message is signed
    by the secret before the present one, too.
    """

    id = serializers.UUIDField()
    url = serializers.CharField()
    kinds = serializers.ListField(child=serializers.ChoiceField(choices=list(EventKind)))
    created_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(allow_null=True)
    disabled_at = serializers.DateTimeField(allow_null=True)
    disabled_reason = serializers.ChoiceField(choices=enumerations.DISABLED_REASONS, allow_null=True)
    previous_secret_until = serializers.DateTimeField(allow_null=True)


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
    """One attempt: the headers that were sent, and the status and the first 1,000 characters of the answer.

    `error` says why it was no success, and `status` is null if there was no answer.
    """

    at = serializers.DateTimeField()
    seconds = serializers.FloatField()
    headers = serializers.DictField(child=serializers.CharField())
    status = serializers.IntegerField(allow_null=True)
    answer = serializers.CharField(allow_blank=True)
    error = serializers.CharField(allow_blank=True)


class DeliveryOut(Out):
    """A message to a webhook. `body` is exactly what is posted, and `message_id` its `webhook-id`.

    `log` has the latest ten attempts. `next_attempt_at` is null if it is delivered, being sent, or waits for an earlier
    message of its order.
    """

    id = serializers.IntegerField()
    message_id = serializers.CharField()
    order_id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=list(EventKind))
    state = serializers.ChoiceField(choices=list(DeliveryState))
    created_at = serializers.DateTimeField()
    next_attempt_at = serializers.DateTimeField(allow_null=True)
    delivered_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    body = serializers.CharField()
    log = AttemptOut(many=True)


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
        "disabled_reason": DisabledReason(endpoint.disabled_reason) if endpoint.disabled_reason else None,
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
