"""The email that tells a customer what has become of her order: what its page says at the moment when it is sent."""

from collections.abc import Sequence

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from orders.access import guest_links
from orders.access.public_urls import public_url
from orders.business import OrderKind, registry
from orders.business.editing import sends_notice
from orders.business.updates import OrderUpdate
from orders.emails.letter import Block, Heading, Note, Paragraph, one_line
from orders.fields.locales import reader_locale
from orders.fields.order_numbers import spoken_number
from orders.models import OutgoingMessage
from orders.outbox.content import Email, email_of
from orders.outbox.letters import letter_of
from orders.outbox.order_blocks import the_order
from orders.selectors import tracked_orders
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.refusals import names_in_refusal
from orders.selectors.tracked_orders import Addressee, TrackedOrder, addressee_of
from orders.vocabulary import MessageKind, MessageState, StepStatus
from orders.wording.clock_times import exact_moment
from orders.wording.customer_updates import key_of_update, update_of
from orders.wording.customers.order_links import order_button, secrecy_note
from orders.wording.customers.progress import Progress, progress
from orders.wording.customers.refusals import has_nothing_left

MOST = 10
"""The most emails about one order, so that nobody fills a stranger's mailbox by having payments declined."""
ONCE = frozenset({OrderUpdate.STOPPED, OrderUpdate.CANCEL_STUCK})
"""What a customer is told once of an order, however often somebody tries in vain to put it right."""
IS_REMINDER = "is_reminder"
"""The argument of a message that was put off because its customer had seen on the page what it says."""


def compose(message: OutgoingMessage) -> list[Email]:
    """The email; nothing if what it was about has passed, or the customer is told of it in another way."""
    assert message.order_id is not None
    if "update" not in message.arguments:  # its customer was erased meanwhile
        return []
    update = OrderUpdate(message.arguments["update"])
    addressee = addressee_of(message.order_id)
    tracked = tracked_orders.order_of_customer(order_id=message.order_id, customer_id=None)
    if addressee is None or not addressee.is_told or tracked is None or not tracked.email:
        return []
    kind = registry.find_kind(tracked.order.workflow) or OrderKind
    names = names_in_refusal(tracked.order)
    present = progress(tracked, now=timezone.now(), locale=reader_locale(), usual=None, names=names)
    if update_of(present) is not update or _is_told_already(message, update, tracked):
        return []
    blocks = [
        *_what_the_page_says(present, has_nothing_left=has_nothing_left(tracked.order)),
        *_link(tracked.order, addressee),
        *the_order(tracked, facts=kind.email_facts(tracked.data, on_course_since=None)),
        *_small_print(present, addressee.is_guest),
    ]
    return [email_of(letter_of(_subject(present, update, tracked.order), blocks), recipient=tracked.email)]


def _is_told_already(message: OutgoingMessage, update: OrderUpdate, tracked: TrackedOrder) -> bool:
    """Whether the workflow's own notice has told it, a later message tells it, or earlier ones have said enough."""
    order = tracked.order
    if IS_REMINDER in message.arguments and message.key != key_of_update(tracked, update):
        return True  # what it reminds of has passed, and something else of this sort has happened since
    if update is OrderUpdate.CANCELLED:
        ended = {step.name for step in order.steps if step.state == StepStatus.COMPENSATED}
        if ended & sends_notice(order.workflow, order.workflow_version):
            return True
    sent = OutgoingMessage.objects.filter(
        order_id=order.id, kind=MessageKind.ORDER_UPDATE, state=MessageState.SENT
    ).exclude(pk=message.pk)
    updates = list(sent.values_list("arguments__update", flat=True))
    return len(updates) >= MOST or (update in ONCE and update in updates)


def _subject(present: Progress, update: OrderUpdate, order: CustomerOrder) -> str:
    headline = present.headline
    if update is OrderUpdate.LATE:
        headline = _("Your order is taking longer than we promised")
    return f"{headline.rstrip('.。')} ({spoken_number(order.id)})"


def _link(order: CustomerOrder, addressee: Addressee) -> Sequence[Block]:
    """The link to the order; none if its reader could not open it."""
    kind = registry.find_kind(order.workflow) or OrderKind
    if not addressee.can_open_page(tells_customers_of_clients=kind.tells_customers_of_clients):
        return []
    token_or_id = guest_links.make_token(order.id) if addressee.is_guest else order.id
    url = public_url("order:guest-page" if addressee.is_guest else "order:page", token_or_id)
    return [order_button(url)]


def _what_the_page_says(present: Progress, *, has_nothing_left: bool) -> Sequence[Block]:
    sentences = [Paragraph(one_line(sentence)) for sentence in present.sentences]
    waits = []
    if present.declined_until:
        until = _("We’ll wait for you until {moment}. After that we’ll cancel the order.")
        if has_nothing_left:
            until = _("If you do nothing, we’ll cancel it for you on {moment}.")
        moment = exact_moment(present.declined_until, locale=reader_locale())
        waits = [Paragraph(until.format(moment=moment))]
    return [Heading(present.headline), *sentences, *waits]


def _small_print(present: Progress, is_guest: bool) -> Sequence[Block]:
    notes = []
    if present.offers_help or present.declined_until:
        talk = _("Would you rather talk to a person? Reply to this email, or write to {address}.")
        notes.append(Note(talk.format(address=settings.CONFIG.help_address)))
    if is_guest:
        notes.append(secrecy_note())
    return notes
