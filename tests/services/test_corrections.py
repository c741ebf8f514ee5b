"""A customer corrects what was declined: where it is sent, how many she wants, how she pays (T5, A3, rule 5)."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.business import BadOrderError
from orders.fields.money import Money
from orders.models import AgentRequest, Alert, Order, OrderLine, OrderProcess, StepState
from orders.services.act_results import Result, ResultStatus
from orders.services.corrections import NotNowError, TotalChangedError, preview, resolve
from orders.services.customers import cancel
from orders.services.operators.order_editing import edit_order
from tests.services.edited_orders import DATA, DECLINED, GOUDA, a_placed_order
from tests.services.operated_orders import OLGA, UNKNOWN, pass_over
from tests.support.factories import ago, ahead, step_of
from tests.support.order_bodies import DELFT
from tests.support.roles import all_due, answer, event_of, everything, history, states, stored
from tests.support.two_sessions import Session, all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("T5", "A3")]

STOCK, PAYMENT, SHIPMENT = "reserve-stock", "authorise-payment", "create-shipment"
FEWER = [{"sku": "tidal-lines", "quantity": 1}, {"sku": "first-sun", "quantity": 0}]
"""What is left of two for €39.00 each and one for €49.00."""
LESS = Money(amount=3_900, currency="EUR")
AUTHORISED = {
    "state": "completed",
    "attempt": 1,
    "answered": 1,
    "outcome": "done",
    "result": {"authorisation": "a1"},
}


def waits(code: str, **error: Any) -> dict[str, Any]:
    """A step that waits for its customer."""
    failure = {"code": code, "message": "no", "waits_for": "customer", **error}
    return {**DECLINED, "failure_count": 0, "error": failure, "not_before": ahead(3_600)}


def sold_out(payment: Any = "completed", *, remaining: int | None = None) -> OrderProcess:
    """An order of which a product has sold out, by default after its payment was authorised. `remaining` are how many
    there are of the other product."""
    if payment == "completed":
        payment = {**AUTHORISED, "sent_at": ago(30), "completed_at": ago(29)}
    detail = {} if remaining is None else {"detail": {"lines": [{"sku": "tidal-lines", "left": remaining}]}}
    return a_placed_order({STOCK: waits("sold_out", **detail), PAYMENT: payment}, not_before=ahead(3_600))


def not_served() -> OrderProcess:
    before = {STOCK: "completed", PAYMENT: "completed"}
    return a_placed_order({**before, SHIPMENT: waits("address_not_served")}, not_before=ahead(3_600))


def unanswered(**others: Any) -> OrderProcess:
    """An order in Error, whose card has not answered."""
    error = {"code": "timeout", "message": "no answer in time"}
    lost = {**UNKNOWN, "answered": 3, "sent_at": ago(60), "settles_at": ago(20), "error": error}
    return a_placed_order({STOCK: "completed", PAYMENT: lost, **others}, process_state="error")


def corrected(order: OrderProcess, **changes: Any) -> Result:
    return resolve(order_id=order.pk, changes=changes, by="guest")


def sent(step: str) -> list[tuple[bool, str]]:
    """The requests that wait for a step's agent, as direction and key without the order."""
    rows = AgentRequest.objects.filter(step=step).order_by("id")
    return [(request.compensates, request.key.partition("/")[2]) for request in rows]


def play(order: OrderProcess) -> str:
    """Plays all agents until nothing moves; returns the state of the order."""
    for _ in range(20):
        pass_over()
        if not answer(body={"authorisation": "a2", "tracking": "t"}, order=order):
            break
    return str(stored(order).process_state)


# Another address.


def test_another_address_is_tried_with_a_new_key_and_the_email_names_it_too() -> None:
    order = not_served()
    assert corrected(order, ship_to=GOUDA).status is ResultStatus.DONE
    step = step_of(order, SHIPMENT)
    assert (step.state, step.outcome, step.generation, step.error) == ("not_started", "none", 2, None)
    assert step.request["ship_to"] == GOUDA
    assert step_of(order, "send-confirmation").request["ship_to"] == GOUDA
    assert Order.objects.get().data["ship_to"] == GOUDA
    pass_over()
    assert sent(SHIPMENT) == [(False, f"{SHIPMENT}/2")]
    assert play(order) == "processed"


def test_the_history_says_what_she_changed_without_naming_her() -> None:
    order = not_served()
    corrected(order, ship_to=GOUDA)
    event = event_of(order, "corrected")
    assert (event.actor_kind, event.actor_name, event.step) == ("customer", "guest", SHIPMENT)
    hidden = {"name": "…", "street": "…"}
    assert event.detail == {
        "before": {"ship_to": {**DELFT, **hidden}},
        "after": {"ship_to": {**GOUDA, **hidden}},
        "steps": [SHIPMENT, "send-confirmation"],
    }


