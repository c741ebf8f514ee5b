"""After any fault of the mail server, every page and every email is true at every moment."""

import pytest

from sandbox.faults import fields_of
from tests.browser.conftest import NewCustomer
from tests.browser.truth.shop import HurriedShop
from tests.browser.truth.walks import MEANINGLESS, walk

FAULTS = [name for name in fields_of("mail") if ("mail", name) not in MEANINGLESS]


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_read_in_a_fault_is_true(
    hurried_shop: HurriedShop, customer: NewCustomer, fault: str
) -> None:
    walk(hurried_shop, customer, "mail", fault)


def test_what_those_are_told_who_have_gone_away_is_true(
    hurried_shop: HurriedShop, customer: NewCustomer
) -> None:
    """Three orders are late: one that fails alone would have its own failures counted, and end in Error."""
    declined, stopped, *late = [customer() for _ in range(5)]
    declined.buy("card_declined")
    hurried_shop.faults("carrier", down=True)
    stopped.buy()
    stopped.go_away()  # before it is refused: what she sees needs no email
    hurried_shop.faults("carrier", down=False, refuse_rate=1.0)
    stopped.wait(lambda: hurried_shop.state(stopped.order) == "error", "the refusal")
    hurried_shop.faults("carrier", down=True, refuse_rate=0)
    declined.go_away()
    for visitor in late:
        visitor.buy()
        visitor.go_away()
    declined.wait_for_email("Your card was declined")
    stopped.wait_for_email("We’re looking into a problem with your order")
    for visitor in late:
        visitor.wait_for_email("Your order is taking longer than we promised")
    hurried_shop.lift()
    for visitor in late:
        visitor.wait_for_email("Your order is on its way")
    declined.wait_for_email("Your order was cancelled")
    for visitor in (declined, stopped, *late):
        visitor.check()
