"""After any fault of the payment gateway and of cards, every page and every email is true at every moment."""

import pytest

from sandbox.faults import fields_of
from tests.browser.conftest import NewCustomer
from tests.browser.truth.shop import HurriedShop
from tests.browser.truth.walks import walk


@pytest.mark.parametrize("fault", fields_of("payments"))
def test_what_is_read_in_a_fault_is_true(
    hurried_shop: HurriedShop, customer: NewCustomer, fault: str
) -> None:
    walk(hurried_shop, customer, "payments", fault)
