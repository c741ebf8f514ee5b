"""Where the page of an order is: under its number for an account, under a signed token for a guest."""

from uuid import UUID

from django.urls import reverse

from orders.access.guest_links import make_token


def order_url(order_id: UUID, *, is_guest: bool) -> str:
    """The path of an order's page, which is both its confirmation and its tracker."""
    return token_url(make_token(order_id)) if is_guest else reverse("order:page", args=[order_id])


def token_url(token: str) -> str:
    """The path of the page of a guest's order, with a token that she already has."""
    return reverse("order:guest-page", args=[token])


def events_url(order_id: UUID, *, token: str) -> str:
    """The path of the stream that reports changes of an order; with the token of a guest, hers."""
    return f"/events/o/{token}/" if token else f"/events/orders/{order_id}/"