@pytest.mark.parametrize("country", ["", "Netherlands", 7, "XX"])
def test_an_address_that_could_not_be_ordered_to_is_no_correction(country: Any) -> None:
    order = not_served()
    before = everything(order)
    with pytest.raises(BadOrderError):
        corrected(order, ship_to={**GOUDA, "country": country})
    assert everything(order) == before


@pytest.mark.parametrize("field", ["lines", "payment_method", "email", "total", "nonsense"])
def test_only_what_the_waiting_step_declares_can_be_changed(field: str) -> None:
    order = not_served()
    before = everything(order)
    assert corrected(order, **{field: "x"}).status is ResultStatus.ALREADY
    assert everything(order) == before


# Fewer.


def test_with_fewer_the_total_follows_and_the_old_reservation_is_reversed_before_a_new_one() -> None:
    order = sold_out()
    assert corrected(order, lines=FEWER).status is ResultStatus.DONE
    stored_order = Order.objects.get()
    assert (stored_order.total, stored_order.data["total"]) == (3_900, 3_900)
    assert list(OrderLine.objects.values_list("sku", "quantity", "unit_price")) == [("tidal-lines", 1, 3_900)]
    assert states(order)[PAYMENT] == "compensating"
    pass_over()
    assert sent(PAYMENT) == [(True, f"{PAYMENT}/1/undo")]
    assert sent(STOCK) == [(False, f"{STOCK}/2")]
    assert step_of(order, PAYMENT).request["amount"] == DATA["total"], "the reversal is of what was asked for"
    answer(order=order)
    pass_over()
    payment = step_of(order, PAYMENT)
    assert (payment.state, payment.generation, payment.request["amount"]) == ("running", 2, 3_900)
    assert (payment.result, payment.completed_at) == (None, None)
    assert sent(SHIPMENT) == [], "nothing builds on the authorisation that was reversed"
    assert play(order) == "processed"
    assert step_of(order, "capture-payment").request["amount"] == 3_900
    assert step_of(order, PAYMENT).result["authorisation"] == "a2"


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ([{"sku": "tidal-lines", "quantity": 3}], "lines[0].quantity"),
        ([{"sku": "moon", "quantity": 1}], "lines[0].sku"),
        ([{"sku": "tidal-lines", "quantity": 0}, {"sku": "first-sun", "quantity": 0}], "lines"),
        ([{"sku": "tidal-lines", "quantity": 1, "unit_price": 1}, {"sku": "tidal-lines", "quantity": 1}], "lines"),
        ([{"sku": "tidal-lines", "quantity": -1}], "lines[0].quantity"),
        ([], "lines"),
    ],
)  # fmt: skip
def test_more_than_was_ordered_or_nothing_is_no_correction(lines: Any, where: str) -> None:
    order = sold_out()
    before = everything(order)
    with pytest.raises(BadOrderError) as mistake:
        corrected(order, lines=lines)
    assert mistake.value.where == where
    assert everything(order) == before


def test_she_sees_the_new_total_before_and_another_one_is_refused() -> None:
    order = sold_out()
    before = everything(order)
    seen = preview(order_id=order.pk, changes={"lines": FEWER})
    assert seen is not None
    assert (seen.before, seen.after) == (Money(amount=DATA["total"], currency="EUR"), LESS)
    other = Money(amount=7_800, currency="EUR")
    result = resolve(order_id=order.pk, changes={"lines": FEWER}, by="guest", agreed=other)
    assert isinstance(result.cause, TotalChangedError)
    assert everything(order) == before
    agreed = resolve(order_id=order.pk, changes={"lines": FEWER}, by="guest", agreed=LESS)
    assert agreed.status is ResultStatus.DONE


def test_while_the_payment_is_under_way_its_amount_cannot_change() -> None:
    order = sold_out(payment="running")
    before = everything(order)
    result = corrected(order, lines=FEWER)
    assert isinstance(result.cause, NotNowError)
    assert everything(order) == before


def test_a_card_that_was_declined_as_well_still_waits_and_is_asked_for_the_new_total() -> None:
    order = sold_out(payment=waits("card_declined"))
    corrected(order, lines=FEWER)
    payment = step_of(order, PAYMENT)
    assert (payment.state, payment.request["amount"]) == ("failed", 3_900)
    assert history(order, "paid_again") == []
    assert corrected(order, payment_method="card_slow").status is ResultStatus.DONE
    assert play(order) == "processed"


def test_a_cancellation_takes_the_reversal_over() -> None:
    order = sold_out()
    corrected(order, lines=FEWER)
    assert cancel(order_id=order.pk, by="guest").status is ResultStatus.DONE
    all_due(order)
    assert play(order) == "compensated"
    assert step_of(order, PAYMENT).generation == 1


# A card that never answers.


