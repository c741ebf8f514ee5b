"""New orders and their history, as the state store writes them."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries
from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.rows import Actor, EventRow
from orders.engine.runtime.sql import fetch
from orders.models import Event, OrderProcess, StepState
from orders.vocabulary import ActorKind
from tests.support.factories import make_order
from tests.support.new_orders import accepted, read_step
from tests.support.workflows import CAKE

# --- new orders


@pytest.mark.django_db
@pytest.mark.pattern("T1", "T2", "T3", "T4", "Q2")
def test_a_new_order_is_pending_and_free_with_one_record_for_each_step(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    new = [accepted(9, "app", 4), accepted()]
    with django_assert_num_queries(2):
        state_store.create_processes(new)
    order = OrderProcess.objects.get(pk=new[0].submission.order_id)
    assert (order.workflow, order.version, order.goal) == ("bake-cake", 3, "complete")
    assert (order.process_state, order.locked_by, order.complete_by) == ("pending", None, None)
    assert (order.failure_count, order.overruns, order.not_before) == (0, 0, None)
    assert (order.priority, order.reply_to, order.announced) == (9, "app", True)
    assert (order.started_at, order.finished_at) == (None, None)
    assert order.created_at is not None
    steps = list(order.steps.order_by("position"))
    assert [(step.name, step.position, step.agent) for step in steps] == [
        (step.name, position, step.agent) for position, step in enumerate(CAKE.steps)
    ]
    for step in steps:
        assert (step.state, step.attempt, step.answered, step.outcome) == ("not_started", 0, 0, "none")
        assert (step.generation, step.compensation_generation) == (1, 1)
        assert (step.failure_count, step.compensation_failure_count, step.extended_waits) == (0, 0, 0)
        assert (step.complete_by, step.settles_at, step.not_before) == (None, None, None)
        assert (step.request, step.result, step.error) == ({"portions": 4}, None, None)
        assert (step.started_at, step.completed_at) == (None, None)
    assert StepState.objects.count() == 14


@pytest.mark.django_db
@pytest.mark.pattern("S3")
def test_an_order_cannot_be_created_twice() -> None:
    new = accepted()
    state_store.create_processes([new])
    with pytest.raises(IntegrityError), transaction.atomic():
        state_store.create_processes([accepted(), new])
    assert OrderProcess.objects.count() == 1


# --- history


@pytest.mark.django_db
def test_events_keep_their_details_and_order_and_have_the_databases_time() -> None:
    order = uuid7()
    when = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    state_store.record_events(
        [
            EventRow(order, "first", Actor(ActorKind.SCHEDULER, "scheduler:1")),
            EventRow(
                order,
                "second",
                Actor(ActorKind.OPERATOR, "ada"),
                "mix",
                3,
                {"until": when, "order": order, "deep": [{"a": None}]},
            ),
        ]
    )
    state_store.record_events(iter([EventRow(order, "third", Actor(ActorKind.CUSTOMER, "x"))]))
    first, second, third = Event.objects.order_by("id")
    assert [first.kind, second.kind, third.kind] == ["first", "second", "third"]
    assert (first.order_id, first.actor_name, first.step, first.attempt, first.detail) == (
        order,
        "scheduler:1",
        "",
        0,
        {},
    )
    assert (first.actor_kind, second.actor_kind) == ("scheduler", "operator")
    assert (second.actor_name, second.step, second.attempt) == ("ada", "mix", 3)
    assert second.detail == {"until": when.isoformat(), "order": str(order), "deep": [{"a": None}]}
    # clock_timestamp, not the start of the transaction (trap 6)
    assert fetch("SELECT bool_and(at > now()) FROM orders_event") == [(True,)]


@pytest.mark.django_db
def test_only_the_last_failed_call_of_the_current_attempt_is_found() -> None:
    order, other = make_order({"mix": "running", "box": "running"}), make_order({"mix": "running"})

    def call_failed(
        order: OrderProcess, step: str, attempt: int, code: str, kind: str = "call_failed"
    ) -> None:
        state_store.record_events(
            [
                EventRow(
                    order.order_id,
                    kind,
                    Actor(ActorKind.AGENTS, "agents:1"),
                    step,
                    attempt,
                    {"code": code, "message": "m"},
                )
            ]
        )

    call_failed(order, "mix", 1, "first")
    call_failed(order, "mix", 1, "last")
    call_failed(order, "mix", 0, "of an earlier attempt")
    call_failed(order, "mix", 2, "of a later attempt")
    call_failed(order, "mix", 1, "of another kind", kind="step_failed")
    call_failed(order, "bake", 1, "of a step that is not asked for")
    call_failed(make_order(), "box", 1, "of another order")
    call_failed(other, "mix", 1, "the other's")
    steps = [read_step(order), read_step(order, "box"), read_step(other)]
    assert state_store.last_call_failures(steps) == {
        (order.order_id, "mix"): {"code": "last", "message": "m"},
        (other.order_id, "mix"): {"code": "the other's", "message": "m"},
    }
