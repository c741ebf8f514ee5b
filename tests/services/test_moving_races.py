"""Moves beside schedulers, operators and other moves, and moves that are cut off (rules 10 and 12)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from orders.engine.runtime.sql import run
from orders.engine.state_store import definitions
from orders.models import AgentRequest, AuditEntry, Event, OrderProcess, StepState
from orders.services.act_results import ResultStatus
from orders.services.operators.moving import CHUNK, LOCKED
from orders.services.order_changes import compensate_order, resubmit_order
from tests.services.moved_orders import bakery, let_it_end, move, reasons, versions_of
from tests.support.factories import make_alert, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    answer,
    clones,
    drain,
    everything,
    history,
    requested_steps,
    states,
    stored,
)
from tests.support.two_sessions import Session, all_at_once
from tests.support.versions import NEW, OLDER_RELEASE, TASTED, VERSIONS, an_old_order

__all__ = ["bakery"]
pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C4", "F33")]
both_sessions = pytest.mark.django_db(transaction=True)
NewSession = Callable[[], Session]


@pytest.fixture
def recorded(transactional_db: None) -> None:
    """Both versions are recorded, as by an earlier pass. Roles and moves do it in a transaction of its own; a test that
    keeps one open around all would have others wait for that."""
    definitions.record_definitions(VERSIONS)


@pytest.mark.pattern("C4")
def test_a_scheduler_of_an_older_release_leaves_a_moved_order_alone() -> None:
    order = an_old_order()
    other = an_old_order({"mix": "running"}, process_state="processing")
    move()
    before = everything(order)
    older = a_scheduler(workflows=OLDER_RELEASE)
    make_reply(step_of(other, "mix"))
    drain(older)
    a_leader(workflows=OLDER_RELEASE).run_once()
    assert everything(order) == before
    assert states(other) == {"mix": "completed", "taste": "awaiting"}
    assert let_it_end(order) == "processed"


@both_sessions
def test_an_order_that_a_scheduler_has_claimed_is_left_for_another_time(
    new_session: NewSession, recorded: None
) -> None:
    order, free = an_old_order(), an_old_order()
    run("UPDATE orders_orderprocess SET not_before = now() + interval '1 h' WHERE order_id = %s", [free.pk])
    scheduler = new_session()
    scheduler.begin()
    scheduler.do(a_scheduler(workflows=VERSIONS).run_once)
    assert reasons(move()) == [(LOCKED.reason, True, 1)]
    scheduler.commit()
    assert versions_of(order, free) == [1, 2]
    assert reasons(move()) == [("step mix is under way", True, 1)]
    answer("refused", order=order)
    drain(a_scheduler(workflows=VERSIONS))
    assert (move().movable, versions_of(order)) == (1, [2])


@both_sessions
def test_a_scheduler_that_meets_a_move_starts_the_step_of_the_later_version(
    new_session: NewSession, recorded: None
) -> None:
    order = an_old_order({**TASTED, "bake": "completed"})
    mover = new_session()
    mover.begin()
    assert mover.do(move).movable == 1
    scheduler = a_scheduler(workflows=VERSIONS)
    assert scheduler.run_once().done["started"] == 0
    mover.commit()
    drain(scheduler)
    assert requested_steps(order) == {"ice"}


@both_sessions
def test_a_resubmission_waits_for_the_move_and_goes_on_from_there(new_session: NewSession) -> None:
    order = an_old_order({**TASTED, "bake": "failed"}, process_state="error")
    make_alert(order.pk)
    mover, operator = new_session(), new_session()
    mover.begin()
    assert mover.do(move).movable == 1
    resubmitting = operator.start(lambda: resubmit_order(order_id=order.pk, by="olga"))
    operator.await_wait()
    mover.commit()
    assert resubmitting.result(timeout=60).status is ResultStatus.DONE
    drain(a_scheduler(workflows=VERSIONS))
    assert (stored(order).version, AgentRequest.objects.get().key) == (2, f"{order.pk}/bake/2")


@both_sessions
def test_a_cancellation_waits_for_the_move_and_compensates_as_the_later_version_says(
    new_session: NewSession,
) -> None:
    order = an_old_order(TASTED)
    mover, customer = new_session(), new_session()
    mover.begin()
    assert mover.do(move).movable == 1
    cancelling = customer.start(lambda: compensate_order(order_id=order.pk, by="kim"))
    customer.await_wait()
    mover.commit()
    assert cancelling.result(timeout=60).status is ResultStatus.DONE
    assert reasons(move()) == []
    assert (let_it_end(order), stored(order).version) == ("compensated", 2)
    assert history(order, "step_compensated") == [("step_compensated", "mix")]


@both_sessions
def test_a_move_passes_over_an_order_that_is_just_resubmitted(new_session: NewSession) -> None:
    order = an_old_order({**TASTED, "bake": "failed"}, process_state="error")
    make_alert(order.pk)
    operator = new_session()
    operator.begin()
    operator.do(lambda: resubmit_order(order_id=order.pk, by="olga"))
    assert reasons(move()) == [(LOCKED.reason, True, 1)]
    operator.commit()
    assert (move().movable, stored(order).process_state) == (1, "pending")
    assert step_of(order, "bake").generation == 2


@both_sessions
def test_of_several_moves_at_once_each_order_is_moved_by_one() -> None:
    orders = many(3 * CHUNK)
    reports = all_at_once(4, lambda n: move())
    while (rest := move()).movable:  # what each of them found locked
        reports.append(rest)
    assert sum(report.movable for report in reports) == len(orders)
    assert Event.objects.filter(kind="version_changed").count() == len(orders)
    assert set(OrderProcess.objects.values_list("version", flat=True)) == {2}
    assert StepState.objects.count() == len(NEW.steps) * len(orders)


@both_sessions
def test_a_move_that_is_cut_off_has_moved_whole_chunks_and_can_be_repeated() -> None:
    orders = many(2 * CHUNK + 50)
    events = 0

    def cut_off_the_second(execute: Any, sql: str, *rest: Any) -> Any:
        nonlocal events
        events += "INSERT INTO orders_event" in sql
        if events == 2:
            raise KeyboardInterrupt
        return execute(sql, *rest)

    with connection.execute_wrapper(cut_off_the_second), pytest.raises(KeyboardInterrupt):
        move()
    moved = OrderProcess.objects.filter(version=2)
    assert moved.count() == CHUNK
    assert StepState.objects.filter(name="ice").count() == CHUNK
    assert StepState.objects.filter(name="candle").count() == len(orders) - CHUNK
    assert [entry.result for entry in AuditEntry.objects.all()] == ["Moved 100 orders from version 1 to 2."]
    assert move().movable == len(orders) - CHUNK
    assert Event.objects.filter(kind="version_changed").count() == len(orders)


def many(number: int) -> list[Any]:
    """This many new orders on version 1."""
    order = an_old_order()
    ids = [order.pk, *clones(order, number - 1)]
    run(
        """
        INSERT INTO orders_order (id, currency, total, data, placed_at)
        SELECT id, 'EUR', 1, %s::jsonb, now() FROM unnest(%s::uuid[]) AS new(id)
        """,
        ['{"cake": "lemon", "icing": "pink"}', ids[1:]],
    )
    return ids


def test_a_move_makes_the_same_statements_for_any_number_of_orders() -> None:
    counts = []
    for number in (1, CHUNK):
        many(number)
        statements: list[str] = []

        def note(execute: Any, sql: str, *rest: Any) -> Any:
            statements.append(sql)  # noqa: B023 - called within this turn
            return execute(sql, *rest)

        with connection.execute_wrapper(note):
            assert move().movable == number
        assert sum("pg_notify" in sql for sql in statements) == 1  # the schedulers are woken
        counts.append(len(statements))
    assert counts[0] == counts[1]
