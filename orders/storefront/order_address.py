"""Where the page of an order is: for an account under the order's number, for a guest under a signed token."""

from uuid import UUID

from django.urls import reverse

from orders.access.guest_links import make_token


def order_address(order_id: UUID, *, is_guest: bool) -> str:
    """The path of an order's page, which is its confirmation and its tracker."""
    if is_guest:
        return reverse("shop:guest-order", args=[make_token(order_id)])
    return reverse("shop:order", args=[order_id])


def events_address(order_id: UUID, *, is_guest: bool) -> str:
    """The path of the stream that says when an order has changed."""
    if is_guest:
        return f"/events/o/{make_token(order_id)}/"
    return f"/events/orders/{order_id}/"
