"""The life of a message to a client's webhook, which is a row from the moment in which it is read from the feed:

    queued ─claim▶ sending ─▶ delivered      a client can have it delivered again
       ▲              │
       └────retry─────┘                      for three days; then the endpoint is disabled, and nothing is lost

Delivery is at least once. A claim is a lease: if a sender is killed, its message is sent again when the lease lapses,
with the same `webhook-id`. No transaction is open while a message is sent.

Of each order an endpoint gets one message at a time, the oldest first: only that one is due (`bring_forward`). Whoever
changes which one that is has locked the endpoint's row first. Different orders do not wait for each other.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.outbox import queue
from orders.vocabulary import DeliveryState, DisabledReason, MessageKind
from orders.webhooks.calls import GONE, Attempt, Message
from orders.webhooks.endpoints import signing_secrets

log = structlog.get_logger()

FIRST_WAIT, LONGEST_WAIT = 5.0, 900.0
"""In seconds: the longest wait after the first failure, which doubles with each, and the longest after any."""
PATIENCE = timedelta(days=3)
"""How long a message is tried before its endpoint is disabled."""
LEASE = 60.0
"""Seconds for which a sender has a message to itself: far longer than one attempt can take."""
AT_ONCE = 10
"""Messages that one endpoint is sent at a time. One that did not take the last one is sent a single one, and of those
that are due first one that has been tried least: an order that it cannot take must not stand before the others."""
LOGGED = 10
"""Attempts that the log of a message keeps."""


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A message that a sender has to itself until `leased_until`, which no other claim of it shares."""

    delivery_id: int
    endpoint_id: UUID
    order_id: UUID
    leased_until: datetime
    message: Message


_CLAIM = """
    WITH due AS (
        SELECT next.id
          FROM orders_webhookendpoint AS endpoint
          JOIN auth_user AS account ON account.id = endpoint.customer_id AND account.is_active
         CROSS JOIN LATERAL (
               SELECT count(*) AS number
                 FROM orders_webhookdelivery
                WHERE endpoint_id = endpoint.id AND state = 'sending' AND due_at > clock_timestamp()
               ) AS under_way
         CROSS JOIN LATERAL (
               (SELECT id, due_at
                  FROM orders_webhookdelivery
                 WHERE endpoint.failing_since IS NULL
                   AND endpoint_id = endpoint.id AND due_at <= clock_timestamp()
                 ORDER BY due_at
                 LIMIT greatest(%(at_once)s - under_way.number, 0))
                UNION ALL
               (SELECT id, due_at
                  FROM orders_webhookdelivery
                 WHERE endpoint.failing_since IS NOT NULL
                   AND endpoint_id = endpoint.id AND due_at <= clock_timestamp()
                 ORDER BY attempts, due_at
                 LIMIT greatest(1 - under_way.number, 0))
               ) AS next
         WHERE endpoint.disabled_at IS NULL
         ORDER BY next.due_at
         LIMIT %(limit)s
    ), claimed AS (
        SELECT id
          FROM orders_webhookdelivery
         WHERE id IN (SELECT id FROM due) AND due_at <= clock_timestamp()
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE orders_webhookdelivery AS delivery
       SET state = 'sending', attempts = attempts + 1, tried_since = coalesce(tried_since, clock_timestamp()),
           due_at = clock_timestamp() + make_interval(secs => %(lease)s)
      FROM claimed
     WHERE delivery.id = claimed.id
    RETURNING delivery.id, delivery.endpoint_id, delivery.order_id, delivery.due_at, delivery.message_id, delivery.body
"""
_BRING_FORWARD = """
    WITH undelivered AS MATERIALIZED (
        SELECT id, order_id, state, due_at
          FROM orders_webhookdelivery
         WHERE endpoint_id = %(endpoint)s AND order_id = ANY(%(orders)s) AND state <> 'delivered'
         ORDER BY id
           FOR NO KEY UPDATE
    ), oldest AS (
        SELECT order_id, min(id) AS id
          FROM undelivered
         GROUP BY order_id
        HAVING NOT bool_or(state = 'sending')
    )
    UPDATE orders_webhookdelivery AS delivery
       SET due_at = CASE WHEN delivery.id = oldest.id THEN clock_timestamp() END
      FROM undelivered
      JOIN oldest USING (order_id)
     WHERE delivery.id = undelivered.id AND (undelivered.due_at IS NOT NULL) <> (undelivered.id = oldest.id)
"""


def claim(*, limit: int) -> Sequence[Assignment]:
    """Leases messages that are due, at most `limit` and so many of each endpoint as it may be sent at once.

    Safe beside others: a row that another sender is claiming is locked, and passed over.
    """
    with transaction.atomic():
        rows = fetch(_CLAIM, {"at_once": AT_ONCE, "limit": limit, "lease": LEASE})
    if not rows:
        return []
    endpoints = WebhookEndpoint.objects.in_bulk({row[1] for row in rows})
    now = database_now()
    return [
        Assignment(
            delivery_id=delivery_id,
            endpoint_id=endpoint_id,
            order_id=order_id,
            leased_until=leased_until,
            message=Message(
                url=endpoints[endpoint_id].url,
                message_id=message_id,
                body=body,
                signing_secrets=signing_secrets(endpoints[endpoint_id], now=now),
            ),
        )
        for delivery_id, endpoint_id, order_id, leased_until, message_id, body in rows
        if endpoint_id in endpoints  # it may have been deleted meanwhile
    ]


