"""The email with the link that leads a guest back to an order. The first one says that we have the order, and which."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import guest_links
from orders.access.public_urls import public_url
from orders.business import OrderKind, Situation, registry
from orders.business.editing import sends_notice
from orders.emails.letter import Block, Button, Facts, Heading, Letter, Note, Paragraph
from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.fields.locales import reader_locale
from orders.fields.order_numbers import spoken_number
from orders.models import OutgoingMessage
from orders.outbox.content import Delay, Email, email_of
from orders.outbox.letters import letter_of, sender_name
from orders.outbox.order_blocks import the_order
from orders.selectors import tracked_orders
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.tracked_orders import TrackedOrder, result_of
from orders.vocabulary import ActorKind, EventKind, Goal, Outcome, ProcessState, StepStatus
from orders.wording.customers.progress import progress

IS_NEW = "is_new"
"""The argument of the message that is posted together with its order."""
QUIET = timedelta(minutes=5)
"""How long no second link is sent for the same order, so that nobody can fill a mailbox by asking again and again."""
LONGEST_HOLD = timedelta(minutes=15)
"""How old a first email becomes while it is unknown whether an email of the order's workflow has been sent: longer than
that is tried without an outage. After it the link is sent all the same."""
WAIT = Delay(reason="waits until the order’s own email is sent, or fails", wait=timedelta(seconds=5))


class OwnEmail(Enum):
    """What is known of the emails that the order's workflow sends by itself, of all together."""

    NONE = auto()
    """None has been sent."""
    UNKNOWN = auto()
    """One is being sent, or may have been."""
    WITHOUT_LINK = auto()
    WITH_LINK = auto()


def compose(message: OutgoingMessage) -> list[Email] | Delay:
    """The link, if a guest placed the order with this email address and was not sent it a moment ago.

    The first one is not sent either if an email of the order's workflow was quicker, which has the link, too, and it
    waits while that is being sent. If that may have been sent, but not the link, only the link follows it. It looks
    once more when it has been composed. One that is begun after that, and that the mail server takes sooner, is still
    followed by the first.
    """
    assert message.order_id is not None
    guest = tracked_orders.guest_address(message.order_id)
    if guest is None or guest.email.casefold() != message.recipient.strip().casefold():
        return []
    if guest.link_mailed_at and timezone.now() - guest.link_mailed_at < QUIET:
        return []
    is_new = bool(message.arguments.get(IS_NEW))
    tracked = tracked_orders.order_of_guest(order_id=message.order_id) if is_new else None
    if tracked:
        own_email = _own_email(tracked.order)
        if own_email is OwnEmail.WITH_LINK:
            return []
        if own_email is OwnEmail.UNKNOWN and _may_wait(message, tracked.order):
            return WAIT
        if not _is_first(tracked.order, own_email):
            tracked = None
    # To the order's own address, never the one that was typed.
    email = email_of(_letter(message.order_id, tracked), recipient=guest.email)
    return compose(message) if tracked and _has_moved_on(message.order_id) else [email]


def _has_moved_on(order_id: UUID) -> bool:
    """Whether the order is cancelled, or its workflow sends an email, since it was read: composing takes a while."""
    tracked = tracked_orders.order_of_guest(order_id=order_id)
    return tracked is not None and not _is_first(tracked.order, _own_email(tracked.order))


def _is_first(order: CustomerOrder, own_email: OwnEmail) -> bool:
    """Whether its customer does not know yet that we have an order, and we still have it."""
    return own_email is OwnEmail.NONE and order.goal == Goal.COMPLETE


def _letter(order_id: UUID, tracked: TrackedOrder | None) -> Letter:
    """The link, and with a `tracked` order also that we have it, and what was ordered."""
    link = public_url("order:guest-page", guest_links.make_token(order_id))
    heading = _("We have your order") if tracked else _("Here is your order")
    blocks: list[Block] = [
        Heading(heading),
        Paragraph(
            _(
                "This link leads to your order and shows how far along it is. It works for {days} days."
            ).format(days=guest_links.VALID_FOR.days)
        ),
        Button(_("See your order"), link),
        *_order(order_id, tracked),
        Note(_("Anyone who has this link can see your order, so please keep it to yourself.")),
        Note(_("If you didn’t order from us, you can ignore this email.")),
    ]
    if tracked:
        return letter_of(f"{heading} ({spoken_number(order_id)})", blocks)
    return letter_of(_("Your order at {shop}").format(shop=sender_name()), blocks)


def _own_email(order: CustomerOrder) -> OwnEmail:
    """What is known of the notices of an order's workflow, if they bring its customer the link."""
    kind = registry.find_kind(order.workflow)
    if kind is None or not kind.notices_have_link:
        return OwnEmail.NONE
    names = sends_notice(order.workflow, order.workflow_version)
    notices = [step for step in order.steps if step.name in names]
    sent = [step for step in notices if step.outcome == Outcome.DONE or step.state == StepStatus.COMPENSATED]
    if any(result_of(order, step.name).get("has_link", True) for step in sent):
        return OwnEmail.WITH_LINK
    if any(step.outcome == Outcome.UNKNOWN or step.state == StepStatus.COMPENSATING for step in notices):
        return OwnEmail.UNKNOWN
    return OwnEmail.WITHOUT_LINK if sent else OwnEmail.NONE


def _may_wait(message: OutgoingMessage, order: CustomerOrder) -> bool:
    """Whether it will be known in time what became of the order's own email; not of one that failed for good."""
    is_young = timezone.now() - message.created_at < LONGEST_HOLD
    return is_young and order.state != ProcessState.ERROR


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
