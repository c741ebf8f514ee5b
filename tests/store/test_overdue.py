"""What supervisors and schedulers look for in the state store: overdue orders, unannounced errors, steps."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.rows import ProcessRow
from orders.engine.runtime.sql import database_now
from tests.support.factories import ago, ahead, make_order, step_of
from tests.support.two_sessions import NewSession
from tests.support.workflows import CAKE, CAKES


def ids(rows: Iterable[ProcessRow]) -> list[UUID]:
    return [row.order_id for row in rows]


# --- what supervisors look for


@pytest.mark.django_db
@pytest.mark.pattern("V1")
def test_steps_and_orders_past_their_complete_by_are_overdue() -> None:
    now = database_now()
    late_step = make_order({"mix": {"state": "running", "complete_by": now}}, process_state="processing")
    late_compensation = make_order(
        {"mix": {"state": "compensating", "complete_by": ago(5)}},
        process_state="processing",
        goal="compensate",
    )
    in_error = make_order({"mix": {"state": "running", "complete_by": ago(5)}}, process_state="error")
    late_order = make_order(process_state="processing", complete_by=now)
    make_order({"mix": {"state": "running", "complete_by": ahead(5)}}, process_state="processing")
    make_order({"mix": "completed"}, process_state="processing", complete_by=ahead(5))
    make_order(complete_by=ago(5))
    late = {late_step.order_id, late_compensation.order_id, in_error.order_id, late_order.order_id}
    assert set(state_store.overdue(100, now)) == late
    assert state_store.overdue(100, now - timedelta(seconds=60)) == []


@pytest.mark.django_db
@pytest.mark.pattern("V1")
def test_the_longest_overdue_orders_are_found_first() -> None:
    orders = [
        make_order({"mix": {"state": "running", "complete_by": ago(10 * n)}}, process_state="processing")
        for n in (1, 3, 2)
    ]
    assert state_store.overdue(1, database_now()) == [orders[1].order_id]
    assert state_store.overdue(2, database_now()) == [orders[1].order_id, orders[2].order_id]


@pytest.mark.django_db
@pytest.mark.pattern("V1", "V7")
def test_overdue_orders_that_another_session_holds_are_passed_over() -> None:
    passed_over = [
        make_order(
            {"mix": {"state": "running", "complete_by": ago(60)}}, process_state="processing"
        ).order_id,
        make_order(process_state="processing", complete_by=ago(60)).order_id,
    ]
    late = make_order(
        {"mix": {"state": "running", "complete_by": ago(5)}}, process_state="processing"
    ).order_id
    assert state_store.overdue(1, database_now(), passed_over=passed_over) == [late]
    assert state_store.overdue(9, database_now(), passed_over=[*passed_over, late]) == []


@pytest.mark.django_db
@pytest.mark.pattern("V1")
def test_an_order_that_is_overdue_in_several_ways_is_found_once() -> None:
    late = {"state": "running", "complete_by": ago(9)}
    order = make_order(
        {"mix": late, "heat-oven": late}, process_state="processing", complete_by=ago(9)
    ).order_id
    other = make_order(process_state="processing", complete_by=ago(3)).order_id
    assert state_store.overdue(100, database_now()) == [order, other]


@pytest.mark.pattern("Q3")
def test_unannounced_errors_are_shared_out_among_schedulers(new_session: NewSession) -> None:
    make_order(process_state="error")
    first, second = sorted(
        make_order(process_state="error", announced=False, reply_to="app").order_id for _ in range(2)
    )
    session, other = new_session(), new_session()
    session.begin()
    other.begin()
    assert session.do(lambda: ids(state_store.unannounced(1, CAKES))) == [first]
    assert other.do(lambda: ids(state_store.unannounced(10, CAKES))) == [second]
    assert other.do(lambda: ids(state_store.unannounced(10, {("bake-cake", 99): CAKE}))) == []


# --- reading steps


@pytest.mark.django_db
@pytest.mark.pattern("T4")
def test_steps_are_read_completely_and_in_the_order_of_the_workflow() -> None:
    error = {"code": "no_eggs", "message": "há"}
    orders = [
        make_order({"mix": {"state": "failed", "error": error}, "bake": {"not_before": ahead(9)}}),
        make_order(),
    ]
    nobody = uuid7()
    steps = state_store.steps_of([*(order.order_id for order in orders), nobody])
    assert steps.keys() == {orders[0].order_id, orders[1].order_id, nobody}
    assert steps[nobody] == []
    for order in orders:
        rows = steps[order.order_id]
        assert [row.name for row in rows] == [step.name for step in CAKE.steps]
        for row in rows:
            stored = step_of(order, row.name)
            assert row._asdict() == {
                name: stored.process_id if name == "order_id" else getattr(stored, name)
                for name in row._fields
            }
    assert steps[orders[0].order_id][0].error == error
    assert state_store.steps_of([]) == {}
