"""Claims and locks of the state store: exclusive, in order, never too many, never waiting (C2, C3)."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from threading import Barrier
from uuid import UUID

import pytest
from django.db import transaction
from uuid_utils.compat import uuid7

from orders.engine import state_store
from orders.engine.rows import ProcessRow
from orders.engine.runtime.sql import database_now
from orders.models import OrderProcess, StepState
from tests.support.factories import ago, ahead, make_order
from tests.support.two_sessions import PATIENCE, NewSession, all_at_once, held, switch_off
from tests.support.workflows import CAKE, CAKES


def claim(limit: int = 100) -> list[UUID]:
    return ids(state_store.claim(limit, CAKES, database_now()))


def ids(rows: Iterable[ProcessRow]) -> list[UUID]:
    return [row.order_id for row in rows]


def many_orders(number: int, **fields: object) -> set[UUID]:
    orders = [
        OrderProcess(order_id=uuid7(), workflow=CAKE.name, version=CAKE.version, **fields)
        for _ in range(number)
    ]
    OrderProcess.objects.bulk_create(orders)
    return {order.order_id for order in orders}


# --- which orders, and in which order


@pytest.mark.django_db
@pytest.mark.pattern("C2")
def test_due_orders_go_by_the_end_of_their_wait_and_ready_ones_by_priority_and_age() -> None:
    """The ids say nothing about age (F35): the older order has the greater id."""
    low_id, high_id = sorted([uuid7(), uuid7()])
    newer_order = make_order(order_id=low_id, created_at=ago(1)).order_id
    older_order = make_order(order_id=high_id, created_at=ago(2)).order_id
    low = make_order(priority=0).order_id
    urgent = make_order(priority=9).order_id
    due = make_order(not_before=ago(10), priority=0).order_id
    due_longer = make_order(not_before=ago(20), priority=0).order_id
    ready = [urgent, older_order, newer_order, low]
    assert claim() == [due_longer, due, *ready]
    for limit in range(7):
        assert claim(limit) == [due_longer, *ready, due][:limit]


@pytest.mark.django_db
@pytest.mark.pattern("A9")
def test_waiting_orders_go_by_priority_and_then_by_how_long_their_step_has_waited() -> None:
    """Also after it was handed back, when it waits anew: its place is that of the first wait."""
    low_id, high_id = sorted([uuid7(), uuid7()])
    for order_id, since, again, priority in (
        (low_id, 10, 10, 5),
        (high_id, 20, 1, 5),
        (uuid7(), 30, 30, 4),
        (uuid7(), 1, 1, 6),
    ):
        waits = {"waiting_since": ago(again), "wanted_since": ago(since), "priority": priority}
        make_order({"mix": waits}, order_id=order_id, priority=priority)
    claimed = [
        {row.order_id for row in state_store.claim_waiting({"kitchen": room}, CAKES, [], limit=9, retries=9)}
        for room in (1, 2, 3, 4)
    ]
    by_turn = [min(claimed[0]), high_id, low_id]
    assert claimed[:3] == [set(by_turn[:1]), set(by_turn[:2]), set(by_turn)]
    assert len(claimed[3]) == 4


@pytest.mark.django_db
@pytest.mark.pattern("C2", "T3")
def test_only_orders_that_need_a_scheduler_are_claimed() -> None:
    make_order(not_before=ahead(60))
    make_order(process_state="processing")
    make_order(process_state="processing", not_before=ahead(60))
    make_order(process_state="processed")
    make_order(process_state="error", not_before=None)
    make_order(process_state="compensated", goal="compensate")
    ready = make_order()
    compensated = make_order(goal="compensate")
    due_while_held = make_order(process_state="processing", not_before=ago(1))
    assert claim() == [due_while_held.order_id, ready.order_id, compensated.order_id]


@pytest.mark.django_db
def test_a_wait_is_over_at_exactly_its_moment() -> None:
    now = database_now()
    due = make_order(not_before=now).order_id
    make_order(not_before=now + timedelta(microseconds=1))
    assert ids(state_store.claim(10, CAKES, now)) == [due]


@pytest.mark.django_db
@pytest.mark.pattern("C4")
def test_orders_of_an_unknown_workflow_version_are_left_alone() -> None:
    make_order(version=CAKE.version + 1, priority=9)
    make_order(workflow=CAKE, version=CAKE.version - 1, not_before=ago(1))
    OrderProcess.objects.filter(pk=make_order(priority=9).pk).update(workflow="bake-bread")
    known_orders = [make_order(not_before=ago(1)).order_id, make_order().order_id]
    assert claim(2) == known_orders
    assert claim() == known_orders
    everything = {row.pk for row in OrderProcess.objects.all()}
    assert ids(state_store.lock(everything, CAKES)) == sorted(known_orders)
    assert state_store.claim(10, {}, database_now()) == []


@pytest.mark.django_db
def test_a_claim_reads_the_whole_row() -> None:
    order = make_order(
        process_state="processing",
        not_before=ago(1),
        goal="compensate",
        failure_count=4,
        overruns=2,
        priority=7,
        reply_to="app",
        announced=False,
    )
    (row,) = state_store.claim(10, CAKES, database_now())
    assert row._asdict() == {name: getattr(order, name) for name in ProcessRow._fields}
    assert state_store.lock_one(order.order_id) == row
    assert state_store.lock({order.order_id}, CAKES) == [row]


@pytest.mark.django_db
@pytest.mark.pattern("C2")
def test_no_plan_makes_a_claim_take_more_than_its_limit(switched_off: tuple[str, ...]) -> None:
    ready = many_orders(300)
    due = many_orders(20, not_before=ago(1))
    switch_off(switched_off)
    for limit, due_count in ((1, 1), (7, 1), (80, 10), (200, 20)):
        claimed = claim(limit)
        assert len(claimed) == len(set(claimed)) == limit
        assert set(claimed[:due_count]) <= due
        assert set(claimed[due_count:]) <= ready


@pytest.mark.django_db
@pytest.mark.pattern("C2", "F30")
def test_orders_whose_wait_is_over_and_ready_ones_do_not_hold_each_other_up() -> None:
    """Ready orders come first but for an eighth; whoever leaves room leaves it to the others."""
    due, ready = many_orders(300, not_before=ago(1)), many_orders(100)
    claimed = claim(80)
    assert (len(due & set(claimed)), len(ready & set(claimed))) == (10, 70)
    claimed = claim(200)
    assert (len(due & set(claimed)), len(ready & set(claimed))) == (100, 100)
    assert len(claimed) == len(set(claimed))


# --- against others


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("C2", "C3", "T6")
def test_eight_schedulers_claim_every_order_exactly_once(switched_off: tuple[str, ...]) -> None:
    """F9. In the first round all eight hold what they claimed at the same moment, so none can have waited."""
    all_orders = many_orders(320) | many_orders(80, not_before=ago(1))
    all_hold = Barrier(8)

    def claim_until_none_is_left(number: int) -> list[UUID]:
        claimed: list[UUID] = []
        while True:
            with transaction.atomic():
                switch_off(switched_off)
                now = database_now()
                rows = state_store.claim(9, CAKES, now)
                assert len(rows) <= 9
                if not claimed:
                    all_hold.wait(timeout=4)
                taken = {
                    "process_state": "processing",
                    "locked_by": f"scheduler:{number}",
                    "complete_by": now + timedelta(seconds=600),
                    "not_before": None,
                }
                state_store.write_processes([row._replace(**taken) for row in rows])
            claimed += ids(rows)
            if not rows:
                return claimed

    by_scheduler = all_at_once(8, claim_until_none_is_left)
    assert sum(len(claimed) for claimed in by_scheduler) == 400
    assert set().union(*by_scheduler) == all_orders
    for number, claimed in enumerate(by_scheduler):
        held_now = OrderProcess.objects.filter(locked_by=f"scheduler:{number}", process_state="processing")
        assert set(held_now.values_list("order_id", flat=True)) == set(claimed)


@pytest.mark.pattern("C2", "C3")
def test_a_claim_passes_over_orders_that_another_is_claiming_without_waiting(new_session: NewSession) -> None:
    first, second, third = sorted(many_orders(3))
    due = make_order(not_before=ago(1)).order_id
    session, other = new_session(), new_session()
    session.begin()
    other.begin()
    assert session.do(lambda: claim(2)) == [due, first]
    assert other.do(lambda: claim(2)) == [second, third]
    session.rollback()
    assert other.do(lambda: claim()) == [due, first, second, third]


@pytest.mark.pattern("C2")
@pytest.mark.parametrize(
    ("seconds", "query"), [(None, "p.not_before IS NULL"), (-1.0, "p.not_before <= ")], ids=["ready", "due"]
)
def test_an_order_whose_state_changed_between_choice_and_lock_is_not_claimed(
    new_session: NewSession, seconds: float | None, query: str
) -> None:
    not_before = None if seconds is None else ahead(seconds)
    changed, unchanged = sorted(many_orders(2, not_before=not_before))
    scheduler = new_session()
    scheduler.begin()
    with held(scheduler, claim, at=query) as claimed:
        OrderProcess.objects.filter(pk=changed).update(
            process_state="processing", locked_by="scheduler:other", complete_by=ahead(600), not_before=None
        )
    assert claimed.result(timeout=PATIENCE) == [unchanged]


@pytest.mark.pattern("C2")
def test_lock_leaves_out_orders_that_another_session_holds_and_does_not_wait(new_session: NewSession) -> None:
    first, second, third = sorted(many_orders(3))
    session, other = new_session(), new_session()
    session.begin()
    other.begin()
    assert session.do(lambda: ids(state_store.lock({second}, CAKES))) == [second]
    assert other.do(lambda: ids(state_store.lock({third, second, first}, CAKES))) == [first, third]
    session.commit()
    assert other.do(lambda: ids(state_store.lock({third, second, first}, CAKES))) == [first, second, third]


LOCKERS: dict[str, Callable[[UUID], list[ProcessRow | None]]] = {
    "claim": lambda order: [*state_store.claim(9, CAKES, database_now())],
    "lock": lambda order: [*state_store.lock({order}, CAKES)],
    "lock_one": lambda order: [state_store.lock_one(order)],
    "unannounced": lambda order: [*state_store.unannounced(9, CAKES)],
}


@pytest.mark.parametrize("locker", LOCKERS)
def test_a_locked_order_can_get_child_rows_and_an_order_that_is_getting_them_can_be_locked(
    new_session: NewSession, locker: str
) -> None:
    """Trap 2: a full lock would make the insert wait for the pass, and the pass skip the order, or wait for it."""
    (order,) = many_orders(1, announced=False)
    scheduler, writer = new_session(), new_session()

    def insert_step(name: str) -> None:
        StepState.objects.create(process_id=order, name=name, position=0, agent="kitchen")

    def locked() -> list[UUID]:
        return ids(row for row in LOCKERS[locker](order) if row is not None)

    scheduler.begin()
    assert scheduler.do(locked) == [order]
    writer.do(lambda: insert_step("while it is locked"))
    scheduler.commit()
    writer.begin()
    writer.do(lambda: insert_step("not committed yet"))
    scheduler.begin()
    assert scheduler.do(locked) == [order]


def test_lock_one_waits_and_reads_the_other_sessions_changes(new_session: NewSession) -> None:
    order = make_order().order_id
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    (row,) = scheduler.do(lambda: state_store.claim(1, CAKES, database_now()))
    operator.begin()
    locked = operator.start(lambda: state_store.lock_one(order))
    operator.await_wait()
    changed = row._replace(failure_count=3)
    scheduler.do(lambda: state_store.write_processes([changed]))
    scheduler.commit()
    assert locked.result(timeout=PATIENCE) == changed
    scheduler.begin()
    assert scheduler.do(claim) == []


@pytest.mark.django_db
def test_lock_one_of_an_order_that_does_not_exist_is_none() -> None:
    assert state_store.lock_one(uuid7()) is None
    assert state_store.lock(set(), CAKES) == []
