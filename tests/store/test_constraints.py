"""The database refuses impossible rows, each by the constraint that is named as the sentence it enforces."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model
from uuid_utils.compat import uuid7

from orders.models import (
    Address,
    AgentInstance,
    AlertGroup,
    BulkAction,
    BulkItem,
    Circuit,
    Order,
    OrderLine,
    OrderProcess,
    OutgoingMessage,
    Product,
    SetAside,
    StepState,
    SubmissionKey,
    WorkflowDefinition,
)
from tests.support.factories import LEGAL, ago, ahead, make_alert, make_order, make_request, step_of

pytestmark = pytest.mark.django_db


def process(**fields: Any) -> Callable[[], object]:
    return lambda: OrderProcess.objects.filter(pk=make_order().pk).update(**computed(fields))


def step(**fields: Any) -> Callable[[], object]:
    legal = {"attempt": 1} | fields
    return lambda: StepState.objects.filter(pk=step_of(make_order(), "mix").pk).update(**computed(legal))


def computed(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value() if callable(value) else value for name, value in fields.items()}


def in_30_s() -> Any:
    return ahead(30)


def twice(model: type[Model], **fields: Any) -> Callable[[], object]:
    def create() -> None:
        model._default_manager.create(**fields)
        model._default_manager.create(**fields)

    return create


def addresses(*rows: dict[str, Any]) -> Callable[[], object]:
    def create() -> None:
        user = User.objects.create(username="ada")
        for fields in rows:
            Address.objects.create(
                **(
                    {
                        "user": user,
                        "name": "A",
                        "street": "S",
                        "city": "C",
                        "postal_code": "1",
                        "country": "NL",
                    }
                    | fields
                )
            )

    return create


def line(**fields: Any) -> Callable[[], object]:
    def create() -> None:
        product = Product.objects.create(sku="s", title="T", artist="A", price=1)
        order = Order.objects.create(**ORDER)
        for values in (fields, {}):
            OrderLine.objects.create(
                **(
                    {"order": order, "product": product, "title": "T", "quantity": 1, "unit_price": 1}
                    | values
                )
            )

    return create


def variants(*rows: dict[str, Any]) -> Callable[[], object]:
    def create() -> None:
        Product.objects.create(sku="s", title="T", artist="A", price=1)
        for fields in rows:
            product, _ = Product.objects.get_or_create(
                sku=fields["sku"], defaults={"title": "T", "artist": "A", "price": 1}
            )
            Product.objects.filter(pk=product.pk).update(variant_of="s", size="30x40")

    return create


ORDER: dict[str, Any] = {
    "email": "a@example.org",
    "currency": "EUR",
    "total": 1,
    "ship_to": {},
    "payment_method": "card",
}
SOMEBODY = uuid7()
WHEN = "2030-01-01T00:00:00Z"
ORDER["placed_at"] = WHEN

IMPOSSIBLE: list[tuple[str, str, Callable[[], object]]] = [
    ("only_a_processing_order_is_locked", "pending and locked", process(locked_by="me")),
    (
        "only_a_processing_order_is_locked",
        "in error and locked",
        process(process_state="error", locked_by="me", complete_by=in_30_s),
    ),
    (
        "only_a_processing_order_is_locked",
        "processing and free",
        process(process_state="processing", complete_by=in_30_s),
    ),
    (
        "only_a_processing_order_is_locked",
        "processing for ever",
        process(process_state="processing", locked_by="me"),
    ),
    ("compensated_only_if_asked", "compensated unasked", process(process_state="compensated")),
    (
        "processed_only_if_meant",
        "done and to be compensated",
        process(process_state="processed", goal="compensate"),
    ),
    ("process_state_is_known", "an order nowhere", process(process_state="lost")),
    ("goal_is_known", "another goal", process(goal="party")),
    ("priority_is_one_digit", "priority 10", process(priority=10)),
    (
        "one_state_per_step",
        "a step twice",
        lambda: StepState.objects.create(process=make_order(), name="mix", position=0, agent="a"),
    ),
    ("in_flight_has_a_complete_by", "running for ever", step(state="running", outcome="unknown")),
    ("in_flight_has_a_complete_by", "not started and timed", step(state="not_started", complete_by=in_30_s)),
    (
        "in_flight_has_a_complete_by",
        "completed and timed",
        step(state="completed", outcome="done", complete_by=in_30_s),
    ),
    ("in_flight_has_a_complete_by", "failed and timed", step(state="failed", complete_by=in_30_s)),
    (
        "in_flight_has_a_complete_by",
        "compensated and timed",
        step(state="compensated", outcome="done", complete_by=in_30_s),
    ),
    ("completed_means_done", "completed, refused", step(state="completed", outcome="refused")),
    ("completed_means_done", "completed, unknown", step(state="completed", outcome="unknown")),
    ("running_means_unknown", "running, none", step(state="running", complete_by=in_30_s)),
    ("running_means_unknown", "running, done", step(state="running", outcome="done", complete_by=in_30_s)),
    (
        "dispatched_means_attempted",
        "running unasked",
        step(state="running", outcome="unknown", complete_by=in_30_s, attempt=0),
    ),
    ("dispatched_means_attempted", "completed unasked", step(state="completed", outcome="done", attempt=0)),
    ("dispatched_means_attempted", "compensating unasked", step(state="compensating", attempt=0)),
    ("dispatched_means_attempted", "compensated unasked", step(state="compensated", attempt=0)),
    ("step_state_is_known", "a step nowhere", step(state="lost")),
    ("outcome_is_known", "perhaps", step(outcome="perhaps")),
    ("answered_only_what_was_asked", "an answer too many", step(attempt=1, answered=2)),
    ("one_default_address_per_user", "two defaults", addresses({"is_default": True}, {"is_default": True})),
    ("country_is_two_letters", "a country's name", addresses({"country": "nl"})),
    (
        "one_order_per_key",
        "a key twice",
        twice(SubmissionKey, client="c", key="k", body_hash="h", order_id=SOMEBODY),
    ),
    (
        "set_aside_once",
        "set aside twice",
        twice(SetAside, order_id=SOMEBODY, client="c", body={}, reason="r", posted_at=WHEN),
    ),
    (
        "one_open_alert_per_order",
        "two open alerts",
        lambda: [make_alert(SOMEBODY) for _ in range(2)],
    ),
    (
        "one_open_outage_per_agent",
        "two open alerts of one agent's outage",
        lambda: [make_alert(None, kind="outage", agent="oven", code=code) for code in ("a", "b")],
    ),
    (
        "one_open_alert_per_subject",
        "two open alerts of one role's trouble",
        lambda: [make_alert(None, kind="stalled", subject="scheduler", message=text) for text in ("a", "b")],
    ),
    (
        "an_alert_has_one_subject",
        "an alert about nothing",
        lambda: make_alert(None),
    ),
    (
        "an_alert_has_one_subject",
        "an alert about the release that names neither a role nor a workflow",
        lambda: make_alert(None, kind="release"),
    ),
    (
        "an_alert_has_one_subject",
        "an outage of a role",
        lambda: make_alert(None, kind="outage", agent="oven", subject="scheduler"),
    ),
    (
        "an_alert_has_one_subject",
        "an alert about an order and a role",
        lambda: make_alert(SOMEBODY, kind="stalled", subject="scheduler"),
    ),
    (
        "one_row_per_workflow_definition",
        "a definition twice",
        twice(WorkflowDefinition, name="w", version=1, fingerprint="f", definition={}),
    ),
    (
        "one_group_per_cause",
        "a group twice",
        twice(AlertGroup, kind="outage", agent="a", code="c", pattern="p"),
    ),
    (
        "circuit_state_is_known",
        "a circuit that is ajar",
        lambda: Circuit.objects.create(agent="a", state="ajar", probe_at=WHEN),
    ),
    ("circuit_force_is_known", "forced ajar", lambda: Circuit.objects.create(agent="a", forced="ajar")),
    (
        "an_open_circuit_is_probed",
        "an open circuit that is never probed",
        lambda: Circuit.objects.create(agent="a", state="open"),
    ),
    (
        "what_waits_is_not_in_flight",
        "a running step that waits for its agent",
        lambda: make_order({"mix": {"state": "running", "waiting_since": WHEN}}),
    ),
    (
        "an_action_takes_an_order_once",
        "an order twice in a bulk action",
        lambda: twice(
            BulkItem,
            order_id=SOMEBODY,
            position=1,
            action=BulkAction.objects.create(
                kind="resubmit", selection="w", by="ada", starts_at=WHEN, total=1
            ),
        )(),
    ),
    (
        "an_outgoing_message_is_due_or_has_ended",
        "a message that waits for nothing",
        lambda: OutgoingMessage.objects.create(kind="sign_up", give_up_at=WHEN),
    ),
    (
        "an_outgoing_message_is_due_or_has_ended",
        "a sent message that is due",
        lambda: OutgoingMessage.objects.create(kind="sign_up", state="sent", give_up_at=WHEN, due_at=WHEN),
    ),
    (
        "only_alerts_go_to_the_webhook",
        "a sign-up on the webhook",
        lambda: OutgoingMessage.objects.create(
            kind="sign_up", channel="webhook", give_up_at=WHEN, due_at=WHEN
        ),
    ),
    (
        "an_alert_message_has_its_group",
        "an alert about nothing",
        lambda: OutgoingMessage.objects.create(kind="alert", give_up_at=WHEN, due_at=WHEN),
    ),
    ("one_row_per_instance", "an instance twice", twice(AgentInstance, instance="i", agent="a", capacity=1)),
    ("product_has_a_price", "a free product", twice(Product, sku="s", title="T", artist="A", price=0)),
    ("product_is_no_variant_of_itself", "its own variant", variants({"sku": "s"})),
    ("one_variant_per_size_and_edition", "a variant twice", variants({"sku": "v1"}, {"sku": "v2"})),
    ("order_has_a_total", "a free order", twice(Order, **(ORDER | {"total": 0}))),
    ("line_has_a_quantity", "none of a product", line(quantity=0)),
    ("one_line_per_product", "a product twice", line()),
]


@pytest.mark.pattern("T2", "T3", "T4")
@pytest.mark.parametrize(
    ("name", "write"),
    [pytest.param(name, write, id=f"{name}: {what}") for name, what, write in IMPOSSIBLE],
)
def test_an_impossible_row_is_refused_by_its_constraint(name: str, write: Callable[[], object]) -> None:
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        write()
    violation: Any = refused.value.__cause__
    assert violation.diag.constraint_name == name


def test_every_constraint_is_tested_with_an_impossible_row() -> None:
    declared = {
        constraint.name
        for model in apps.get_app_config("orders").get_models()
        for constraint in model._meta.constraints
    }
    assert declared - {name for name, _, _ in IMPOSSIBLE} == set()


def test_a_step_has_at_most_one_request() -> None:
    mix = step_of(make_order({"mix": "running"}), "mix")
    make_request(mix)
    with pytest.raises(IntegrityError, match="step_id"), transaction.atomic():
        make_request(mix, attempt=2)


@pytest.mark.pattern("T4")
@pytest.mark.parametrize("state", LEGAL)
def test_a_step_in_each_state_is_possible(state: str) -> None:
    assert step_of(make_order({"mix": state}), "mix").state == state


@pytest.mark.pattern("T3")
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"goal": "compensate"},
        {"process_state": "processing"},
        {"process_state": "processed"},
        {"process_state": "error"},
        {"process_state": "error", "goal": "compensate"},
        {"process_state": "compensated", "goal": "compensate"},
    ],
    ids=lambda fields: "-".join(fields.values()) or "pending",
)
def test_an_order_in_each_state_is_possible(fields: dict[str, Any]) -> None:
    order = make_order(**fields)
    order.refresh_from_db()
    assert order.process_state == fields.get("process_state", "pending")


def test_an_alert_that_was_closed_makes_room_for_the_next() -> None:
    for _ in range(2):
        make_alert(SOMEBODY, closed_at=ago(1))
    make_alert(SOMEBODY)
