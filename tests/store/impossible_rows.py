"""Writes that the database refuses, each with the constraint that is named as the sentence it enforces."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Model
from uuid_utils.compat import uuid7

from orders.models import (
    Address,
    AgentInstance,
    AlertGroup,
    ApiToken,
    BulkAction,
    BulkItem,
    Circuit,
    Erasure,
    Order,
    OrderLine,
    OrderProcess,
    OutgoingMessage,
    SetAside,
    StepState,
    SubmissionKey,
    WebhookDelivery,
    WebhookEndpoint,
    WorkflowDefinition,
)
from orders.shop.models import Product
from tests.support.factories import ahead, make_alert, make_order, step_of


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


def webhook(**fields: Any) -> WebhookEndpoint:
    somebody, _ = User.objects.get_or_create(username="ada")
    return WebhookEndpoint.objects.create(customer=somebody, position=0, event_id=0, **fields)


def delivery(**fields: Any) -> WebhookDelivery:
    endpoint = WebhookEndpoint.objects.first() or webhook()
    return WebhookDelivery.objects.create(endpoint=endpoint, order_id=endpoint.pk, event_id=1, **fields)


def token(**fields: Any) -> Callable[[], object]:
    legal = {"scopes": ["read"], "expires_at": WHEN} | fields
    return lambda: ApiToken.objects.create(user=User.objects.create(username="ada"), **legal)


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
        order = Order.objects.create(**ORDER)
        for values in (fields, {}):
            OrderLine.objects.create(
                **({"order": order, "sku": "s", "title": "T", "quantity": 1, "unit_price": 1} | values)
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
    (
        "awaiting_is_unanswered",
        "awaiting unasked",
        step(state="awaiting", awaits={"kind": "event"}, attempt=0),
    ),
    (
        "awaiting_is_unanswered",
        "awaiting what came",
        step(state="awaiting", awaits={"kind": "event"}, answered=1),
    ),
    ("awaiting_says_what_for", "awaiting nothing", step(state="awaiting", complete_by=in_30_s)),
    (
        "only_what_may_be_done_is_reversed",
        "reversed although it was not done",
        step(state="failed", outcome="refused", next_request={}),
    ),
    (
        "only_what_may_be_done_is_reversed",
        "to be reversed, and begun anew",
        step(state="running", outcome="unknown", complete_by=in_30_s, next_request={}),
    ),
    (
        "only_what_may_be_done_is_reversed",
        "reversed, and done",
        step(state="completed", outcome="done", next_request={}),
    ),
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
        "one_order_per_reference",
        "a reference twice",
        twice(SubmissionKey, client="c", reference_hash="r", body_hash="h", order_id=SOMEBODY),
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
        "only_messages_for_operators_go_to_the_webhook",
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
    (
        "a_disabled_webhook_says_why",
        "a webhook that is disabled for no reason",
        lambda: webhook(disabled_at=WHEN),
    ),
    (
        "a_previous_secret_has_an_end",
        "a previous secret without an end",
        lambda: webhook(previous_secret="sealed:"),
    ),
    (
        "a_delivery_is_due_or_has_been_made",
        "a delivered message that is due",
        lambda: delivery(state="delivered", due_at=WHEN),
    ),
    ("one_delivery_per_event", "an event twice", lambda: [delivery(), delivery()]),
    ("one_row_per_instance", "an instance twice", twice(AgentInstance, instance="i", agent="a", capacity=1)),
    ("product_has_a_price", "a free product", twice(Product, sku="s", title="T", artist="A", price=0)),
    ("product_is_no_variant_of_itself", "its own variant", variants({"sku": "s"})),
    ("one_variant_per_size_and_edition", "a variant twice", variants({"sku": "v1"}, {"sku": "v2"})),
    ("a_value_has_a_currency", "an amount of nothing", twice(Order, **(ORDER | {"currency": ""}))),
    ("a_value_has_a_currency", "a currency of nothing", twice(Order, **(ORDER | {"total": None}))),
    ("line_has_a_quantity", "none of a product", line(quantity=0)),
    ("one_line_per_product", "a product twice", line()),
    (
        "one_unfinished_erasure_per_customer",
        "two that are not finished",
        twice(Erasure, pseudonym="erased-1", entry=1),
    ),
    (
        "a_finished_erasure_names_nobody",
        "finished with an email",
        lambda: Erasure.objects.create(
            pseudonym="erased-1", entry=1, email="a@example.org", finished_at=WHEN
        ),
    ),
    ("every_token_may_read", "one that only writes", token(scopes=["orders"])),
    ("token_scopes_are_known", "an unknown scope", token(scopes=["read", "everything"])),
    ("a_token_expires_after_it_is_created", "expired at birth", token(expires_at="2020-01-01T00:00Z")),
]
