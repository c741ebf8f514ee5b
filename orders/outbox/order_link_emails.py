"""The email with the link that leads a guest back to an order."""

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import guest_links
from orders.access.public_urls import public_url
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.fields.order_numbers import spoken_number
from orders.models import OutgoingMessage
from orders.outbox.content import Email
from orders.selectors import tracked_orders
from orders.vocabulary import ActorKind, EventKind

QUIET = timedelta(minutes=5)
"""How long no second link is sent for the same order, so that nobody can fill a mailbox by asking again and again."""


def compose(message: OutgoingMessage) -> list[Email]:
    """The link, if a guest placed the order with this email address and was not sent it a moment ago."""
    assert message.order_id is not None
    guest = tracked_orders.guest_address(message.order_id)
    if guest is None or guest.email.casefold() != message.recipient.strip().casefold():
        return []
    if guest.link_mailed_at and timezone.now() - guest.link_mailed_at < QUIET:
        return []
    link = public_url("order:guest-page", guest_links.make_token(message.order_id))
    body = _(
        "Hello,\n\nHere is the link to your order {order}:\n\n{link}\n\n"
        "Anyone who has this link can see your order, so please keep it to yourself.\n"
        "If you did not order from us, you can ignore this email.\n"
    )
    return [
        Email(
            recipient=guest.email,  # the order's own, never the one that was typed
            subject=_("Your order at Print Shop"),
            body=body.format(order=spoken_number(message.order_id), link=link),
        )
    ]


def record_sent(message: OutgoingMessage) -> None:
    """Appends to the order's history that the link was sent."""
    assert message.order_id is not None
    state_store.record_events(
        [EventRow(message.order_id, EventKind.LINK_MAILED, Actor(ActorKind.CUSTOMER, "guest"))]
    )
