"""For each fault of the sandbox, which orders meet it, and how that goes on."""

from collections.abc import Mapping
from typing import Any

from tests.browser.truth.customers import Customer, NewCustomer
from tests.browser.truth.shop import HurriedShop

PREPARATION = ("reserve-stock", "authorise-payment")
STEPS = {
    "warehouse": ("reserve-stock",),
    "payments": ("authorise-payment",),
    "carrier": ("create-shipment",),
    "mail": ("send-confirmation",),
}
"""The steps at which an order meets the faults of a service first."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "latency_ms": {"latency_ms": [600, 800]},
    "error_rate": {"error_rate": 1.0},
    "error_status": {"error_rate": 1.0, "error_status": 429},
    "hang_rate": {"hang_rate": 1.0},
    "lost_reply_rate": {"lost_reply_rate": 1.0},
    "refuse_rate": {"refuse_rate": 1.0},
    "down": {"down": True},
    "keyless": {"keyless": True},
}
"""What is set for each fault that any service can have."""
MEANINGLESS = frozenset({("mail", "error_status"), ("mail", "keyless")})
"""Email has no status of HTTP and no keys."""
OF_THEIR_OWN = frozenset({("warehouse", "stock"), ("carrier", "unserved")})
"""The faults that the customer resolves, each in a test of its own."""


def walk(shop: HurriedShop, customer: NewCustomer, service: str, fault: str) -> None:
    """Three orders meet a fault: one is placed in it; one is being prepared before and is cancelled in it; one, of the
    carrier's delay, is paid for in it. Then the fault is over, and they go on. Checks all that was read of them."""
    shop.faults("carrier", down=True)
    canceller, payer = customer(), customer()
    for early in (canceller, payer):
        early.buy()
    for early in (canceller, payer):
        early.wait_until_done(*PREPARATION)
    shop.faults(service, **SETTINGS[fault])
    canceller.cancel()
    keeper = customer()
    keeper.buy()
    canceller.wait(lambda: canceller.has_met_on_the_way_back(), "the fault on the way back")
    if service != "carrier":
        shop.lift("carrier")
    payer.wait(lambda: payer.has_met("capture-payment", *STEPS[service]), "the fault")
    keeper.wait(lambda: keeper.has_met(*STEPS[service]), "the fault")
    everybody = (canceller, keeper, payer)
    for each in everybody:
        each.look_around()
    shop.lift()
    for each in everybody:
        _end(each)
    for each in everybody:
        each.check()


def _end(customer: Customer) -> None:
    """Waits until an order has ended; cancels one that is in Error, if that is possible."""
    if customer.wait_for_end() == "error" and customer.may_cancel():
        customer.cancel()
        customer.wait_for_end()
