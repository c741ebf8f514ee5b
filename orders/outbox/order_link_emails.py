"""The email with the link that leads a guest back to an order. The first one says that we have the order, and which."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import guest_links
from orders.access.public_urls import public_url
from orders.business import registry
from orders.business.editing import sends_notice
from orders.emails.letter import Block, Button, Facts, Heading, Note, Paragraph
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.fields.order_numbers import spoken_number
from orders.models import OutgoingMessage
from orders.outbox.content import Email, email_of
from orders.outbox.letters import letter_of, sender_name
from orders.outbox.order_blocks import the_order
from orders.selectors import tracked_orders
from orders.selectors.tracked_orders import TrackedOrder
from orders.vocabulary import ActorKind, EventKind, Goal, StepStatus

IS_NEW = "is_new"
"""The argument of the message that is posted together with its order."""
NEWS = frozenset({StepStatus.COMPLETED, StepStatus.COMPENSATED})
"""The states of a step that has told its customer something."""
QUIET = timedelta(minutes=5)
"""How long no second link is sent for the same order, so that nobody can fill a mailbox by asking again and again."""


def compose(message: OutgoingMessage) -> list[Email]:
    """The link, if a guest placed the order with this email address and was not sent it a moment ago. That we have the
    order is not said after its own news, such as that it is on its way."""
    assert message.order_id is not None
    guest = tracked_orders.guest_address(message.order_id)
    if guest is None or guest.email.casefold() != message.recipient.strip().casefold():
        return []
    if guest.link_mailed_at and timezone.now() - guest.link_mailed_at < QUIET:
        return []
    if message.arguments.get(IS_NEW) and _has_later_news(message.order_id):
        return []
    link = public_url("order:guest-page", guest_links.make_token(message.order_id))
    tracked = _new_order(message)
    heading = _("We have your order") if tracked else _("Here is your order")
    blocks: list[Block] = [
        Heading(heading),
        Paragraph(
            _(
                "This link leads to your order and shows how far along it is. It works for {days} days."
            ).format(days=guest_links.VALID_FOR.days)
        ),
        Button(_("See your order"), link),
        *_order(message.order_id, tracked),
        Note(_("Anyone who has this link can see your order, so please keep it to yourself.")),
        Note(_("If you did not order from us, you can ignore this email.")),
    ]
    subject = _("Your order at {shop}").format(shop=sender_name())
    if tracked:
        subject = f"{heading} ({spoken_number(message.order_id)})"
    # To the order's own address, never the one that was typed.
    return [email_of(letter_of(subject, blocks), recipient=guest.email)]


def _has_later_news(order_id: UUID) -> bool:
    """Whether the order's workflow has emailed its own news already, which have the link, too."""
    tracked = tracked_orders.order_of_guest(order_id=order_id)
    if tracked is None:
        return False
    told = {step.name for step in tracked.order.steps if step.state in NEWS}
    return bool(told & sends_notice(tracked.order.workflow, tracked.order.workflow_version))


def _new_order(message: OutgoingMessage) -> TrackedOrder | None:
    """The order that was just placed; None if this is a link that somebody has asked for, or the order was cancelled
    meanwhile."""
    assert message.order_id is not None
    if not message.arguments.get(IS_NEW):
        return None
    tracked = tracked_orders.order_of_guest(order_id=message.order_id)
    return tracked if tracked and tracked.order.goal == Goal.COMPLETE else None


def _order(order_id: UUID, tracked: TrackedOrder | None) -> Sequence[Block]:
    if tracked is None:
        return [Facts([(_("Order number"), spoken_number(order_id))])]
    kind = registry.find_kind(tracked.order.workflow)
    return the_order(tracked, facts=kind.email_facts(tracked.data) if kind else ())


def record_sent(message: OutgoingMessage) -> None:
    """Appends to the order's history that the link was sent."""
    assert message.order_id is not None
    state_store.record_events(
        [EventRow(message.order_id, EventKind.LINK_MAILED, Actor(ActorKind.CUSTOMER, "guest"))]
    )
