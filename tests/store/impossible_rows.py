"""Writes about orders, alerts and messages that the database refuses, each with the constraint that is named as the
sentence it enforces."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model
from uuid_utils.compat import uuid7

from orders.models import (
    AgentInstance,
    AlertGroup,
    BulkAction,
    BulkItem,
    Circuit,
    OrderProcess,
    OutgoingMessage,
    SetAside,
    StepState,
    WorkflowDefinition,
)
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


SOMEBODY = uuid7()
WHEN = "2030-01-01T00:00:00Z"

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
    ("one_row_per_instance", "an instance twice", twice(AgentInstance, instance="i", agent="a", capacity=1)),
]
