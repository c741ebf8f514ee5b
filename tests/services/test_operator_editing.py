"""Editing a step and resubmitting it (O2, A3)."""

import pytest

from orders.business.registry import workflows
from orders.models import Event
from orders.services.act_results import ResultStatus
from orders.services.operators.editing import edit_and_resubmit, editable_fields
from orders.services.operators.order_editing import GOES_ON
from orders.services.operators.settling import settle_not_done
from tests.services.failed_orders import alert_closed
from tests.services.operated_orders import (
    BEFORE_SHIPMENT,
    FULFIL,
    MOVED,
    OLGA,
    REFUSED,
    UNKNOWN,
    an_order,
    edit,
    in_error,
    pass_over,
)
from tests.support.factories import ahead, step_of
from tests.support.order_bodies import DELFT
from tests.support.roles import answer, event_of, everything

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("O2", "A3")
def test_an_edited_step_keeps_its_original_and_is_tried_with_the_new_request_and_a_new_key() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": REFUSED})
    result = edit(order)
    assert alert_closed(order)[1] == "edited and resubmitted"
    assert (result.status, result.message) == (
        ResultStatus.DONE,
        f"Edited create-shipment. Resubmitted create-shipment. {GOES_ON}",
    )
    step = step_of(order, "create-shipment")
    assert (step.request["ship_to"], step.original["ship_to"], step.generation) == (MOVED, DELFT, 2)
    event = event_of(order, "edited")
    assert event.detail == {
        "before": {"ship_to": DELFT},
        "after": {"ship_to": MOVED},
        "reason": "she moved",
    }
    pass_over()
    answer("refused", order=order)
    pass_over()
    assert edit(order, DELFT | {"city": "Breda"}, seen=MOVED).status is ResultStatus.DONE
    step = step_of(order, "create-shipment")
    assert (step.request["ship_to"]["city"], step.original["ship_to"]) == ("Breda", DELFT)


def test_undeclared_fields_and_invalid_values_are_refused() -> None:
    order = in_error({**BEFORE_SHIPMENT, "create-shipment": REFUSED})
    before = everything(order)
    for to, field in (
        ([], "lines"),
        (1, "amount"),
        ("Delft", "ship_to"),
        ({"city": "Delft"}, "ship_to"),
        (DELFT | {"city": "a\nb"}, "ship_to"),
        (DELFT | {"country": "Holland"}, "ship_to"),
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            edit(order, to, field=field, seen=None)
    assert edit(order, DELFT).message.startswith("There are no changes")
    assert edit(order, seen=MOVED).message.startswith("Somebody else has edited")
    assert everything(order) == before and not Event.objects.exists()


@pytest.mark.pattern("A3", "F14")
def test_a_step_of_unknown_outcome_is_not_edited() -> None:
    order = in_error(
        {**BEFORE_SHIPMENT, "create-shipment": {**UNKNOWN, "request": {"lines": [], "ship_to": DELFT}}}
    )
    before = everything(order)
    result = edit(order)
    assert result.status is ResultStatus.REFUSED and "Settle it first" in result.message
    assert everything(order) == before
    settle_not_done(order_id=order.pk, step="create-shipment", actor=OLGA, reason="not at the carrier")
    assert edit(order).status is ResultStatus.DONE
    assert step_of(order, "create-shipment").generation == 2


def test_a_declined_payment_can_be_edited_while_it_waits_for_its_customer() -> None:
    order = an_order(
        {
            "reserve-stock": "completed",
            "authorise-payment": {
                "state": "failed",
                "not_before": ahead(900),
                "request": {"payment_method": "card_declined"},
            },
        },
        process_state="pending",
        not_before=ahead(900),
    )
    result = edit_and_resubmit(
        order_id=order.pk,
        step="authorise-payment",
        changes={"payment_method": "card_ok"},
        seen={"payment_method": "card_declined"},
        actor=OLGA,
    )
    assert result.message == "Edited authorise-payment. It will be tried again."
    pass_over()
    step = step_of(order, "authorise-payment")
    assert (step.state, step.generation, step.request) == ("running", 2, {"payment_method": "card_ok"})


def test_every_workflow_can_be_edited_and_every_editable_field_has_a_type() -> None:
    for (name, version), workflow in workflows().items():
        for step in workflow.steps:
            fields = editable_fields(workflow=name, version=version, step=step.name)
            assert tuple(field.name for field in fields) == step.editable
    assert editable_fields(workflow=FULFIL.name, version=999, step="create-shipment") == ()
