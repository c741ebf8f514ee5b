"""The email with the link that leads a guest back to an order."""

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import guest_links
from orders.access.public_urls import public_url
from orders.emails.letter import Block, Button, Facts, Heading, Note, Paragraph
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.fields.order_numbers import spoken_number
from orders.models import OutgoingMessage
from orders.outbox.content import Email, email_of
from orders.outbox.letters import letter_of, sender_name
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
    blocks: list[Block] = [
        Heading(_("Here is your order")),
        Paragraph(
            _(
                "This link leads to your order and shows how far along it is. It works for {days} days."
            ).format(days=guest_links.VALID_FOR.days)
        ),
        Button(_("See your order"), link),
        Facts([(_("Order number"), spoken_number(message.order_id))]),
        Note(_("Anyone who has this link can see your order, so please keep it to yourself.")),
        Note(_("If you did not order from us, you can ignore this email.")),
    ]
    letter = letter_of(_("Your order at {shop}").format(shop=sender_name()), blocks)
    return [email_of(letter, recipient=guest.email)]  # the order's own address, never the one that was typed


def record_sent(message: OutgoingMessage) -> None:
    """Appends to the order's history that the link was sent."""
    assert message.order_id is not None
    state_store.record_events(
        [EventRow(message.order_id, EventKind.LINK_MAILED, Actor(ActorKind.CUSTOMER, "guest"))]
    )
