"""What clients do with their webhooks: name a url, change and remove it, test it, and have messages sent again."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

import structlog
from django.contrib.auth.models import User
from django.db import connection, transaction

from orders.engine.runtime.sql import database_now, run
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.selectors.changes import latest, look
from orders.vocabulary import DeliveryState, EventKind
from orders.webhooks import calls
from orders.webhooks.calls import Attempt, Message, write_body
from orders.webhooks.deliveries import bring_forward, lock, queue_again
from orders.webhooks.endpoints import ROTATION, new_sealed_secret, refusal_of, signing_secrets
from sasweb.webhook_signatures import write_secret

log = structlog.get_logger()

MOST = 10
"""Webhooks of one client."""
BATCH = 500
"""Messages that are queued again in one transaction."""
TEST_TIMEOUT = 5.0
"""Seconds that a receiver has for a test, while somebody waits for its answer."""
TEST = "webhook.test"
"""The type of a test's message."""


class TooManyWebhooksError(Exception):
    """Raised when a client has `MOST` webhooks already."""


class BadUrlError(ValueError):
    """Raised for a url that may not be called. Its text says why."""


def create(*, customer_id: int, url: str, kinds: Sequence[EventKind]) -> tuple[WebhookEndpoint, str]:
    """Makes a webhook that receives what happens from now on. Returns it, and its secret.

    Raises `BadUrlError` and `TooManyWebhooksError`.
    """
    _check(url)
    secret, sealed = new_sealed_secret()
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=customer_id)  # two at once are counted one by one
        if WebhookEndpoint.objects.filter(customer_id=customer_id).count() >= MOST:
            raise TooManyWebhooksError
        endpoint = WebhookEndpoint.objects.create(
            customer_id=customer_id, url=url, kinds=_stored(kinds), secret=sealed, **latest(look())._asdict()
        )
        endpoint.refresh_from_db()
    _log("webhook created", endpoint)
    return endpoint, write_secret(secret)


def change(endpoint: WebhookEndpoint, **values: Any) -> None:
    """Changes the url or the kinds. What is already queued keeps its kind and goes to the new url.

    Raises `BadUrlError`.
    """
    if "url" in values:
        _check(values["url"])
    if "kinds" in values:
        values["kinds"] = _stored(values["kinds"])
    if values:
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**values)
        _log("webhook changed", endpoint)


def delete(endpoint: WebhookEndpoint) -> None:
    """Removes a webhook with its deliveries. A call that is under way may still arrive."""
    with transaction.atomic():
        lock(endpoint.pk)
        run("DELETE FROM orders_webhookdelivery WHERE endpoint_id = %s", [endpoint.pk])
        WebhookEndpoint.objects.filter(pk=endpoint.pk).delete()
    _log("webhook deleted", endpoint)


def rotate(endpoint: WebhookEndpoint) -> str:
    """Makes a new secret and returns it. The one before it goes on signing, too, for `ROTATION`."""
    secret, sealed = new_sealed_secret()
    with transaction.atomic():
        row = lock(endpoint.pk)
        if row is not None:
            row.previous_secret, row.previous_until = row.secret, database_now() + ROTATION
            row.secret = sealed
            row.save(update_fields=["secret", "previous_secret", "previous_until"])
    _log("webhook secret rotated", endpoint)
    return write_secret(secret)


def enable(endpoint: WebhookEndpoint) -> None:
    """Enables a disabled webhook. What it has not taken is sent at once, and the feed is read on where it ended."""
    with transaction.atomic():
        lock(endpoint.pk)
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
            disabled_at=None, disabled_reason="", failing_since=None
        )
        run(
            """
            UPDATE orders_webhookdelivery
               SET attempts = 0, tried_since = NULL, due_at = clock_timestamp()
             WHERE endpoint_id = %s AND due_at IS NOT NULL AND state = 'queued'
            """,
            [endpoint.pk],
        )
        # What was the oldest message of an order may have been deleted meanwhile.
        undelivered = WebhookDelivery.objects.filter(endpoint=endpoint).exclude(state=DeliveryState.DELIVERED)
        bring_forward(endpoint.pk, set(undelivered.values_list("order_id", flat=True)))
    _log("webhook enabled", endpoint)


def redeliver(endpoint: WebhookEndpoint, delivery: WebhookDelivery) -> None:
    """Has a message sent again, at once. One that is under way, or waits for an earlier one, is only left to it."""
    with transaction.atomic():
        lock(endpoint.pk)
        queue_again(endpoint.pk, [delivery.pk])


def redeliver_since(endpoint: WebhookEndpoint, since: datetime) -> int:
    """Has all messages that were made since then sent again, in order. Returns how many."""
    rows = WebhookDelivery.objects.filter(endpoint=endpoint, created_at__gte=since).order_by("id")
    count, after = 0, 0
    while ids := list(rows.filter(id__gt=after).values_list("id", flat=True)[:BATCH]):
        with transaction.atomic():
            lock(endpoint.pk)
            count += queue_again(endpoint.pk, ids)
        after = ids[-1]
    return count


def test(endpoint: WebhookEndpoint) -> Attempt:
    """Posts a test message now, also to a disabled webhook, and returns what the receiver answered."""
    now = database_now()
    body = write_body(TEST, at=now, data={"webhook_id": str(endpoint.pk)})
    message = Message(
        url=endpoint.url,
        message_id=f"test_{uuid4().hex}",
        body=body,
        signing_secrets=signing_secrets(endpoint, now=now),
    )
    if not connection.in_atomic_block:
        connection.close()  # others can use it meanwhile
    return asyncio.run(calls.post(message, seconds=TEST_TIMEOUT))


def _check(url: str) -> None:
    if refusal := refusal_of(url):
        raise BadUrlError(refusal)


def _stored(kinds: Sequence[EventKind]) -> list[str]:
    return [kind.value for kind in EventKind if kind in kinds]


def _log(event: str, endpoint: WebhookEndpoint) -> None:
    log.info(event, action="webhook", webhook=str(endpoint.pk), account=endpoint.customer_id)
