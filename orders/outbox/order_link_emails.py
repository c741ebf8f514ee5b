"""The email with the link that leads a guest back to an order. The first one says that we have the order, and which."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import guest_links
from orders.access.public_urls import public_url
from orders.business import OrderKind, Situation, registry
from orders.business.editing import sends_notice
from orders.emails.letter import Block, Button, Facts, Heading, Note, Paragraph
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.fields.locales import reader_locale
from orders.fields.order_numbers import spoken_number
from orders.models import OutgoingMessage
from orders.outbox.content import Email, email_of
from orders.outbox.letters import letter_of, sender_name
from orders.outbox.order_blocks import the_order
from orders.selectors import tracked_orders
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.tracked_orders import TrackedOrder, result_of
from orders.vocabulary import ActorKind, EventKind, Goal, Outcome, StepStatus
from orders.wording.customers.progress import progress

IS_NEW = "is_new"
"""The argument of the message that is posted together with its order."""
QUIET = timedelta(minutes=5)
"""How long no second link is sent for the same order, so that nobody can fill a mailbox by asking again and again."""


def compose(message: OutgoingMessage) -> list[Email]:
    """The link, if a guest placed the order with this email address and was not sent it a moment ago.

    The first one is not sent either if an email of the order's workflow was quicker, which has the link, too.
    """
    assert message.order_id is not None
    guest = tracked_orders.guest_address(message.order_id)
    if guest is None or guest.email.casefold() != message.recipient.strip().casefold():
        return []
    if guest.link_mailed_at and timezone.now() - guest.link_mailed_at < QUIET:
        return []
    link = public_url("order:guest-page", guest_links.make_token(message.order_id))
    is_new = bool(message.arguments.get(IS_NEW))
    tracked = tracked_orders.order_of_guest(order_id=message.order_id) if is_new else None
    if tracked and _has_emailed_link(tracked.order):
        return []
    if tracked and tracked.order.goal != Goal.COMPLETE:
        tracked = None  # we no longer have the order
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


def _has_emailed_link(order: CustomerOrder) -> bool:
    """Whether a notice of the order's workflow has brought its customer the link, unless it says otherwise."""
    kind = registry.find_kind(order.workflow)
    if kind is None or not kind.notices_have_link:
        return False
    notices = sends_notice(order.workflow, order.workflow_version)
    return any(
        step.name in notices
        and (step.outcome == Outcome.DONE or step.state == StepStatus.COMPENSATED)
        and result_of(order, step.name).get("has_link", True)
        for step in order.steps
    )


def _order(order_id: UUID, tracked: TrackedOrder | None) -> Sequence[Block]:
    if tracked is None:
        return [Facts([(_("Order number"), spoken_number(order_id))])]
    kind = registry.find_kind(tracked.order.workflow) or OrderKind
    facts = kind.email_facts(tracked.data, on_course_since=_on_course_since(tracked))
    return the_order(tracked, facts=facts)


def _on_course_since(tracked: TrackedOrder) -> datetime | None:
    """When an order was placed; None once it is late, held up or waits for its customer."""
    present = progress(tracked, now=timezone.now(), locale=reader_locale(), usual=None)
    is_on_course = present.situation in (Situation.RECEIVED, Situation.WORKING) and not present.is_late
    return tracked.order.placed_at if is_on_course else None


def record_sent(message: OutgoingMessage) -> None:
    """Appends to the order's history that the link was sent."""
    assert message.order_id is not None
    state_store.record_events(
        [EventRow(message.order_id, EventKind.LINK_MAILED, Actor(ActorKind.CUSTOMER, "guest"))]
    )
