"""The tables of `tests/browser/truth` are whole: they have every sentence, and each fault is walked through."""

import re
from collections.abc import Iterator

from babel.messages.pofile import read_po

from orders.shop.storefront.checkout_form import METHODS
from sandbox.effects import PAYMENT_METHODS
from sandbox.faults import FAULTY, fields_of
from sasweb.catalogues import LOCALE_DIR
from tests.browser.truth.email_claims import EMAIL_CLAIMS, MEANS_NOTHING
from tests.browser.truth.page_claims import PAGE_CLAIMS
from tests.browser.truth.stage_claims import STAGE_CLAIMS
from tests.browser.truth.walks import MEANINGLESS, OF_THEIR_OWN, SETTINGS

WRITTEN = {*PAGE_CLAIMS, *STAGE_CLAIMS, *EMAIL_CLAIMS, *MEANS_NOTHING}
SPEAKERS = re.compile(
    "orders/(wording/customers/|shop/(customer_words|refusal_words|letters)|outbox/order_|order_page/views"
    "|shop/storefront/pay_again|business/words)|templates/(storefront/)?order/|templates/storefront/parts/pay_again"
)
"""The files whose sentences customers read of an order, on its page and in emails."""
ELSEWHERE = re.compile("templates/order/(hidden|in_account|old_link|sum_rows)")
"""What says nothing of how far an order is, but who may see it, and what it comes to."""
OF_OTHER_ORDERS = {
    # of workflows that wait for other things than the shop's does
    "Someone is looking at it, and we’ll go on once they’ve decided.",
    "We’re waiting for news from outside, and we’ll go on once it arrives.",
    "This takes its time, and we’ll go on once that’s over.",
    "We’ve asked for what it needs, and we’ll go on once we have the answer.",
    "We’ve paused it for a while, and we’ll go on as soon as we can.",
    # of orders that were finished long ago, or that could not be paid for at that moment
    "It’s too late to cancel: this order was finished long ago.",
    "It’s too late to cancel this order.",
    "It was too late to pay: the order had been cancelled.",
    "There’s nothing to pay: this order isn’t waiting for a payment.",
    "We can’t try another payment just now. Please try again in a moment.",
    "You can cancel an order until we take the payment. The order’s page shows how far along it is.",
    # titles, and what is said of a mistake in a form
    '%(title)s<span class="unseen">: %(state)s</span>',
    "Cancel your order",
    "Your order",
    "Your order at {shop}",
    "Order %(number)s",
    "Check your details",
    "Choose how to pay.",
    "The link is in your email already, or will be there in a few minutes.",
}
"""What no walk through a fault reads."""


def sentences() -> Iterator[str]:
    with (LOCALE_DIR / "hu" / "LC_MESSAGES" / "django.po").open("rb") as file:
        catalogue = read_po(file)
    for message in catalogue:
        files = [name for name, _ in message.locations if SPEAKERS.match(name) and not ELSEWHERE.match(name)]
        if message.id and files:
            yield from (message.id,) if isinstance(message.id, str) else message.id


def test_for_every_sentence_about_an_order_it_is_written_down_when_it_is_true() -> None:
    written = {*sentences()}
    assert len(written) > 150
    assert written - WRITTEN - OF_OTHER_ORDERS == set(), "write down when these are true"


def test_nothing_is_both_judged_and_left_out() -> None:
    assert set() == WRITTEN & OF_OTHER_ORDERS
    assert {*sentences()} >= OF_OTHER_ORDERS


def test_every_fault_is_walked_through() -> None:
    faults = {(service, name) for service in FAULTY for name in fields_of(service)}
    walked = {(service, name) for service, name in faults if name in SETTINGS}
    assert faults - walked == OF_THEIR_OWN, "say in tests/browser/truth/walks.py what happens in these faults"
    assert faults > MEANINGLESS


def test_every_card_can_be_chosen() -> None:
    assert {*METHODS} == PAYMENT_METHODS
