"""After any fault of the warehouse and the carrier, every page and every email is true at every moment."""

import pytest

from sandbox.faults import fields_of
from tests.browser.conftest import NewCustomer
from tests.browser.truth.shop import HurriedShop
from tests.browser.truth.walks import OF_THEIR_OWN, walk

FAULTS = sorted(
    {(service, name) for service in ("warehouse", "carrier") for name in fields_of(service)} - OF_THEIR_OWN
)


@pytest.mark.parametrize(("service", "fault"), FAULTS)
def test_what_is_read_in_a_fault_is_true(
    hurried_shop: HurriedShop, customer: NewCustomer, service: str, fault: str
) -> None:
    walk(hurried_shop, customer, service, fault)
