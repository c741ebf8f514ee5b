"""What the answer to a new order says beside the order."""

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from orders.api.representations import order_url
from orders.api.requests import etag
from orders.selectors import durations
from orders.selectors.customer_order import CustomerOrder


def acceptance_headers(order: CustomerOrder) -> dict[str, str]:
    """Where a placed order is, its version, and in how many seconds it is worth looking at it. This cannot fail."""
    headers = {"Location": order_url(order.id), "ETag": etag(order.version)}
    if seconds := _seconds_until_change(order):
        headers["Retry-After"] = str(seconds)
    return headers


def _seconds_until_change(order: CustomerOrder) -> int | None:
    try:
        return durations.seconds_until_change(order, now=timezone.now())
    except (OperationalError, InterfaceError):
        return durations.SHORTEST
