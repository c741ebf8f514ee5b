"""A customer's order goes to another country: what delivery costs follows, once she has agreed to it (A3, rule 5)."""

from typing import Any

import pytest

from orders.business import BadOrderError, Money
from orders.models import Order, OrderProcess
from orders.services.act_results import ResultStatus
from orders.services.corrections import NotAgreedError, NotNowError, TotalChangedError, preview, resolve
from orders.shop.delivery import included_tax
from orders.shop.models import DeliveryTerms
from tests.services.edited_orders import DATA, GOUDA, edited, requests_of
from tests.services.edited_orders import a_placed_order as placed_order
from tests.services.test_corrections import (
    AUTHORISED,
    FEWER,
    PAYMENT,
    SHIPMENT,
    STOCK,
    play,
    sent,
    waits,
)
from tests.support.factories import ago, ahead, step_of
from tests.support.order_bodies import LONDON, TOTAL
from tests.support.roles import answer, everything, states

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("T5", "A3")]

DUTCH = {
    "delivery": {"price": 490, "fewest_days": 1, "most_days": 2},
    "tax": {"rate": 2100, "amount": included_tax(TOTAL + 490, 2100)},
    "total": TOTAL + 490,
}
BRITISH = {
    "delivery": {"price": 990, "fewest_days": 3, "most_days": 6},
    "tax": {"rate": 2000, "amount": included_tax(TOTAL + 990, 2000)},
    "total": TOTAL + 990,
}
TO_LONDON = Money(amount=TOTAL + 990, currency="EUR")


@pytest.fixture(autouse=True)
def terms(db: None) -> None:
    DeliveryTerms.objects.create(country="NL", price=490, fewest_days=1, most_days=2, tax_rate=2100)
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=3, most_days=6, tax_rate=2000)
    DeliveryTerms.objects.create(country="US", price=1590, fewest_days=5, most_days=9)


def dutch_order(payment: Any = "completed", stock: Any = "completed") -> OrderProcess:
    """An order of which the carrier does not serve the address, by default after its payment was authorised."""
    if payment == "completed":
        payment = {**AUTHORISED, "sent_at": ago(30), "completed_at": ago(29)}
    shipment = waits("address_not_served") if stock == "completed" else "not_started"
    steps = {STOCK: stock, PAYMENT: payment, SHIPMENT: shipment}
    return placed_order(steps, data={**DATA, **DUTCH}, not_before=ahead(3_600))


def moved(order: OrderProcess, *, agreed: Money | None, **changes: Any) -> Any:
    return resolve(order_id=order.pk, changes=changes, by="guest", agreed=agreed)


def sums_of(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("delivery", "tax", "total") if name in data}


def test_to_another_country_the_delivery_the_tax_and_the_total_follow_and_are_authorised_anew() -> None:
    order = dutch_order()
    assert moved(order, agreed=TO_LONDON, ship_to=LONDON).status is ResultStatus.DONE
    row = Order.objects.get()
    assert (row.total, sums_of(row.data)) == (TOTAL + 990, BRITISH)
    assert states(order)[PAYMENT] == "compensating"
    assert step_of(order, PAYMENT).request["amount"] == TOTAL + 490, "the reversal is of what was asked for"
    answer(order=order)
    assert sent(SHIPMENT) == [], "nothing is sent before the new total is authorised"
    assert play(order) == "processed"
    amounts = {name: request.get("amount") for name, request in requests_of(order).items()}
    assert (amounts[PAYMENT], amounts["capture-payment"]) == (TOTAL + 990, TOTAL + 990)
    assert requests_of(order)[SHIPMENT]["ship_to"] == LONDON
    assert step_of(order, PAYMENT).generation == 2
    assert sums_of(requests_of(order)["send-confirmation"]) == BRITISH


def test_she_sees_the_new_total_and_what_it_is_made_of_before() -> None:
    order = dutch_order()
    before = everything(order)
    correction = preview(order_id=order.pk, changes={"ship_to": LONDON})
    assert correction is not None
    assert (correction.before, correction.after) == (Money(amount=TOTAL + 490, currency="EUR"), TO_LONDON)
    assert [(row.label, row.amount.amount) for row in correction.rows] == [
        ("Delivery to the United Kingdom", 990),
        ("Includes 20% VAT", BRITISH["tax"]["amount"]),
    ]
    assert everything(order) == before


