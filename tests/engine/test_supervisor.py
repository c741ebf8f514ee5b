"""The supervisor, sweep by sweep: what it releases, and what it leaves alone (V1, V2, V5)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine.contracts import Workflow
from orders.engine.runtime.sql import run
from orders.models import Alert, Event, OrderProcess, StepState
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, make_request, step_of
from tests.support.overdue import overdue, processing
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    event_of,
    everything,
    history,
    states,
    status_kinds,
    stored,
)
from tests.support.workflows import BAKED, CAKE, CAKES

pytestmark = pytest.mark.django_db


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
    assert history(order) == [("step_timed_out", "mix")]
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
def test_orders_that_are_not_overdue_are_left_alone() -> None:
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
def test_a_running_step_continues_while_an_overdue_step_beside_it_is_given_up() -> None:
    order = processing({"mix": overdue(), "heat-oven": "running"})
    a_leader().run_once()
    assert states(order) == {"heat-oven": "running"}
    assert stored(order).process_state == "pending"
    wait = ahead(30)  # instead of a backoff that may end at once
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


# --- the order's own complete-by


@pytest.mark.pattern("V1", "V2", "C8")
def test_an_order_past_its_complete_by_is_counted_and_given_a_new_one() -> None:
    order = processing({"mix": "completed", "heat-oven": "completed"}, complete_by=ago(1))
    assert a_leader().run_once().done == {"found": 1, "recovered": 1, "escalated": 0, "steps_timed_out": 0}
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, None)
    assert (row.overruns, row.failure_count) == (1, 1)
    assert row.complete_by is not None and row.complete_by > ahead(590)
    assert history(order) == [("order_overran", "")]
    assert states(order) == {"mix": "completed", "heat-oven": "completed"}


@pytest.mark.pattern("V3", "O1")
def test_an_order_that_keeps_passing_its_complete_by_is_an_error_of_its_own_kind() -> None:
    order = processing({"mix": "running"}, complete_by=ago(1), overruns=2, failure_count=2)
    a_leader(threshold=3).run_once()
    row = stored(order)
    assert (row.process_state, row.overruns, row.failure_count, row.announced) == ("error", 3, 3, False)
    assert alerts_of(order) == [("order_overran", "", "order_overran")]
    assert Alert.objects.get().message == "the order passed its complete-by time 3 times"
    assert history(order) == [("order_overran", ""), ("error", "")]
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
    assert history(order) == [("step_timed_out", "box")]


@pytest.mark.pattern("V3", "O1")
def test_a_step_that_reaches_the_threshold_in_an_order_in_error_opens_no_second_alert() -> None:
    order = make_order({"mix": "failed", "heat-oven": overdue(failure_count=2)}, process_state="error")
    make_alert(order.pk, kind="step_failed", step="mix", code="no", message="no")
    a_leader(threshold=3).run_once()
    assert states(order) == {"mix": "failed", "heat-oven": "failed"}
    assert (stored(order).process_state, stored(order).announced) == ("error", True)
    assert alerts_of(order) == [("step_failed", "mix", "no")]


# --- what it leaves alone


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
    assert status_kinds(orders[1]) == []  # a scheduler notifies the application


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
    known_order = processing({"mix": overdue()})
    leader = a_leader(batch=2)
    for _ in range(5):
        leader.run_once()
    assert stored(known_order).process_state == "pending"
