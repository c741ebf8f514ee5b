"""An edit of an order's fields reaches every step that is still to be done, and nothing that was done (O2, A3)."""

from collections.abc import Callable
from typing import Any

import pytest

from orders.business.order_edits import CannotEditError
from orders.business.reading import BadOrderError
from orders.models import AuditEntry, Event, Order, OrderLine
from orders.services.act_results import ResultStatus
from orders.services.customers import resolve
from orders.services.operators.order_editing import GOES_ON, NotEditableError, editable_order, preview
from tests.services.edited_orders import (
    DATA,
    DECLINED,
    GOUDA,
    NEW_EMAIL,
    a_placed_order,
    edited,
    requests_of,
)
from tests.services.failed_orders import alert_closed
from tests.services.operated_orders import BEFORE_SHIPMENT, OLGA, UNKNOWN, edit, pass_over
from tests.support.bakery_prices import PRICED, PricedCake
from tests.support.businesses import Oven, business
from tests.support.factories import ahead, step_of
from tests.support.order_bodies import DELFT, EMAIL
from tests.support.roles import answer, event_of, everything, history, requested_steps, stored
from tests.support.two_sessions import Session, all_at_once

pytestmark = pytest.mark.django_db
REFUSED_SHIPMENT = {**BEFORE_SHIPMENT, "create-shipment": DECLINED}


def in_error(steps: dict[str, Any] = REFUSED_SHIPMENT, **fields: Any) -> Any:
    return a_placed_order(steps, **({"process_state": "error"} | fields))


@pytest.mark.pattern("O2", "A3")
def test_a_corrected_address_reaches_the_parcel_and_the_email_alike() -> None:
    order = in_error()
    result = edited(order, ship_to=GOUDA)
    assert alert_closed(order)[1] == "edited and resubmitted"
    assert (result.status, result.message) == (
        ResultStatus.DONE,
        f"Edited the order. Resubmitted create-shipment. {GOES_ON}",
    )
    requests = requests_of(order)
    assert [requests[name]["ship_to"] for name in ("create-shipment", "send-confirmation")] == [GOUDA, GOUDA]
    assert [
        step_of(order, name).original["ship_to"] for name in ("create-shipment", "send-confirmation")
    ] == [
        DELFT,
        DELFT,
    ]
    assert step_of(order, "capture-payment").original is None
    placed = Order.objects.get(pk=order.pk)
    assert (placed.data["ship_to"], placed.email, placed.total) == (GOUDA, EMAIL, DATA["total"])
    pass_over()
    assert requested_steps() == {"create-shipment"}
    assert (step_of(order, "create-shipment").generation, stored(order).process_state) == (2, "processing")


def test_the_history_and_the_audit_log_keep_both_values_and_say_which_steps_follow() -> None:
    order = in_error()
    edited(order, ship_to=GOUDA)
    assert event_of(order, "edited").detail == {
        "before": {"ship_to": DELFT},
        "after": {"ship_to": GOUDA},
        "steps": ["create-shipment", "send-confirmation"],
        "kept": [],
        "reason": "she moved",
    }
    entry = AuditEntry.objects.get(target=f"order {order.pk}")
    assert (entry.act, entry.allowed, entry.reason) == ("edit order", True, "she moved")
    assert (entry.before["ship_to"], entry.after["ship_to"]) == (DELFT, GOUDA)


def test_the_profile_follows_the_data() -> None:
    order = a_placed_order(BEFORE_SHIPMENT)
    edited(order, email=NEW_EMAIL)
    placed = Order.objects.get(pk=order.pk)
    assert (placed.email, placed.data["email"]) == (NEW_EMAIL, NEW_EMAIL)
    assert requests_of(order)["send-confirmation"]["email"] == NEW_EMAIL


@pytest.mark.pattern("A3")
@pytest.mark.parametrize(
    ("shipment", "sentence"),
    [
        ("completed", "create-shipment was already done with “Ada, Lane 1, 2611 AB Delft, NL”."),
        ("running", "create-shipment is already under way with “Ada, Lane 1, 2611 AB Delft, NL”."),
        (
            {"state": "awaiting", "outcome": "unknown", "awaits": {"kind": "answer", "reference": ""}},
            "create-shipment already waits for its answer with “Ada, Lane 1, 2611 AB Delft, NL”.",
        ),
        (
            {"state": "not_started", "attempt": 1, "outcome": "unknown"},
            "create-shipment may already have been done with “Ada, Lane 1, 2611 AB Delft, NL”",
        ),
    ],
    ids=("completed", "running", "awaiting", "tried"),
)
def test_a_step_that_has_begun_keeps_what_it_asked_for_and_that_is_said(shipment: Any, sentence: str) -> None:
    order = a_placed_order({**BEFORE_SHIPMENT, "create-shipment": shipment}, process_state="processing")
    before = step_of(order, "create-shipment")
    (staying,) = preview(order_id=order.pk, changes={"ship_to": GOUDA}).staying
    result = edited(order, ship_to=GOUDA)
    assert staying.request == {"ship_to": DELFT}
    assert result.status is ResultStatus.DONE and sentence in result.message
    after = step_of(order, "create-shipment")
    assert (after.request, after.original, after.state) == (before.request, None, before.state)
    assert requests_of(order)["send-confirmation"]["ship_to"] == GOUDA
    assert event_of(order, "edited").detail["kept"] == ["create-shipment"]
    assert stored(order).process_state == "processing"


