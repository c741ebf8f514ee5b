"""The workflow that ships: its graph, the data for each agent, and how each step is compensated."""

import json

import pytest

from orders.engine.contracts import Compensation, Step, Workflow
from orders.shop.demo.posters import POSTERS
from orders.shop.fulfilment import fulfil_order
from orders.shop.time_limits import TimeLimits
from sandbox.operations import OPERATIONS
from tests.support.order_bodies import PARIS, submitted_body

ORDER = submitted_body(order_id="01936c2e-0000-7000-8000-0000000000aa")


def workflow() -> Workflow:
    return fulfil_order(TimeLimits(order_complete_by=600.0, step_complete_by=30.0, customer_wait=1_800.0))


def step(name: str) -> Step:
    return workflow().by_name[name]


@pytest.mark.pattern("C4")
def test_the_graph_is_the_documented_one() -> None:
    shipped = workflow()
    assert (shipped.name, shipped.version) == ("fulfil-order", 1)
    assert {step.name: (step.agent, step.operation, step.after) for step in shipped.steps} == {
        "reserve-stock": ("warehouse", "reserve", ()),
        "authorise-payment": ("payments", "authorise", ()),
        "create-shipment": ("carrier", "create", ("reserve-stock", "authorise-payment")),
        "capture-payment": ("payments", "capture", ("create-shipment",)),
        "send-confirmation": ("mail", "confirm", ("capture-payment",)),
    }


def test_the_time_limits_come_from_the_settings() -> None:
    shipped = workflow()
    assert shipped.complete_by == 600.0
    assert {declared.complete_by for declared in shipped.steps} == {30.0}
    assert step("authorise-payment").customer_wait == 1_800.0


@pytest.mark.pattern("C5")
def test_each_agent_receives_only_the_data_it_needs() -> None:
    lines = [{"sku": "tidal-lines", "quantity": 2}, {"sku": "first-sun", "quantity": 1}]
    assert {step.name: step.data(ORDER) for step in workflow().steps} == {
        "reserve-stock": {"lines": lines},
        "authorise-payment": {"amount": 12700, "currency": "EUR", "payment_method": "card_ok"},
        "create-shipment": {"lines": lines, "ship_to": ORDER["ship_to"]},
        "capture-payment": {"amount": 12700, "currency": "EUR"},
        "send-confirmation": {key: ORDER[key] for key in ("email", "lines", "total", "currency", "ship_to")},
    }


def test_a_gift_note_goes_to_the_carrier_and_into_the_confirmation_alone() -> None:
    order = {**ORDER, "gift_note": "For Éva"}
    changed = [step.name for step in workflow().steps if step.data(order) != step.data(ORDER)]
    assert changed == ["create-shipment", "send-confirmation"]
    for name in changed:
        assert step(name).data(order) == {**step(name).data(ORDER), "gift_note": "For Éva"}


def test_the_data_of_each_step_can_be_stored_and_edited() -> None:
    for step in workflow().steps:
        data = step.data(ORDER)
        assert json.loads(json.dumps(data)) == data
        assert set(step.editable) <= data.keys()


@pytest.mark.pattern("C10")
def test_every_effect_is_reversed_and_the_confirmation_is_followed_by_a_notice() -> None:
    compensations = {step.name: step.compensation for step in workflow().steps}
    assert compensations.pop("send-confirmation") is Compensation.NOTICE
    assert set(compensations.values()) == {Compensation.REVERSE}


@pytest.mark.pattern("V4")
def test_a_failing_remote_service_never_compensates_an_order() -> None:
    assert {declared.remedy.then for declared in workflow().steps} == {"error"}
    assert step("send-confirmation").remedy.extended_waits > 0


def test_the_phone_of_an_address_goes_to_the_carrier_alone() -> None:
    order = {**submitted_body(), "ship_to": {**PARIS, "line2": "Floor 2", "phone": "+33 1 23 45 67 89"}}
    requests = {declared.name: declared.data(order) for declared in workflow().steps}
    assert requests["create-shipment"]["ship_to"] == order["ship_to"]
    assert requests["send-confirmation"]["ship_to"] == {**PARIS, "line2": "Floor 2"}
    assert [name for name, data in requests.items() if "+33" in json.dumps(data)] == ["create-shipment"]


def test_results_travel_to_the_steps_that_use_them() -> None:
    assert step("capture-payment").needs == ("authorise-payment",)
    assert step("send-confirmation").needs == ("create-shipment",)


def test_the_editable_fields_are_declared() -> None:
    assert step("authorise-payment").editable == ("payment_method",)
    assert step("create-shipment").editable == ("ship_to",)
    assert step("capture-payment").editable == ()


def test_the_catalogue_is_complete() -> None:
    assert len(POSTERS) == 24
    for kind in ("sku", "title", "description", "seed"):
        assert len({getattr(poster, kind) for poster in POSTERS}) == 24
    assert {poster.family for poster in POSTERS} == {
        "waves", "sun", "grid", "contours", "bauhaus", "constellation",
    }  # fmt: skip
    for poster in POSTERS:
        assert 1900 <= poster.price <= 8900
        assert len(poster.sku) <= 40
        assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in poster.palette)


@pytest.mark.pattern("C5")
def test_the_results_that_later_steps_read_are_declared() -> None:
    """And the services give them."""
    declared = {step.name: [field.name for field in step.result] for step in workflow().steps if step.result}
    assert declared == {"authorise-payment": ["authorisation"], "create-shipment": ["tracking"]}
    for name, fields in declared.items():
        agent, operation = step(name).agent, step(name).operation
        assert set(fields) <= (OPERATIONS[agent, operation].gives or {}).keys()


def test_the_fingerprint_of_version_1_is_what_orders_started_with() -> None:
    """It is stored with them, and nothing starts on a different one."""
    assert workflow().fingerprint == "7101f629ada32424"