def test_another_card_is_asked_only_after_the_silent_one_has_been_reversed() -> None:
    order = unanswered()
    assert corrected(order, payment_method="card_slow").status is ResultStatus.DONE
    assert not Alert.objects.filter(closed_at=None).exists()
    assert Alert.objects.get().resolution == "paid again"
    pass_over()
    assert sent(PAYMENT) == [(True, f"{PAYMENT}/1/undo")]
    answer(order=order)
    pass_over()
    assert sent(PAYMENT) == [(False, f"{PAYMENT}/2")]
    assert step_of(order, PAYMENT).request["payment_method"] == "card_slow"
    event = event_of(order, "paid_again")
    assert (event.detail["reversed_first"], event.detail["after"]) == (True, {"payment_method": "…slow"})
    assert play(order) == "processed"


def test_the_same_card_is_asked_again_under_the_same_key() -> None:
    order = unanswered()
    assert (
        resolve(order_id=order.pk, changes={}, fields=["payment_method"], by="guest").status
        is ResultStatus.DONE
    )
    pass_over()
    assert sent(PAYMENT) == [(False, f"{PAYMENT}/1")]


@pytest.mark.parametrize(
    "others", [{STOCK: {**UNKNOWN, "error": {"code": "timeout", "message": "no"}}}, {STOCK: "failed"}]
)
def test_an_order_that_something_else_has_stopped_is_left_to_an_operator(others: dict[str, Any]) -> None:
    order = unanswered(**others)
    before = everything(order)
    assert corrected(order, payment_method="card_slow").status is ResultStatus.ALREADY
    assert everything(order) == before


@pytest.mark.parametrize("code", ["misconfigured", "no", "key_expired"])
def test_a_payment_that_failed_in_another_way_is_left_to_an_operator(code: str) -> None:
    order = unanswered()
    StepState.objects.filter(process=order, name=PAYMENT).update(error={"code": code, "message": "no"})
    assert corrected(order, payment_method="card_slow").status is ResultStatus.ALREADY


@pytest.mark.parametrize("make", [unanswered, sold_out])
def test_no_operator_has_a_reservation_reversed_by_an_edit(make: Callable[[], OrderProcess]) -> None:
    order = make()
    result = edit_order(
        order_id=order.pk, changes={"payment_method": "card_slow"}, seen={}, actor=OLGA, reverse=[PAYMENT]
    )
    assert result.status is ResultStatus.REFUSED
    assert step_of(order, PAYMENT).next_request is None


# At the same time.


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make", [not_served, sold_out, unanswered])
def test_of_a_crowd_of_corrections_one_counts(make: Callable[[], OrderProcess]) -> None:
    order = make()
    changes = {
        not_served: {"ship_to": GOUDA},
        sold_out: {"lines": FEWER},
        unanswered: {"payment_method": "card_ok"},
    }
    results = all_at_once(6, lambda _: corrected(order, **changes[make]))
    assert sorted(result.status.value for result in results) == ["already"] * 5 + ["done"]
    assert play(order) == "processed"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("rival", ["cancel", "operator"])
def test_a_correction_and_what_else_is_done_do_not_mix(
    new_session: Callable[[], Session], rival: str, is_first: bool
) -> None:
    order = not_served()

    def does_otherwise() -> Any:
        if rival == "cancel":
            return cancel(order_id=order.pk, by="guest")
        breda = {"ship_to": {**GOUDA, "city": "Breda"}}
        return edit_order(order_id=order.pk, changes=breda, seen={"ship_to": DELFT}, actor=OLGA)

    def correction() -> Result:
        return corrected(order, ship_to=GOUDA)

    first, second = new_session(), new_session()
    first.begin()
    first.do(correction if is_first else does_otherwise)
    waiting = second.start(does_otherwise if is_first else correction)
    second.await_wait()
    first.commit()
    later = waiting.result(timeout=30)
    if not is_first:
        assert later.status is not ResultStatus.DONE
    assert len(history(order, "corrected")) == (1 if is_first else 0)
    assert stored(order).goal == ("complete" if rival == "operator" else "compensate")
    all_due(order)
    assert play(order) == ("processed" if rival == "operator" else "compensated")


def overdue() -> OrderProcess:
    order = not_served()
    StepState.objects.filter(process=order, name=SHIPMENT).update(not_before=ago(1))
    OrderProcess.objects.update(not_before=ago(1))
    return order


@pytest.mark.django_db(transaction=True)
def test_a_correction_that_holds_the_order_counts_though_its_wait_has_ended(
    new_session: Callable[[], Session],
) -> None:
    order = overdue()
    customer = new_session()
    customer.begin()
    customer.do(lambda: corrected(order, ship_to=GOUDA))
    pass_over()  # a scheduler passes by what is locked
    customer.commit()
    assert play(order) == "processed"


def test_a_correction_after_the_wait_has_ended_is_too_late() -> None:
    order = overdue()
    pass_over()
    assert corrected(order, ship_to=GOUDA).status is ResultStatus.REFUSED
    all_due(order)
    assert play(order) == "compensated"