@pytest.mark.pattern("A3", "F14")
def test_an_order_is_not_edited_while_it_is_unknown_whether_a_failed_step_was_done_with_the_former_value() -> (
    None
):
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN})
    before = everything(order)
    result = edited(order, ship_to=GOUDA)
    assert result.status is ResultStatus.REFUSED
    assert result.message == (
        "It is unknown whether create-shipment was done. Settle it first, or edit the order and have what may have "
        "been done reversed first."
    )
    assert everything(order) == before and Order.objects.get(pk=order.pk).data["ship_to"] == DELFT
    assert edited(order, email=NEW_EMAIL).status is ResultStatus.DONE, "the parcel knows no email"


def test_an_order_under_way_continues_and_only_its_edit_is_in_its_history() -> None:
    order = a_placed_order({"reserve-stock": "running"}, process_state="processing")
    row = stored(order)
    result = edited(order, ship_to=GOUDA)
    assert result.message == "Edited the order. It changes create-shipment and send-confirmation."
    assert history(order) == [("edited", "")]
    again = stored(order)
    assert (again.process_state, again.locked_by) == (row.process_state, row.locked_by)


def test_a_declined_payment_that_waits_for_its_customer_is_tried_again_with_the_edit() -> None:
    waiting = {**DECLINED, "not_before": ahead(900), "error": {"code": "card", "waits_for": "customer"}}
    order = a_placed_order(
        {"reserve-stock": "completed", "authorise-payment": waiting}, not_before=ahead(900)
    )
    assert edited(order, email=NEW_EMAIL).status is ResultStatus.DONE
    assert step_of(order, "authorise-payment").state == "failed", "it still waits for another card"
    result = edited(order, payment_method="card_other")
    assert result.message == "Edited the order. authorise-payment will be tried again."
    pass_over()
    step = step_of(order, "authorise-payment")
    assert (step.state, step.generation, step.request["payment_method"]) == ("running", 2, "card_other")


@pytest.mark.parametrize("outcome", ["done", "unknown"])
def test_money_that_was_reserved_keeps_its_card(outcome: str) -> None:
    step = "completed" if outcome == "done" else {"state": "running"}
    order = a_placed_order({"authorise-payment": step}, process_state="processing")
    before = everything(order)
    result = edited(order, payment_method="card_other")
    has = "has reserved" if outcome == "done" else "may have reserved"
    assert result.status is ResultStatus.REFUSED
    assert result.message.startswith(f"authorise-payment {has} the order’s value already")
    assert "cancel the order" in result.message
    assert everything(order) == before and Order.objects.get(pk=order.pk).data == DATA


def test_an_edit_changes_the_value_only_before_money_is_taken(settings: Any) -> None:
    cake = {"cake": "carrot", "quantity": 2, "total": 2_000}
    with business(settings, kinds=[PricedCake], agents=[Oven()]):
        order = a_placed_order(workflow=PRICED.name, data=cake)
        assert edited(order, seen=cake, quantity=3).status is ResultStatus.DONE
        placed = Order.objects.get(pk=order.pk)
        line = OrderLine.objects.get(order=order.pk)
        assert (placed.total, placed.title, placed.data["total"], line.quantity) == (
            3_000,
            "3 × carrot",
            3_000,
            3,
        )
        assert requests_of(order) == {"pay": {"amount": 3_000}, "mix": {"cake": "carrot", "quantity": 3}}
        paid = a_placed_order({"pay": "completed"}, workflow=PRICED.name, data=cake)
        result = edited(paid, seen=cake, quantity=3)
        assert (result.status, result.message) == (
            ResultStatus.REFUSED,
            "The order’s value cannot be changed from 20.00 EUR to 30.00 EUR, because pay has taken it already. "
            "Cancel the order, and have it placed again.",
        )
        assert edited(paid, seen=cake, cake="lemon").status is ResultStatus.DONE
        assert requests_of(paid) == {"pay": {"amount": 2_000}, "mix": {"cake": "lemon", "quantity": 2}}


