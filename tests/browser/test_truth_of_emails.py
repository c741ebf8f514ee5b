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
