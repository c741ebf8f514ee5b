"""Writes of the state store: whole, set-based, and refused when a row is not as it was read."""

import json
from typing import Any

import pytest
from django.db import transaction
from pytest_django import DjangoAssertNumQueries

from orders.engine import state_store
from orders.engine.alerts import NewAlert, open_alerts
from orders.engine.errors import StateConflict
from orders.engine.rows import Actor, EventRow, ProcessRow
from orders.engine.runtime.sql import database_now
from orders.engine.state_store.writes import StepWrite
from orders.models import Alert, Event, OrderProcess, StepState
from orders.vocabulary import ActorKind
from tests.support.factories import ago, ahead, make_order, step_of
from tests.support.new_orders import accepted, read_step
from tests.support.two_sessions import PATIENCE, NewSession
from tests.support.workflows import CAKES


def read_process(order: OrderProcess) -> ProcessRow:
    row = state_store.lock_one(order.order_id)
    assert row is not None
    return row


# --- steps


@pytest.mark.django_db
@pytest.mark.pattern("T1", "T4")
def test_every_column_of_a_step_is_written_and_no_other_step_changes() -> None:
    order = make_order({"bake": "completed"})
    others = [row for row in state_store.steps_of([order.order_id])[order.order_id] if row.name != "mix"]
    full = read_step(order)._replace(
        state="running",
        attempt=11,
        answered=10,
        generation=13,
        compensation_generation=14,
        outcome="unknown",
        complete_by=ahead(21),
        settles_at=ahead(22),
        not_before=ahead(23),
        failure_count=15,
        compensation_failure_count=16,
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
def test_an_answer_is_kept_verbatim_until_another_arrives(answer: Any) -> None:
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
def test_a_step_keeps_the_times_at_which_it_first_started_and_completed() -> None:
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
def test_a_step_that_has_changed_since_it_was_read_is_refused_and_nothing_is_written(
    read_attempt: int,
) -> None:
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
    """The fence holds even if a caller forgets to lock the process (P3)."""
    order = make_order()
    read = read_step(order)
    dispatched = read._replace(state="running", attempt=1, outcome="unknown", complete_by=ahead(30))
    session, other = new_session(), new_session()
    session.begin()
    session.do(lambda: state_store.write_steps([StepWrite(dispatched, 0)]))
    other.begin()
    late = other.start(lambda: state_store.write_steps([StepWrite(dispatched._replace(generation=9), 0)]))
    other.await_wait()
    session.commit()
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
def test_nothing_to_write_takes_no_statement(django_assert_num_queries: DjangoAssertNumQueries) -> None:
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
    text = "nul \0 half \ud83d whole \U0001f370 há \\u0000 \\ud83d"
    cleaned = "nul \ufffd half ? whole \U0001f370 há \\u0000 \\ud83d"
    error = {"message": text, text: [text, {"deep": text}]}
    steps = [read_step(order)._replace(error=error), read_step(other)._replace(error={"message": "plain"})]
    state_store.write_steps([StepWrite(step, 1) for step in steps])
    assert step_of(order, "mix").error == {"message": cleaned, cleaned: [cleaned, {"deep": cleaned}]}
    assert step_of(other, "mix").error == {"message": "plain"}
    state_store.record_events(
        [EventRow(order.order_id, "call_failed", Actor(ActorKind.AGENTS, "agents:1"), detail=error)]
    )
    assert Event.objects.get().detail == {"message": cleaned, cleaned: [cleaned, {"deep": cleaned}]}
    open_alerts([NewAlert(order.order_id, "step_failed", "no", text)])
    assert Alert.objects.get().message == cleaned


# --- processes


@pytest.mark.django_db
@pytest.mark.pattern("T2")
def test_every_column_of_a_process_is_written_and_no_other_process_changes() -> None:
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
def test_a_process_records_when_it_finished_and_clears_it_when_it_continues(state: str, goal: str) -> None:
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
