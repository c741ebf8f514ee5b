"""Writes of the state store: whole, set-based, and refused when a row is not as it was read."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, transaction
from pytest_django import DjangoAssertNumQueries
from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.contracts import AcceptedOrder, Submission
from orders.engine.errors import StateConflict
from orders.engine.rows import Actor, EventRow, ProcessRow, StepRow
from orders.engine.runtime.sql import database_now, fetch
from orders.engine.state_store.writes import StepWrite
from orders.models import Alert, Event, OrderProcess, StepState
from orders.vocabulary import ActorKind
from tests.support.factories import ago, ahead, make_order, step_of
from tests.support.two_sessions import PATIENCE, Session
from tests.support.workflows import CAKE, CAKES

NewSession = Callable[[], Session]


def read_step(order: OrderProcess | UUID, name: str = "mix") -> StepRow:
    order_id = order.order_id if isinstance(order, OrderProcess) else order
    (row,) = [row for row in state_store.steps_of([order_id])[order_id] if row.name == name]
    return row


def read_process(order: OrderProcess) -> ProcessRow:
    row = state_store.lock_one(order.order_id)
    assert row is not None
    return row


# --- steps


@pytest.mark.django_db
@pytest.mark.pattern("T1", "T4")
def test_every_column_of_a_step_is_written_as_it_was_given_and_no_other_step_changes() -> None:
    order = make_order({"bake": "completed"})
    others = [row for row in state_store.steps_of([order.order_id])[order.order_id] if row.name != "mix"]
    full = read_step(order)._replace(
        state="running",
        attempt=11,
        answered=10,
        generation=13,
        undo_generation=14,
        outcome="unknown",
        complete_by=ahead(21),
        settles_at=ahead(22),
        not_before=ahead(23),
        failure_count=15,
        undo_failure_count=16,
        extended_waits=17,
        error={"code": "x", "list": [1, {"deep": None}], "text": 'há "quoted" \\ % {} \n'},
    )
    state_store.write_steps([StepWrite(full, 0)])
    assert read_step(order) == full
    empty = full._replace(
        state="not_started", outcome="none", complete_by=None, settles_at=None, not_before=None, error=None
    )
    state_store.write_steps([StepWrite(empty, 11)])
    assert read_step(order) == empty
    assert step_of(order, "mix").error is None
    assert [
        row for row in state_store.steps_of([order.order_id])[order.order_id] if row.name != "mix"
    ] == others


@pytest.mark.django_db
@pytest.mark.pattern("T5")
@pytest.mark.parametrize(
    "answer",
    [{"id": "há", "n": [1, 2.5, None, True], "deep": {"a": {}}}, {}, [], "text", 0, 12345678901234567890],
)
def test_an_answer_is_kept_as_it_came_until_another_one_comes(answer: Any) -> None:
    order = make_order({"mix": "running"})
    done = read_step(order)._replace(state="completed", outcome="done", complete_by=None)
    state_store.write_steps([StepWrite(done, 1, json.dumps(answer))])
    assert step_of(order, "mix").result == answer
    state_store.write_steps([StepWrite(done._replace(state="compensating", attempt=2), 1)])
    assert step_of(order, "mix").result == answer
    state_store.write_steps([StepWrite(done, 2, json.dumps({"another": 1}))])
    assert step_of(order, "mix").result == {"another": 1}


@pytest.mark.django_db
@pytest.mark.pattern("T4")
def test_a_step_keeps_when_it_first_started_and_first_completed() -> None:
    order = make_order()
    fresh = read_step(order)
    running = fresh._replace(state="running", attempt=1, outcome="unknown", complete_by=ahead(30))
    state_store.write_steps([StepWrite(running, 0)])
    first = step_of(order, "mix")
    assert first.started_at is not None
    assert first.completed_at is None
    state_store.write_steps([StepWrite(running._replace(attempt=2), 1)])
    done = running._replace(state="completed", attempt=2, outcome="done", complete_by=None)
    state_store.write_steps([StepWrite(done, 2)])
    completed = step_of(order, "mix")
    assert completed.started_at == first.started_at
    assert completed.completed_at is not None
    assert completed.completed_at > first.started_at
    state_store.write_steps([StepWrite(done._replace(state="compensating", attempt=3), 2)])
    assert step_of(order, "mix").completed_at == completed.completed_at
    assert step_of(order, "mix").started_at == first.started_at


@pytest.mark.django_db
@pytest.mark.pattern("T6")
@pytest.mark.parametrize("read_attempt", [0, 2])
def test_a_step_that_is_not_as_it_was_read_is_refused_and_nothing_is_written(read_attempt: int) -> None:
    """I4: the attempt is the fence."""
    order = make_order({"mix": "running", "bake": "completed"})
    before = list(StepState.objects.order_by("id").values())
    writes = [
        StepWrite(read_step(order, "bake")._replace(failure_count=7), 1),
        StepWrite(read_step(order, "mix")._replace(failure_count=7), read_attempt),
        StepWrite(read_step(order, "box")._replace(failure_count=7), 0),
    ]
    with pytest.raises(StateConflict, match="1 of 3 steps"), transaction.atomic():
        state_store.write_steps(writes)
    assert list(StepState.objects.order_by("id").values()) == before


@pytest.mark.django_db
def test_a_step_that_does_not_exist_is_refused() -> None:
    ghost = read_step(make_order())._replace(id=0)
    with pytest.raises(StateConflict, match="1 of 1 steps"), transaction.atomic():
        state_store.write_steps([StepWrite(ghost, 0)])


@pytest.mark.pattern("T6")
def test_of_two_writes_for_one_attempt_the_second_is_refused(new_session: NewSession) -> None:
    """Somebody who forgot to lock the process: the fence holds all the same (P3)."""
    order = make_order()
    read = read_step(order)
    dispatched = read._replace(state="running", attempt=1, outcome="unknown", complete_by=ahead(30))
    one, other = new_session(), new_session()
    one.begin()
    one.do(lambda: state_store.write_steps([StepWrite(dispatched, 0)]))
    other.begin()
    late = other.start(lambda: state_store.write_steps([StepWrite(dispatched._replace(generation=9), 0)]))
    other.await_wait()
    one.commit()
    with pytest.raises(StateConflict):
        late.result(timeout=PATIENCE)
    other.rollback()
    assert read_step(order) == dispatched


@pytest.mark.django_db
@pytest.mark.parametrize("number", [1, 200])
def test_the_number_of_statements_does_not_grow_with_the_batch(
    number: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    state_store.create_processes([accepted() for _ in range(number)])
    rows = state_store.claim(number, CAKES, database_now())
    steps = [step for steps in state_store.steps_of(row.order_id for row in rows).values() for step in steps]
    assert (len(rows), len(steps)) == (number, 7 * number)
    with django_assert_num_queries(1):
        state_store.write_steps([StepWrite(step._replace(failure_count=1), 0) for step in steps])
    with django_assert_num_queries(1):
        state_store.write_processes([row._replace(failure_count=2) for row in rows])
    with django_assert_num_queries(1):
        state_store.record_events(
            EventRow(row.order_id, "claimed", Actor(ActorKind.SCHEDULER, "scheduler:1")) for row in rows
        )
    with django_assert_num_queries(1):
        state_store.last_call_failures(steps)
    with django_assert_num_queries(1):
        state_store.steps_of(row.order_id for row in rows)
    assert StepState.objects.filter(failure_count=1).count() == 7 * number
    assert OrderProcess.objects.filter(failure_count=2).count() == number
    assert Event.objects.count() == number


@pytest.mark.django_db
def test_nothing_to_write_is_no_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(0):
        state_store.write_steps([])
        state_store.write_processes([])
        state_store.record_events([])
        assert state_store.last_call_failures([]) == {}
        assert state_store.steps_of([]) == {}


@pytest.mark.django_db
@pytest.mark.pattern("T5")
def test_text_that_the_database_cannot_keep_is_marked_and_all_other_text_is_kept() -> None:
    """F15: an answer with a NUL, or half a surrogate pair, must not make every write of its batch fail."""
    order, other = make_order({"mix": "running"}), make_order({"mix": "running"})
    said = "nul \0 half \ud83d whole \U0001f370 há \\u0000 \\ud83d"
    kept = "nul \ufffd half ? whole \U0001f370 há \\u0000 \\ud83d"
    error = {"message": said, said: [said, {"deep": said}]}
    steps = [read_step(order)._replace(error=error), read_step(other)._replace(error={"message": "plain"})]
    state_store.write_steps([StepWrite(step, 1) for step in steps])
    assert step_of(order, "mix").error == {"message": kept, kept: [kept, {"deep": kept}]}
    assert step_of(other, "mix").error == {"message": "plain"}
    state_store.record_events(
        [EventRow(order.order_id, "call_failed", Actor(ActorKind.AGENTS, "agents:1"), detail=error)]
    )
    assert Event.objects.get().detail == {"message": kept, kept: [kept, {"deep": kept}]}
    open_alerts([NewAlert(order.order_id, "step_failed", "no", said)])
    assert Alert.objects.get().message == kept


# --- processes


@pytest.mark.django_db
@pytest.mark.pattern("T2")
def test_every_column_of_a_process_is_written_as_it_was_given_and_no_other_process_changes() -> None:
    order, bystander = make_order(reply_to="app"), make_order()
    untouched = read_process(bystander)
    full = read_process(order)._replace(
        goal="compensate",
        process_state="processing",
        locked_by="scheduler:7",
        complete_by=ahead(31),
        failure_count=3,
        overruns=4,
        priority=9,
        not_before=ahead(32),
        started_at=ago(33),
        announced=False,
    )
    state_store.write_processes([full])
    assert read_process(order) == full
    empty = full._replace(
        process_state="pending", locked_by=None, complete_by=None, not_before=None, started_at=None
    )
    state_store.write_processes([empty])
    assert read_process(order) == empty
    assert read_process(bystander) == untouched


@pytest.mark.django_db
@pytest.mark.parametrize(("state", "goal"), [("processed", "complete"), ("compensated", "compensate")])
def test_a_process_says_when_it_finished_and_forgets_it_when_it_goes_on(state: str, goal: str) -> None:
    order = make_order()
    before = database_now()
    ended = read_process(order)._replace(process_state=state, goal=goal)
    state_store.write_processes([ended])
    order.refresh_from_db()
    assert order.finished_at is not None
    assert before < order.finished_at < database_now()
    state_store.write_processes([ended._replace(process_state="pending", goal="compensate")])
    order.refresh_from_db()
    assert order.finished_at is None


# --- new orders


def accepted(priority: int = 5, reply_to: str = "", portions: int = 1) -> AcceptedOrder:
    submission = Submission(
        order_id=uuid7(), client="guest", body={}, posted_at=datetime(2030, 1, 1, tzinfo=UTC)
    )
    return AcceptedOrder(
        submission=submission,
        workflow=CAKE,
        priority=priority,
        reply_to=reply_to,
        description={"portions": portions},
    )


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
        assert (step.generation, step.undo_generation) == (1, 1)
        assert (step.failure_count, step.undo_failure_count, step.extended_waits) == (0, 0, 0)
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
def test_events_are_kept_whole_and_in_their_order_with_the_time_of_the_database() -> None:
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
def test_the_last_failed_call_of_the_present_attempt_is_found_and_no_other() -> None:
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
