"""Reads the feed for each webhook, as its client would, and makes a delivery of each change.

The deliveries and the point up to which they were made are written in one transaction, so nothing is left out and
nothing is made twice, wherever a process dies.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

from orders.engine.runtime.sql import is_database_trouble
from orders.models import WebhookDelivery, WebhookEndpoint
from orders.selectors.changes import Change, FeedPoint, FeedReader, changed, changes, look
from orders.webhooks.calls import write_body
from orders.webhooks.deliveries import bring_forward

log = structlog.get_logger()

LIMIT = 500
"""Changes that are read of one feed in one transaction."""
TYPE = "order.{}"
"""The type of a message about a change of this kind."""

Render = Callable[[Sequence[Change], int], Sequence[Mapping[str, Any]]]
"""Writes changes of this customer's orders as the feed of the API does."""


def fan_out(*, render: Render) -> bool:
    """One pass over all endpoints that are enabled. Returns whether nothing is left that will be there soon.

    Several processes may run it at once; they share the work.
    """
    endpoints = WebhookEndpoint.objects.filter(disabled_at=None, customer__is_active=True)
    readers = {
        endpoint_id: FeedReader(*place)
        for endpoint_id, *place in endpoints.values_list("id", "customer_id", "position", "event_id")
    }
    if not readers:
        return True
    behind, is_all = changed(set(readers.values()))
    has_more = [_try(endpoint_id, render) for endpoint_id, reader in readers.items() if reader in behind]
    return is_all and not any(has_more)


def _try(endpoint_id: UUID, render: Render) -> bool:
    """Reads on for one endpoint. What cannot be made a message of must not stop the others."""
    try:
        return _read_on(endpoint_id, render)
    except Exception as error:
        if is_database_trouble(error):
            raise
        log.exception("feed not read", action="fan out", webhook=str(endpoint_id))
        return False


def _read_on(endpoint_id: UUID, render: Render) -> bool:
    """Makes deliveries of the next changes in one feed. Returns whether there are more."""
    with transaction.atomic():
        endpoint = (
            WebhookEndpoint.objects.select_for_update(skip_locked=True, no_key=True)
            .filter(pk=endpoint_id, disabled_at=None)
            .first()
        )
        if endpoint is None:
            return False
        page = changes(
            customer_id=endpoint.customer_id,
            after=FeedPoint(endpoint.position, endpoint.event_id),
            limit=LIMIT,
            mark=look(),
        )
        selection = [
            change for change in page.changes if not endpoint.kinds or change.event.kind in endpoint.kinds
        ]
        bodies = render(selection, endpoint.customer_id)
        deliveries = [
            _delivery(endpoint, change, body) for change, body in zip(selection, bodies, strict=True)
        ]
        WebhookDelivery.objects.bulk_create(deliveries)
        bring_forward(endpoint.pk, {delivery.order_id for delivery in deliveries})
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(**page.until._asdict())
    return page.has_more


def _delivery(endpoint: WebhookEndpoint, change: Change, data: Mapping[str, Any]) -> WebhookDelivery:
    """A message about a change. Its id has the time in it because numbers begin again in another database."""
    event = change.event
    return WebhookDelivery(
        endpoint=endpoint,
        order_id=change.order_id,
        event_id=event.id,
        message_id=f"evt_{event.id}_{event.at:%Y%m%d%H%M%S%f}",
        kind=event.kind,
        body=write_body(TYPE.format(event.kind), at=event.at, data=data),
    )