def test_values_that_an_order_could_not_have_are_refused_as_strictly_as_an_order() -> None:
    order = in_error()
    before = everything(order)
    for changes in (
        {"ship_to": "Delft"},
        {"ship_to": {"city": "Delft"}},
        {"ship_to": DELFT | {"country": "Holland"}},
        {"email": "nobody"},
        {"email": None},
        {"payment_method": "a b"},
    ):
        with pytest.raises(BadOrderError):
            edited(order, **changes)
    for name in ("lines", "total", "subject"):
        with pytest.raises(NotEditableError, match="cannot be edited"):
            edited(order, **{name: 1})
    assert everything(order) == before and not Event.objects.exists()


def test_an_order_that_ended_or_is_being_cancelled_is_not_edited() -> None:
    done = dict.fromkeys([*BEFORE_SHIPMENT, "create-shipment", "capture-payment"], "completed")
    for order in (
        a_placed_order({**done, "send-confirmation": "completed"}, process_state="processed"),
        a_placed_order(BEFORE_SHIPMENT, goal="compensate"),
    ):
        result = edited(order, email=NEW_EMAIL)
        assert result.status is ResultStatus.REFUSED and "can no longer be edited" in result.message
        assert editable_order(order.pk).fields == ()
        with pytest.raises(CannotEditError):
            preview(order_id=order.pk, changes={"email": NEW_EMAIL})


def test_the_same_edit_again_changes_nothing_and_an_edit_of_what_somebody_else_changed_is_refused() -> None:
    order = in_error()
    edited(order, ship_to=GOUDA)
    assert edited(order, ship_to=GOUDA).status is ResultStatus.ALREADY
    result = edited(order, ship_to=DELFT | {"city": "Breda"})
    assert (result.status, result.message) == (
        ResultStatus.REFUSED,
        "Somebody else has edited this order in the meantime. Check its fields again.",
    )
    assert requests_of(order)["create-shipment"]["ship_to"] == GOUDA
    assert len(history(order, "edited")) == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_editors_at_once_one_is_told_of_the_other() -> None:
    order = in_error()
    cities = ("Breda", "Gouda")
    results = all_at_once(2, lambda n: edited(order, ship_to=DELFT | {"city": cities[n]}))
    assert sorted(result.status.value for result in results) == ["done", "refused"]
    requests = requests_of(order)
    cities_now = {requests[name]["ship_to"]["city"] for name in ("create-shipment", "send-confirmation")}
    assert cities_now == {Order.objects.get(pk=order.pk).data["ship_to"]["city"]}


@pytest.mark.django_db(transaction=True)
def test_a_pass_that_comes_first_sends_the_former_address_and_the_edit_says_so(
    new_session: Callable[[], Session],
) -> None:
    order = a_placed_order({**BEFORE_SHIPMENT})
    scheduler, editor = new_session(), new_session()
    scheduler.begin()
    scheduler.do(pass_over)
    editing = editor.start(lambda: edited(order, ship_to=GOUDA))
    scheduler.commit()
    assert "create-shipment is already under way" in editing.result(timeout=30).message
    requests = requests_of(order)
    assert (requests["create-shipment"]["ship_to"], requests["send-confirmation"]["ship_to"]) == (
        DELFT,
        GOUDA,
    )


@pytest.mark.pattern("O2")
def test_editing_a_failed_step_edits_the_order_so_that_the_email_agrees() -> None:
    order = in_error()
    result = edit(order, GOUDA)
    assert result.message == f"Edited create-shipment. Resubmitted create-shipment. {GOES_ON}"
    assert requests_of(order)["send-confirmation"]["ship_to"] == GOUDA
    assert Order.objects.get(pk=order.pk).data["ship_to"] == GOUDA
    event = event_of(order, "edited")
    assert (event.step, event.detail["steps"]) == ("create-shipment", ["send-confirmation"])


def test_a_customers_other_card_is_in_the_orders_data_and_no_later_edit_brings_the_old_one_back() -> None:
    waiting = {**DECLINED, "not_before": ahead(900), "error": {"code": "card", "waits_for": "customer"}}
    order = a_placed_order(
        {"reserve-stock": "completed", "authorise-payment": waiting}, not_before=ahead(900)
    )
    assert (
        resolve(order_id=order.pk, changes={"payment_method": "card_other"}, by="guest").status.value
        == "done"
    )
    assert editable_order(order.pk).values["payment_method"] == "card_other"
    edited(order, ship_to=GOUDA)
    assert requests_of(order)["authorise-payment"]["payment_method"] == "card_other"
    pass_over()
    answer("done", order=order, body={"authorisation": "a1"})
    pass_over()
    assert step_of(order, "create-shipment").request["ship_to"] == GOUDA
    assert OLGA.name in {event.actor_name for event in Event.objects.filter(order_id=order.pk, kind="edited")}
