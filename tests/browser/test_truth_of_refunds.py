"""While an operator cancels and refunds an order that was sent, and afterwards, every page and every email is true."""

from tests.browser.conftest import NewCustomer
from tests.browser.truth.customers import Customer
from tests.browser.truth.moments import time_to_catch_up
from tests.browser.truth.shop import HurriedShop
from tests.support.system import SERVICES

CANCELLING = "We’re cancelling your order."
CANCELLED = "Your order was cancelled."
REFUND = "We’ll refund {amount}."
REFUNDED = "We’ve refunded {amount}. Your bank may take up to 10 days to show it."
UNDONE = ["Stock reserved and payment approved", "Handed to the carrier", "Paid"]


def test_the_open_page_and_the_email_tell_of_a_refund_after_delivery(customer: NewCustomer) -> None:
    visitor = finished(customer)
    visitor.be_refunded("the press broke")
    visitor.wait(
        lambda: visitor.headline() in (CANCELLING, CANCELLED),
        "the page’s word of it",
        time_to_catch_up(has_ended=True),
    )
    read = ends_refunded(visitor)
    assert {CANCELLED, REFUNDED, "{amount} refunded"} <= read


def test_a_refund_that_is_held_up_is_told_of_truly(hurried_shop: HurriedShop, customer: NewCustomer) -> None:
    visitor = finished(customer)
    for service in SERVICES:
        hurried_shop.faults(service, down=True)
    visitor.be_refunded("the press broke")
    visitor.wait(lambda: visitor.has_met_on_the_way_back(), "the fault on the way back")
    visitor.wait_for_headline(CANCELLING, time_to_catch_up(has_ended=True))
    hurried_shop.lift()
    read = ends_refunded(visitor)
    assert {REFUND, REFUNDED, "Refund of {amount}", "{amount} refunded"} <= read


def finished(customer: NewCustomer) -> Customer:
    """A customer whose order is complete, and who has its page before her."""
    visitor = customer()
    visitor.buy()
    assert visitor.wait_for_end() == "processed"
    return visitor


def ends_refunded(visitor: Customer) -> frozenset[str]:
    """Waits until the order is cancelled, and its page and an email say so; returns the sentences that were read.

    What was done stays on the page's track, as reversed.
    """
    assert visitor.wait_for_end() == "compensated"
    visitor.wait_for_headline(CANCELLED)
    page = visitor.recorder.moments[-1].words
    assert [words.text for words in page if words.state == "reversed" and words.where == "stage"] == UNDONE
    visitor.wait_for_email("Your order was cancelled")
    _, emails = visitor.shop.story(visitor.order, visitor.story)
    (total,) = (words.text for words in page if words.where == "total")
    refunded = REFUNDED.format(amount=total)
    assert refunded in [words.text for words in page if words.where == "sentence"]
    (email,) = (email.words for email in emails if email.words[0].text.startswith("Your order was cancelled"))
    assert refunded in [words.text for words in email]
    return visitor.check()
