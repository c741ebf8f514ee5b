"""Supervisors, of which only the leader sweeps (V6)."""

import pytest

from orders.engine.errors import LeadershipLost
from orders.engine.runtime.sql import run
from orders.engine.supervisor import leadership
from orders.engine.supervisor.role import LEASE
from orders.models import Alert, Event, LeaderLease
from tests.support.factories import ago, ahead, make_order, step_of
from tests.support.overdue import overdue, processing
from tests.support.roles import (
    a_leader,
    a_supervisor,
    event_of,
    everything,
    history,
    states,
)
from tests.support.two_sessions import NewSession
from tests.support.workflows import BAKED

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


@pytest.mark.pattern("V6")
def test_only_the_leader_sweeps_and_the_other_stands_by() -> None:
    leader, other = a_supervisor("supervisor:a"), a_supervisor("supervisor:b")
    assert (leader.acquire(), other.acquire()) == (True, False)
    lease = LeaderLease.objects.get()
    assert (lease.holder, lease.term) == ("supervisor:a", 1)
    assert lease.expires_at is not None and ahead(8) < lease.expires_at <= ahead(10)
    order = processing({"mix": overdue()})
    with pytest.raises(AssertionError):
        other.run_once()
    assert states(order) == {"mix": "running"}
    assert leader.run_once().done["found"] == 1
    assert (leader.acquire(), LeaderLease.objects.get().term) == (True, 1)


@pytest.mark.pattern("V6")
def test_a_sweep_renews_the_lease_and_records_what_it_did() -> None:
    processing({"mix": overdue()})
    leader = a_leader()
    LeaderLease.objects.update(expires_at=ahead(1))
    leader.run_once()
    lease = LeaderLease.objects.get()
    assert lease.expires_at is not None and lease.expires_at > ahead(8)
    assert lease.swept_at is not None and lease.swept_at <= ahead(0)
    assert lease.last_sweep == {"found": 1, "recovered": 1, "escalated": 0, "steps_timed_out": 1}


@pytest.mark.pattern("V6")
def test_when_the_leader_is_gone_another_takes_over_and_the_old_term_changes_nothing() -> None:
    old, new = a_leader("supervisor:old"), a_supervisor("supervisor:new")
    order = processing({"mix": overdue()})
    LeaderLease.objects.update(expires_at=ago(1))
    assert new.acquire() is True
    before = everything(order), LeaderLease.objects.values().get()
    with pytest.raises(LeadershipLost):
        old.run_once()
    assert (everything(order), LeaderLease.objects.values().get()) == before
    assert history(order) == []
    assert old.acquire() is False
    assert new.run_once().done["found"] == 1
    assert event_of(order, "step_timed_out").actor_name == "supervisor:new"
    assert LeaderLease.objects.get().term == 2


@pytest.mark.pattern("V6")
def test_an_old_leaders_release_does_not_end_a_new_ones_term() -> None:
    old, new = a_leader("supervisor:old"), a_supervisor("supervisor:new")
    LeaderLease.objects.update(expires_at=ago(1))
    assert new.acquire() is True
    old.release()
    assert LeaderLease.objects.get().holder == "supervisor:new"
    new.release()
    lease = LeaderLease.objects.get()
    assert (lease.holder, lease.expires_at, lease.term) == (None, None, 2)
    assert old.acquire() is True


@both_sessions
@pytest.mark.pattern("V6")
def test_a_successor_waits_until_the_sweep_that_is_under_way_has_ended(new_session: NewSession) -> None:
    old, new = a_leader("supervisor:old"), a_supervisor("supervisor:new")
    order = processing({"mix": overdue()})
    LeaderLease.objects.update(expires_at=ago(1))
    sweeping, successor = new_session(), new_session()
    sweeping.begin()
    assert sweeping.do(old.run_once).done["found"] == 1
    acquiring = successor.start(new.acquire)
    successor.await_wait()
    sweeping.commit()
    # The sweep has renewed the lease, so there is nothing to take over.
    assert acquiring.result(timeout=60) is False
    assert step_of(order, "mix").failure_count == 1
    LeaderLease.objects.update(expires_at=ago(1))
    sweeping.begin()
    sweeping.do(lambda: leadership.check(LEASE, term=1))
    acquiring = successor.start(new.acquire)
    successor.await_wait()
    sweeping.commit()
    assert acquiring.result(timeout=60) is True
    assert LeaderLease.objects.get().term == 2


@both_sessions
@pytest.mark.pattern("V6")
def test_a_sweep_that_begins_after_a_successor_took_over_writes_nothing(new_session: NewSession) -> None:
    old, new = a_leader("supervisor:old"), a_supervisor("supervisor:new")
    order = processing({"mix": overdue()})
    LeaderLease.objects.update(expires_at=ago(1))
    successor, sleeper = new_session(), new_session()
    successor.begin()
    assert successor.do(new.acquire) is True
    sweep = sleeper.start(old.run_once)
    sleeper.await_wait()
    successor.commit()
    with pytest.raises(LeadershipLost):
        sweep.result(timeout=60)
    assert (states(order), history(order)) == ({"mix": "running"}, [])


@pytest.mark.pattern("V6", "V2")
def test_a_sweep_that_is_run_twice_changes_nothing_more() -> None:
    orders = [
        processing({"mix": overdue()}),
        processing({"mix": overdue(failure_count=2)}),
        processing({**BAKED, "box": overdue(failure_count=2)}),
        processing({}, complete_by=ago(1)),
        make_order({"mix": "failed", "heat-oven": overdue()}, process_state="error"),
    ]
    leader = a_leader()
    assert leader.run_once().done["found"] == 5
    before = [everything(order) for order in orders]
    events = Event.objects.count()
    assert leader.run_once().done["found"] == 0
    assert [everything(order) for order in orders] == before
    assert (Event.objects.count(), Alert.objects.count()) == (events, 1)


@both_sessions
@pytest.mark.pattern("V6")
def test_an_order_that_a_scheduler_holds_is_passed_over_and_found_by_the_next_sweep(
    new_session: NewSession,
) -> None:
    held, free = processing({"mix": overdue()}), processing({"mix": overdue()})
    scheduler, leader = new_session(), a_leader()
    scheduler.begin()
    scheduler.do(lambda: run("SELECT 1 FROM orders_orderprocess WHERE order_id = %s FOR UPDATE", [held.pk]))
    assert leader.run_once().done["found"] == 1
    assert (states(held), states(free)) == ({"mix": "running"}, {})
    scheduler.rollback()
    assert leader.run_once().done["found"] == 1
    assert states(held) == {}