def record(endpoint_id: UUID, ends: Sequence[tuple[Assignment, Attempt]]) -> None:
    """Writes how attempts at one endpoint ended, in this order and in one transaction. One whose lease has lapsed is
    not written, as another sender has the message now."""
    with transaction.atomic():
        endpoint = lock(endpoint_id)
        if endpoint is None:  # it has been deleted, and its messages with it
            return
        rows = WebhookDelivery.objects.select_for_update(no_key=True).order_by("id")
        deliveries = rows.in_bulk([assignment.delivery_id for assignment, _ in ends])
        now = database_now()
        changed = []
        for assignment, attempt in ends:
            delivery = deliveries.get(assignment.delivery_id)
            if delivery is None or not _has_lease(assignment, delivery):
                log.warning(
                    "lease lapsed while sending",
                    action="deliver",
                    order_id=str(assignment.order_id),
                    delivery=assignment.delivery_id,
                )
                continue
            _end(delivery, attempt, now)
            _note(endpoint, delivery, attempt, now)
            changed.append(delivery)
        if endpoint is None or not changed:
            return
        WebhookDelivery.objects.bulk_update(changed, ["state", "due_at", "delivered_at", "log"])
        endpoint.save(update_fields=["failing_since", "disabled_at", "disabled_reason"])
        bring_forward(endpoint.pk, {delivery.order_id for delivery in changed})


def _has_lease(assignment: Assignment, delivery: WebhookDelivery) -> bool:
    return delivery.state == DeliveryState.SENDING and delivery.due_at == assignment.leased_until


def _end(delivery: WebhookDelivery, attempt: Attempt, now: datetime) -> None:
    """Sets what an attempt has made of its message."""
    delivery.log = [*delivery.log, attempt.as_json()][-LOGGED:]
    if attempt.is_success:
        delivery.state, delivery.due_at, delivery.delivered_at = DeliveryState.DELIVERED.value, None, now
    else:
        wait = full_jitter(delivery.attempts, first=FIRST_WAIT, cap=LONGEST_WAIT)
        delivery.state, delivery.due_at = DeliveryState.QUEUED.value, now + timedelta(seconds=wait)


def _note(endpoint: WebhookEndpoint, delivery: WebhookDelivery, attempt: Attempt, now: datetime) -> None:
    """Sets what an attempt says about its endpoint, and disables it if it is time."""
    facts = {
        "order_id": str(delivery.order_id),
        "webhook": str(endpoint.pk),
        "kind": delivery.kind,
        "attempts": delivery.attempts,
    }
    if attempt.is_success:
        endpoint.failing_since = None
        log.info("webhook delivered", action="deliver", seconds=attempt.seconds, **facts)
        return
    log.warning("webhook not delivered", action="deliver", error=attempt.error, **facts)
    endpoint.failing_since = endpoint.failing_since or now
    if endpoint.disabled_at is not None:
        return
    if attempt.status == GONE:
        _disable(endpoint, DisabledReason.GONE, now)
    elif delivery.tried_since is not None and now - delivery.tried_since >= PATIENCE:
        _disable(endpoint, DisabledReason.FAILING, now)


def _disable(endpoint: WebhookEndpoint, reason: DisabledReason, now: datetime) -> None:
    """Ends what is sent to an endpoint, and tells its owner by email, in the caller's transaction."""
    endpoint.disabled_at, endpoint.disabled_reason = now, reason.value
    log.error("webhook disabled", action="disable", webhook=str(endpoint.pk), reason=reason)
    if endpoint.customer.email:
        queue.post(
            kind=MessageKind.WEBHOOK_OFF,
            recipient=endpoint.customer.email,
            arguments={"webhook": str(endpoint.pk)},
        )


def lock(endpoint_id: UUID) -> WebhookEndpoint | None:
    """The endpoint, with its row locked until the end of the transaction."""
    rows = WebhookEndpoint.objects.select_for_update(no_key=True, of=("self",)).select_related("customer")
    return rows.filter(pk=endpoint_id).first()


def bring_forward(endpoint_id: UUID, order_ids: Collection[UUID]) -> None:
    """Makes the oldest undelivered message of each of these orders due, and no other, unless one is under way.

    The caller has locked the endpoint.
    """
    if order_ids:
        run(_BRING_FORWARD, {"endpoint": endpoint_id, "orders": list(order_ids)})


def queue_again(endpoint_id: UUID, delivery_ids: Collection[int]) -> int:
    """Has messages sent again at once, whether delivered or waiting for a retry; returns how many. One that is under
    way is left alone. The caller has locked the endpoint."""
    rows = fetch(
        """
        UPDATE orders_webhookdelivery
           SET state = 'queued', delivered_at = NULL, due_at = NULL, attempts = 0, tried_since = NULL
         WHERE endpoint_id = %s AND id = ANY(%s) AND state <> 'sending'
        RETURNING order_id
        """,
        [endpoint_id, list(delivery_ids)],
    )
    bring_forward(endpoint_id, {order_id for (order_id,) in rows})
    return len(rows)