@pytest.mark.parametrize(
    ("agreed", "cause"),
    [(None, NotAgreedError), (Money(amount=TOTAL + 490, currency="EUR"), TotalChangedError)],
)
def test_no_order_becomes_dearer_than_she_has_agreed_to(agreed: Money | None, cause: type[Exception]) -> None:
    order = dutch_order()
    before = everything(order)
    assert isinstance(moved(order, agreed=agreed, ship_to=LONDON).cause, cause)
    assert everything(order) == before


def test_terms_that_change_after_she_has_agreed_are_asked_for_again() -> None:
    order = dutch_order()
    before = everything(order)
    DeliveryTerms.objects.filter(country="GB").update(price=1_490)
    assert isinstance(moved(order, agreed=TO_LONDON, ship_to=LONDON).cause, TotalChangedError)
    assert everything(order) == before


def test_within_the_country_the_terms_of_the_order_stay_though_others_are_in_force() -> None:
    order = dutch_order()
    DeliveryTerms.objects.filter(country="NL").update(price=5_000)
    assert moved(order, agreed=None, ship_to=GOUDA).status is ResultStatus.DONE
    assert sums_of(Order.objects.get().data) == DUTCH
    assert step_of(order, PAYMENT).generation == 1, "the authorisation stays"
    assert play(order) == "processed"


def test_a_country_without_tax_leaves_none_in_the_order() -> None:
    order = dutch_order()
    total = Money(amount=TOTAL + 1590, currency="EUR")
    moved(order, agreed=total, ship_to={**LONDON, "state": "CA", "postal_code": "95014", "country": "US"})
    assert sums_of(Order.objects.get().data) == {
        "delivery": {"price": 1590, "fewest_days": 5, "most_days": 9},
        "total": total.amount,
    }


def test_a_country_that_is_not_served_is_no_correction() -> None:
    order = dutch_order()
    before = everything(order)
    with pytest.raises(BadOrderError) as refused:
        moved(order, agreed=None, ship_to={**LONDON, "postal_code": "101", "country": "IS"})
    assert refused.value.where == "ship_to.country"
    assert everything(order) == before


def test_an_order_from_before_there_were_terms_gets_those_of_the_new_country() -> None:
    steps = {STOCK: "completed", PAYMENT: "completed", SHIPMENT: waits("address_not_served")}
    order = placed_order(steps, not_before=ahead(3_600))
    assert preview(order_id=order.pk, changes={"ship_to": GOUDA}).after.amount == TOTAL  # type: ignore[union-attr]
    assert preview(order_id=order.pk, changes={"ship_to": LONDON}).after == TO_LONDON  # type: ignore[union-attr]


def test_while_the_payment_is_under_way_the_country_cannot_change() -> None:
    steps = {STOCK: "completed", PAYMENT: "running", SHIPMENT: waits("address_not_served")}
    order = placed_order(steps, data={**DATA, **DUTCH}, not_before=ahead(3_600))
    before = everything(order)
    assert isinstance(moved(order, agreed=TO_LONDON, ship_to=LONDON).cause, NotNowError)
    assert everything(order) == before


def test_of_fewer_lines_the_tax_is_less_and_the_delivery_costs_the_same() -> None:
    order = dutch_order(stock=waits("sold_out"))
    assert moved(order, agreed=None, lines=FEWER).status is ResultStatus.DONE
    assert sums_of(Order.objects.get().data) == {
        **DUTCH,
        "tax": {"rate": 2100, "amount": included_tax(3_900 + 490, 2100)},
        "total": 3_900 + 490,
    }
    assert play(order) == "processed"
    assert requests_of(order)["capture-payment"]["amount"] == 3_900 + 490


def test_an_operators_edit_of_the_address_never_changes_what_the_customer_pays() -> None:
    order = dutch_order()
    assert edited(order, {**DATA, **DUTCH}, ship_to=LONDON).status is ResultStatus.DONE
    row = Order.objects.get()
    assert (row.data["ship_to"], row.total, sums_of(row.data)) == (LONDON, TOTAL + 490, DUTCH)
    assert requests_of(order)[SHIPMENT]["ship_to"] == LONDON
    assert step_of(order, PAYMENT).generation == 1
