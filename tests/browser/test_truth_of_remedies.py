"""While an order waits for its customer, and after what she does about it, every page and every email is true."""

import pytest

from sandbox.effects import PAYMENT_METHODS
from tests.browser.conftest import NewCustomer
from tests.browser.truth.customers import Customer
from tests.browser.truth.shop import HurriedShop

DECLINED = "Your card was declined."
SHORT = "We don’t have enough posters for your order."
SOLD_OUT = "Your poster has sold out."
UNSERVED = "We can’t send your order to this address."


def test_of_a_declined_card(customer: NewCustomer) -> None:
    payer, canceller = customer(), customer()
    for visitor in (payer, canceller):
        visitor.buy("card_declined")
    for visitor in (payer, canceller):
        visitor.wait_for_headline(DECLINED)
    canceller.cancel()
    payer.pay_with("card_declined")
    payer.wait_for_headline(DECLINED)
    payer.pay_with("card_slow")
    ends(payer, "processed")
    ends(canceller, "compensated")


def test_of_a_bank_that_never_answers(customer: NewCustomer) -> None:
    visitor = customer()
    visitor.buy("card_hangs")
    visitor.wait(lambda: visitor.has_met("authorise-payment"), "the bank’s silence")
    visitor.look_around()
    visitor.cancel()
    ends(visitor, "compensated")


def test_of_too_few_posters(hurried_shop: HurriedShop, customer: NewCustomer) -> None:
    hurried_shop.faults("warehouse", stock={"first-sun": 1})
    buyer = customer()
    buyer.buy(quantity=2)
    buyer.wait_for_headline(SHORT)
    buyer.order_fewer(1)
    ends(buyer, "processed")
    hurried_shop.faults("warehouse", stock={"first-sun": 0})
    canceller = customer()
    canceller.buy()
    canceller.wait_for_headline(SOLD_OUT)
    canceller.cancel()
    ends(canceller, "compensated")


def test_of_a_country_that_is_not_served(hurried_shop: HurriedShop, customer: NewCustomer) -> None:
    hurried_shop.faults("carrier", unserved=["GB", "IE"])
    mover, canceller = customer(), customer()
    for visitor in (mover, canceller):
        visitor.buy()
    for visitor in (mover, canceller):
        visitor.wait_for_headline(UNSERVED)
    canceller.cancel()
    mover.send_to("IE", "D02 AF30")
    mover.wait_for_headline(UNSERVED)
    mover.send_to("FR", "75001")
    ends(mover, "processed")
    ends(canceller, "compensated")


@pytest.mark.parametrize("method", sorted(PAYMENT_METHODS - {"card_declined", "card_hangs"}))
def test_of_every_other_card(customer: NewCustomer, method: str) -> None:
    buyer = customer()
    buyer.buy(method)
    ends(buyer, "processed")


def ends(customer: Customer, state: str) -> None:
    assert customer.wait_for_end() == state
    customer.check()
