"""Where the page of an order is: under its number for an account, under a signed token for a guest."""

from uuid import UUID

from django.urls import reverse

from orders.access.guest_links import make_token


def order_url(order_id: UUID, *, is_guest: bool) -> str:
    """The path of an order's page, which is both its confirmation and its tracker."""
    if is_guest:
        return reverse("shop:guest-order", args=[make_token(order_id)])
    return reverse("shop:order", args=[order_id])


def events_url(order_id: UUID, *, is_guest: bool) -> str:
    """The path of the stream that reports changes of an order."""
    if is_guest:
        return f"/events/o/{make_token(order_id)}/"
    return f"/events/orders/{order_id}/"
