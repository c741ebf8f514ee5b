"""Clients' webhooks and what was delivered to them, as their owners see them."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from orders.models import WebhookDelivery, WebhookEndpoint
from orders.selectors.paging import Page, page_of
from orders.vocabulary import DeliveryState


def endpoints(*, customer_id: int) -> Sequence[WebhookEndpoint]:
    """The webhooks of a client, the oldest first. There are few."""
    return list(WebhookEndpoint.objects.filter(customer_id=customer_id).order_by("id"))


def find_endpoint(endpoint_id: UUID, *, customer_id: int) -> WebhookEndpoint | None:
    """A webhook of this client."""
    return WebhookEndpoint.objects.filter(pk=endpoint_id, customer_id=customer_id).first()


def deliveries(
    endpoint: WebhookEndpoint, *, is_delivered: bool | None, before: int | None, limit: int
) -> Page[WebhookDelivery]:
    """The messages to a webhook, newest first: all, or only those that it has taken, or not."""
    rows = WebhookDelivery.objects.filter(endpoint=endpoint).order_by("-id")
    if is_delivered is not None:
        delivered = Q(state=DeliveryState.DELIVERED)
        rows = rows.filter(delivered if is_delivered else ~delivered)
    if before is not None:
        rows = rows.filter(id__lt=before)
    return page_of(list(rows[: limit + 1]), limit)


def find_delivery(endpoint: WebhookEndpoint, delivery_id: int) -> WebhookDelivery | None:
    """A message to this webhook."""
    return WebhookDelivery.objects.filter(endpoint=endpoint, pk=delivery_id).first()
