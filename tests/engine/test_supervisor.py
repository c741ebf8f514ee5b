"""The supervisor, sweep by sweep: what it finds, what it asks for, and what it leaves alone (V1–V7)."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine.contracts import Workflow
from orders.engine.errors import LeadershipLost
from orders.engine.runtime.sql import run
from orders.engine.supervisor import leadership
from orders.engine.supervisor.role import LEASE
from orders.models import Alert, Event, LeaderLease, OrderProcess, StepState
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    a_supervisor,
    alerts_of,
    asked,
    clones,
    event_of,
    everything,
    happened,
    states,
    stored,
    told,
)
from tests.support.two_sessions import Session
from tests.support.workflows import CAKE, CAKES

NewSession = Callable[[], Session]
BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


def overdue(state: str = "running", **fields: Any) -> dict[str, Any]:
    """A step that passed its complete-by a second ago."""
    return {"state": state, "complete_by": ago(1), "settles_at": ahead(4), **fields}


def processing(steps: dict[str, Any], **process: Any) -> OrderProcess:
    return make_order(steps, **({"process_state": "processing", "reply_to": "app-1"} | process))


def call_failed(order: OrderProcess, step: str, attempt: int, **detail: Any) -> None:
    Event.objects.create(
        order_id=order.pk,
        kind="call_failed",
        step=step,
        attempt=attempt,
        actor_kind="agents",
        actor_name="agents:7",
        detail={"code": "http_503", "message": "the kitchen is closed", **detail},
    )


# --- below the threshold


@pytest.mark.pattern("V1", "V2")
@pytest.mark.parametrize("failures", [0, 1])
def test_a_step_past_its_complete_by_is_counted_and_its_order_is_free_and_pending_again(
    failures: int,
) -> None:
    order = processing({"mix": overdue(attempt=2, failure_count=failures)}, failure_count=failures)
    since = ahead(0)
    done = a_leader(threshold=3).run_once().done
    assert done == {"found": 1, "recovered": 1, "escalated": 0, "steps_timed_out": 1}
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.complete_by, mix.failure_count) == ("not_started", None, failures + 1)
    assert (mix.attempt, mix.outcome, mix.generation) == (2, "unknown", 1)
    # Full jitter: at most 2 s after the first failure, 4 s after the second.
    assert mix.not_before is not None and since <= mix.not_before <= ahead(2 * 2**failures)
    assert (row.process_state, row.locked_by, row.failure_count) == ("pending", None, failures + 1)
    assert row.complete_by is not None and row.complete_by > ahead(590)
    assert (row.not_before, row.goal, row.announced) == (mix.not_before, "complete", True)
    assert happened(order) == [("step_timed_out", "mix")]
    detail = event_of(order, "step_timed_out").detail
    assert (detail["ruling"], detail["failures"]) == ("retry", failures + 1)
    assert alerts_of(order) == []


@pytest.mark.pattern("V2", "C9")
def test_a_scheduler_picks_up_what_the_supervisor_released_and_keeps_the_key() -> None:
    order = processing({"mix": overdue(), "heat-oven": "completed"})
    a_leader().run_once()
    StepState.objects.update(not_before=ago(1))
    OrderProcess.objects.update(not_before=ago(1))
    a_scheduler("scheduler:b").run_once()
    assert (states(order)["mix"], step_of(order, "mix").attempt) == ("running", 2)
    assert (stored(order).process_state, stored(order).locked_by) == ("processing", "scheduler:b")
    assert event_of(order, "step_started").detail["key"] == f"{order.pk}/mix/1"


@pytest.mark.pattern("V1")
def test_what_is_not_overdue_is_left_alone() -> None:
    orders = [
        make_order(),
        processing({"mix": "running", "heat-oven": "completed"}),
        make_order({"mix": {"attempt": 1, "not_before": ago(60), "outcome": "unknown"}}, not_before=ago(60)),
        make_order({step.name: "completed" for step in CAKE.steps}, process_state="processed"),
        make_order({"mix": "failed"}, process_state="error", complete_by=ago(60)),
        make_order(process_state="pending", complete_by=ago(60)),
        make_order({"mix": "compensated"}, process_state="compensated", goal="compensate"),
        make_order({"mix": "compensating"}, process_state="processing", goal="compensate"),
    ]
    before = [everything(order) for order in orders]
    assert a_leader().run_once().done["found"] == 0
    assert [everything(order) for order in orders] == before
    assert not Event.objects.exists()


@pytest.mark.pattern("V2")
def test_a_step_that_still_runs_goes_on_while_the_one_beside_it_is_given_up() -> None:
    order = processing({"mix": overdue(), "heat-oven": "running"})
    a_leader().run_once()
    assert states(order) == {"heat-oven": "running"}
    assert stored(order).process_state == "pending"
    wait = ahead(30)  # instead of its backoff, which may be over at once
    StepState.objects.filter(name="mix").update(not_before=wait)
    OrderProcess.objects.update(not_before=wait)
    make_reply(step_of(order, "heat-oven"))
    a_scheduler().run_once()
    assert states(order) == {"heat-oven": "completed"}
    assert (stored(order).process_state, stored(order).not_before) == ("pending", wait)


@pytest.mark.pattern("V2", "T4")
def test_two_overdue_steps_of_one_order_are_each_counted() -> None:
    order = processing({"mix": overdue(failure_count=1), "heat-oven": overdue()}, failure_count=1)
    assert a_leader().run_once().done["steps_timed_out"] == 2
    mix, oven = step_of(order, "mix"), step_of(order, "heat-oven")
    assert (mix.failure_count, oven.failure_count, stored(order).failure_count) == (2, 1, 3)
    assert mix.not_before is not None and oven.not_before is not None
    assert stored(order).not_before == min(mix.not_before, oven.not_before)


# --- at the threshold


@pytest.mark.pattern("V3", "O1", "C7")
def test_at_the_threshold_the_order_is_in_error_with_an_alert_that_says_what_the_last_call_met_with() -> None:
    order = processing({"mix": overdue(attempt=3, failure_count=2)}, failure_count=2)
    call_failed(order, "mix", 2, message="an older one")
    call_failed(order, "mix", 3, message="the first one of this attempt")
    call_failed(order, "mix", 3)
    call_failed(order, "heat-oven", 3, message="another step's")
    done = a_leader(threshold=3).run_once().done
    assert done == {"found": 1, "recovered": 0, "escalated": 1, "steps_timed_out": 1}
    mix, row = step_of(order, "mix"), stored(order)
    error = {
        "code": "http_503",
        "message": "kitchen did not answer by the complete-by time, 3 times; "
        "its last call: the kitchen is closed",
    }
    assert (mix.state, mix.outcome, mix.failure_count) == ("failed", "unknown", 3)
    assert (mix.error, mix.complete_by, mix.not_before, mix.attempt) == (error, None, None, 3)
    assert (row.process_state, row.locked_by, row.not_before) == ("error", None, None)
    assert (row.failure_count, row.announced) == (3, False)
    alert = Alert.objects.get()
    assert (alert.order_id, alert.kind, alert.step, alert.agent) == (
        order.pk,
        "step_failed",
        "mix",
        "kitchen",
    )
    assert (alert.code, alert.message, alert.closed_at) == ("http_503", error["message"], None)
    assert happened(order, "step_timed_out", "error") == [("step_timed_out", "mix"), ("error", "mix")]


@pytest.mark.pattern("V3")
def test_a_step_that_was_never_called_is_escalated_as_timed_out() -> None:
    order = processing({"mix": overdue()}, reply_to="")
    a_leader(threshold=1).run_once()
    assert alerts_of(order) == [("step_failed", "mix", "timed_out")]
    assert Alert.objects.get().message.endswith("1 times; no call to it was answered")
    assert stored(order).announced is True  # there is nobody to tell


@pytest.mark.pattern("V3")
@pytest.mark.parametrize("threshold", [1, 2, 5])
def test_the_threshold_is_the_number_of_failures_that_are_too_many(threshold: int) -> None:
    order = processing({"mix": overdue()})
    leader = a_leader(threshold=threshold)
    sweeps = 0
    while stored(order).process_state != "error":
        StepState.objects.filter(name="mix").update(
            state="running", complete_by=ago(1), outcome="unknown", not_before=None
        )
        leader.run_once()
        sweeps += 1
        assert sweeps <= threshold
    assert (sweeps, step_of(order, "mix").failure_count) == (threshold, threshold)
    assert stored(order).failure_count == threshold


@pytest.mark.pattern("V3", "O1")
def test_two_steps_at_the_threshold_open_one_alert() -> None:
    order = processing({"mix": overdue(), "heat-oven": overdue()})
    a_leader(threshold=1).run_once()
    assert states(order) == {"mix": "failed", "heat-oven": "failed"}
    assert len(alerts_of(order)) == 1
    assert stored(order).process_state == "error"


# --- other remedies


@pytest.mark.pattern("V4")
def test_a_step_with_extended_waits_is_tried_again_after_each_of_them_before_it_is_an_error() -> None:
    order = processing({**BAKED, "decorate": overdue(failure_count=2)}, failure_count=2)
    leader = a_leader(threshold=3)
    for waits in (1, 2):
        since = ahead(120)
        leader.run_once()
        decorate, row = step_of(order, "decorate"), stored(order)
        assert (decorate.state, decorate.extended_waits) == ("not_started", waits)
        assert decorate.failure_count == 2 + waits
        assert decorate.not_before is not None and since <= decorate.not_before <= ahead(120)
        assert (row.process_state, row.not_before) == ("pending", decorate.not_before)
        assert alerts_of(order) == []
        OrderProcess.objects.update(not_before=None)
        StepState.objects.filter(pk=decorate.pk).update(
            state="running", complete_by=ago(1), not_before=None, attempt=1 + waits
        )
    leader.run_once()
    assert step_of(order, "decorate").state == "failed"
    assert alerts_of(order) == [("step_failed", "decorate", "timed_out")]
    rulings = Event.objects.filter(kind="step_timed_out").order_by("id")
    assert [event.detail["ruling"] for event in rulings] == ["wait", "wait", "fail"]


@pytest.mark.pattern("V4", "V5", "C10")
def test_a_step_whose_remedy_is_to_compensate_has_the_order_undone_without_an_alert() -> None:
    order = processing({**BAKED, "decorate": "completed", "box": overdue(failure_count=2, settles_at=ago(1))})
    a_leader(threshold=3).run_once()
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.outcome, box.failure_count) == ("failed", "unknown", 3)
    assert (row.goal, row.process_state, row.locked_by, row.not_before) == (
        "compensate",
        "pending",
        None,
        None,
    )
    assert happened(order) == [("step_timed_out", "box"), ("undo_requested", "box")]
    assert (alerts_of(order), asked()) == ([], set())  # it only asked for it
    a_scheduler().run_once()
    assert asked() == {"decorate", "box"}


# --- the order's own complete-by


@pytest.mark.pattern("V1", "V2", "C8")
def test_an_order_past_its_complete_by_is_counted_and_given_a_new_one() -> None:
    order = processing({"mix": "completed", "heat-oven": "completed"}, complete_by=ago(1))
    assert a_leader().run_once().done == {"found": 1, "recovered": 1, "escalated": 0, "steps_timed_out": 0}
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, None)
    assert (row.overruns, row.failure_count) == (1, 1)
    assert row.complete_by is not None and row.complete_by > ahead(590)
    assert happened(order) == [("order_overran", "")]
    assert states(order) == {"mix": "completed", "heat-oven": "completed"}


@pytest.mark.pattern("V3", "O1")
def test_an_order_that_keeps_passing_its_complete_by_is_an_error_of_its_own_kind() -> None:
    order = processing({"mix": "running"}, complete_by=ago(1), overruns=2, failure_count=2)
    a_leader(threshold=3).run_once()
    row = stored(order)
    assert (row.process_state, row.overruns, row.failure_count, row.announced) == ("error", 3, 3, False)
    assert alerts_of(order) == [("order_overran", "", "order_overran")]
    assert Alert.objects.get().message == "the order passed its complete-by time 3 times"
    assert happened(order) == [("order_overran", ""), ("error", "")]
    assert states(order) == {"mix": "running"}


@pytest.mark.pattern("V2")
def test_an_order_and_its_step_that_are_both_overdue_are_both_counted() -> None:
    order = processing({"mix": overdue()}, complete_by=ago(1))
    a_leader().run_once()
    row = stored(order)
    assert (row.process_state, row.overruns, row.failure_count) == ("pending", 1, 2)
    assert step_of(order, "mix").failure_count == 1


# --- orders in Error


@pytest.mark.pattern("V1", "V2")
def test_a_step_that_passes_its_complete_by_in_an_order_in_error_is_given_up_and_the_order_stays() -> None:
    order = make_order(
        {**BAKED, "decorate": "failed", "box": overdue()}, process_state="error", reply_to="app-1"
    )
    make_alert(order.pk, kind="step_failed", step="decorate", code="no", message="no")
    a_leader().run_once()
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.failure_count, box.complete_by) == ("not_started", 1, None)
    assert (row.process_state, row.failure_count, row.not_before) == ("error", 1, None)
    assert alerts_of(order) == [("step_failed", "decorate", "no")]
    assert happened(order) == [("step_timed_out", "box")]


@pytest.mark.pattern("V3", "O1")
def test_a_step_that_reaches_the_threshold_in_an_order_in_error_opens_no_second_alert() -> None:
    order = make_order({"mix": "failed", "heat-oven": overdue(failure_count=2)}, process_state="error")
    make_alert(order.pk, kind="step_failed", step="mix", code="no", message="no")
    a_leader(threshold=3).run_once()
    assert states(order) == {"mix": "failed", "heat-oven": "failed"}
    assert (stored(order).process_state, stored(order).announced) == ("error", True)
    assert alerts_of(order) == [("step_failed", "mix", "no")]


# --- leadership


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
def test_a_sweep_renews_the_lease_and_says_what_it_did() -> None:
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
    assert happened(order) == []
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
    assert acquiring.result(timeout=10) is False
    assert step_of(order, "mix").failure_count == 1
    LeaderLease.objects.update(expires_at=ago(1))
    sweeping.begin()
    sweeping.do(lambda: leadership.check(LEASE, term=1))
    acquiring = successor.start(new.acquire)
    successor.await_wait()
    sweeping.commit()
    assert acquiring.result(timeout=10) is True
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
        sweep.result(timeout=10)
    assert (states(order), happened(order)) == ({"mix": "running"}, [])


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
def test_an_order_in_a_schedulers_hands_is_passed_over_and_found_by_the_next_sweep(
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


# --- what it keeps its hands off


@pytest.mark.pattern("V5")
def test_a_sweep_neither_reads_nor_writes_a_channel() -> None:
    channels = [
        "orders_submissionmessage",
        "orders_agentrequest",
        "orders_agentreply",
        "orders_statusmessage",
        "orders_setaside",
    ]
    orders = [
        processing({"mix": overdue()}),
        processing({"mix": overdue(failure_count=2)}),
        processing({**BAKED, "box": overdue(failure_count=2)}),
        processing({**BAKED, "decorate": overdue(failure_count=2)}),
        processing({}, complete_by=ago(1)),
        make_order({"mix": overdue("compensating")}, process_state="processing", goal="compensate"),
    ]
    for order in orders:
        make_request(step_of(order, "mix"))
        make_reply(step_of(order, "mix"))
    run(
        "CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'a channel was written'; END $$"
    )
    for table in channels:
        run(
            f"CREATE TRIGGER fail BEFORE INSERT OR UPDATE OR DELETE ON {table} EXECUTE FUNCTION pg_temp.fail()"
        )
    leader = a_leader()
    with CaptureQueriesContext(connection) as captured:
        done = leader.run_once().done
    assert (done["found"], done.get("failed_passes")) == (6, None)
    assert not [
        query["sql"] for query in captured for name in (*channels, "pg_notify") if name in query["sql"]
    ]
    assert told(orders[1]) == []  # a scheduler tells the application


@pytest.mark.pattern("V6", "C4")
def test_an_order_on_a_version_that_this_release_does_not_know_is_left_alone() -> None:
    new = processing({"mix": overdue()}, version=4, complete_by=ago(1))
    before = everything(new)
    leader = a_leader()
    assert leader.run_once().done["found"] == 0
    assert everything(new) == before
    leader.release()
    next_version = Workflow(name=CAKE.name, version=4, steps=CAKE.steps)
    a_leader(workflows={**CAKES, (CAKE.name, 4): next_version}).run_once()
    assert stored(new).process_state == "pending"


@pytest.mark.pattern("V1", "V7")
def test_overdue_orders_of_an_unknown_version_do_not_hold_up_those_of_a_known_one() -> None:
    for _ in range(3):
        processing({"mix": overdue(complete_by=ago(60))}, version=4)
    known = processing({"mix": overdue()})
    leader = a_leader(batch=2)
    for _ in range(5):
        leader.run_once()
    assert stored(known).process_state == "pending"


# --- poison


@pytest.mark.pattern("V3", "V7")
@pytest.mark.parametrize("place", [0, 4, 8])
def test_an_order_that_breaks_the_sweep_is_set_aside_alone_and_the_others_are_recovered(place: int) -> None:
    orders = [processing({"mix": overdue(complete_by=ago(100 - n))}) for n in range(9)]
    bad = orders[place]
    StepState.objects.filter(process=bad, name="mix").update(name="frost")
    leader = a_leader(batch=4)
    done = leader.run_once().done
    assert done["recovered"] == 8
    assert done["failed_passes"] <= 10
    assert {order.pk: stored(order).process_state for order in orders} == {
        order.pk: "error" if order is bad else "pending" for order in orders
    }
    assert alerts_of(bad) == [("unprocessable", "", "KeyError")]
    assert Alert.objects.count() == 1
    frost = step_of(bad, "frost")
    assert (frost.state, frost.complete_by, frost.outcome) == ("failed", None, "unknown")
    assert "frost" in event_of(bad, "error").detail["reason"]
    # It is not found again.
    before = everything(bad)
    assert leader.run_once().done["found"] == 0
    assert everything(bad) == before


@pytest.mark.pattern("V3", "V7")
def test_an_order_that_overran_is_not_set_aside_for_the_fault_of_another() -> None:
    bad = processing({"mix": overdue()})
    StepState.objects.filter(process=bad, name="mix").update(name="frost")
    innocent = processing({"mix": "completed", "heat-oven": "completed"}, complete_by=ago(1))
    leader = a_leader()
    for _ in range(3):
        leader.run_once()
    assert (stored(bad).process_state, stored(innocent).process_state) == ("error", "pending")
    assert alerts_of(innocent) == []


# --- load


@pytest.mark.pattern("V7")
def test_a_sweep_takes_the_same_few_statements_for_one_overdue_order_and_for_six_hundred() -> None:
    counted = []
    leader = a_leader(batch=1000)
    for number in (1, 600):
        order = processing({"mix": overdue()})
        clones(order, number - 1)
        began = time.monotonic()
        with CaptureQueriesContext(connection) as captured:
            assert leader.run_once().done["recovered"] == number
        assert time.monotonic() - began < 4
        counted.append(len(captured))
    assert counted[0] == counted[1] <= 16
    assert OrderProcess.objects.filter(process_state="pending").count() == 601
    assert Event.objects.filter(kind="step_timed_out").count() == 601


@pytest.mark.pattern("V7", "V1")
def test_one_run_sweeps_all_that_is_overdue_in_batches() -> None:
    clones(processing({"mix": overdue()}), 249)
    leader = a_leader(batch=100)
    done = leader.run_once().done
    assert (done["found"], done["recovered"]) == (250, 250)
    assert OrderProcess.objects.filter(process_state="pending").count() == 250
    assert LeaderLease.objects.get().last_sweep["found"] == 250


@pytest.mark.pattern("V7")
def test_a_sweep_with_nothing_to_do_is_a_handful_of_statements() -> None:
    clones(processing({"mix": "running"}), 99)
    leader = a_leader()
    with CaptureQueriesContext(connection) as captured:
        assert leader.run_once().done["found"] == 0
    assert len(captured) <= 8


@pytest.mark.pattern("V3", "V4")
def test_when_one_steps_remedy_is_to_undo_the_order_another_steps_failure_is_no_error() -> None:
    """`decorate` has used up its waits, and the remedy of `box` is to undo the order."""
    order = processing(
        {
            **BAKED,
            "decorate": overdue(failure_count=4, extended_waits=2),
            "box": overdue(failure_count=2),
        },
        failure_count=6,
    )
    a_leader().run_once()
    after = stored(order)
    assert (after.process_state, after.goal, alerts_of(order)) == ("pending", "compensate", [])
