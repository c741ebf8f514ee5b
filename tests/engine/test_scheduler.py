"""The scheduler, pass by pass, against orders in any state (C1–C9, Q1–Q3)."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine import state_store
from orders.engine.contracts import Workflow
from orders.models import (
    AgentReply,
    AgentRequest,
    Alert,
    Event,
    OrderProcess,
    StatusMessage,
    StepState,
)
from tests.support.factories import ago, ahead, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    answer_everything,
    asked,
    clones,
    drain,
    event_of,
    everything,
    expire,
    happened,
    in_thread,
    no_replies,
    reply_to_all,
    staff,
    states,
    stored,
    told,
)
from tests.support.two_sessions import Session
from tests.support.wait import until
from tests.support.workflows import CAKE, CAKES

NewSession = Callable[[], Session]
BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
PACKED = {**BAKED, "decorate": "completed", "box": "completed"}

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


# --- the claim


@pytest.mark.pattern("C2", "T2")
def test_a_claim_writes_locked_by_complete_by_and_processing() -> None:
    order = make_order()
    before = ahead(600)
    counts = a_scheduler("scheduler:a").run_once()
    row = stored(order)
    assert counts.done == {"orders": 1, "replies": 0, "started": 2, "recalled": 0}
    assert (row.locked_by, row.process_state, row.failure_count) == ("scheduler:a", "processing", 0)
    assert row.complete_by is not None and before <= row.complete_by <= ahead(600)
    assert row.started_at is not None and row.started_at <= ahead(0)
    assert event_of(order, "claimed").actor_name == "scheduler:a"


@pytest.mark.pattern("C2")
@pytest.mark.parametrize(
    "process",
    [
        {"process_state": "pending", "not_before_in": 30},
        {"process_state": "processing"},
        {"process_state": "processing", "not_before_in": 30},
        {"process_state": "processed"},
        {"process_state": "error"},
        {"process_state": "error", "goal": "compensate"},
        {"process_state": "compensated", "goal": "compensate"},
    ],
    ids=lambda process: "-".join(str(value) for value in process.values()),
)
def test_an_order_that_is_not_free_or_not_due_is_not_claimed(process: dict[str, Any]) -> None:
    fields = dict(process)
    wait = fields.pop("not_before_in", None)
    order = make_order(not_before=ahead(wait) if wait else None, **fields)
    before = everything(order)
    assert a_scheduler().run_once().done["orders"] == 0
    assert everything(order) == before
    assert happened(order) == []
    assert not AgentRequest.objects.exists()


@pytest.mark.pattern("C2")
def test_orders_of_higher_priority_are_claimed_first_and_the_oldest_of_those() -> None:
    low, high, later = make_order(priority=1), make_order(priority=9), make_order(priority=9)
    scheduler = a_scheduler(batch=1)
    for expected in (high, later, low):
        scheduler.run_once()
        assert event_of(expected, "claimed").actor_name == "scheduler:a"
    assert Event.objects.filter(kind="claimed").count() == 3


@pytest.mark.pattern("C2")
def test_an_order_whose_wait_is_over_is_claimed_again_with_a_new_complete_by() -> None:
    order = make_order(
        {"mix": {"state": "not_started", "attempt": 1, "not_before": ago(1), "outcome": "unknown"}},
        not_before=ago(1),
        complete_by=ago(1),
        started_at=ago(60),
    )
    a_scheduler("scheduler:b").run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("processing", "scheduler:b", None)
    assert row.complete_by is not None and row.complete_by > ahead(590)
    assert (step_of(order, "mix").state, step_of(order, "mix").attempt) == ("running", 2)


# --- the order of the steps


@pytest.mark.pattern("C1", "C4", "C6")
def test_the_steps_run_in_the_order_that_the_workflow_declares_and_independent_ones_together() -> None:
    order = make_order(reply_to="app-1")
    scheduler = a_scheduler()
    waves = []
    scheduler.run_once()
    while wave := answer(order=order):
        waves.append(wave)
        scheduler.run_once()
    assert waves == [{"mix", "heat-oven"}, {"bake"}, {"decorate", "box"}, {"deliver"}, {"tell"}]
    assert stored(order).process_state == "processed"
    assert states(order) == {step.name: "completed" for step in CAKE.steps}
    assert set(StepState.objects.values_list("attempt", "answered", "outcome")) == {(1, 1, "done")}


@pytest.mark.pattern("C1", "C4")
@pytest.mark.parametrize(
    ("join", "before", "branches"),
    [
        ("bake", {}, ("mix", "heat-oven")),
        ("bake", {}, ("heat-oven", "mix")),
        ("deliver", BAKED, ("decorate", "box")),
        ("deliver", BAKED, ("box", "decorate")),
    ],
)
def test_a_join_waits_for_the_last_of_its_branches(
    join: str, before: dict[str, str], branches: tuple[str, str]
) -> None:
    first, last = branches
    order = make_order({**before, first: "running", last: "running"}, process_state="processing")
    scheduler = a_scheduler()
    make_reply(step_of(order, first))
    scheduler.run_once()
    assert (states(order)[first], states(order)[last], asked()) == ("completed", "running", set())
    make_reply(step_of(order, last))
    scheduler.run_once()
    assert (states(order)[last], states(order)[join], asked()) == ("completed", "running", {join})


@pytest.mark.pattern("C1", "T4")
def test_each_change_of_a_step_is_recorded_with_the_steps_own_complete_by() -> None:
    order = make_order()
    scheduler = a_scheduler()
    since = ahead(30)
    scheduler.run_once()
    mix, bake = step_of(order, "mix"), step_of(order, "bake")
    assert (mix.state, mix.attempt, mix.outcome) == ("running", 1, "unknown")
    assert mix.complete_by is not None and since <= mix.complete_by <= ahead(30)
    assert mix.settles_at == mix.complete_by + timedelta(seconds=5)
    assert mix.started_at is not None and mix.completed_at is None
    assert (bake.state, bake.complete_by, bake.started_at) == ("not_started", None, None)
    answer(order=order)
    scheduler.run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.complete_by, mix.answered, mix.outcome) == ("completed", None, 1, "done")
    assert mix.completed_at is not None
    assert happened(order) == [
        ("claimed", ""),
        ("step_started", "mix"),
        ("step_started", "heat-oven"),
        ("step_completed", "mix"),
        ("step_completed", "heat-oven"),
        ("step_started", "bake"),
    ]


@pytest.mark.pattern("C1")
def test_a_skipped_step_counts_as_finished() -> None:
    order = make_order({"mix": "skipped", "heat-oven": "running"}, process_state="processing")
    make_reply(step_of(order, "heat-oven"))
    a_scheduler().run_once()
    assert states(order) == {"mix": "skipped", "heat-oven": "completed", "bake": "running"}


# --- the request


@pytest.mark.pattern("C5", "A3", "T5")
def test_a_request_carries_data_the_results_it_needs_its_complete_by_and_its_key() -> None:
    packed = {**PACKED, "bake": {"state": "completed", "result": {"crust": "golden"}}}
    packed["box"] = {"state": "running", "request": {"portions": 4}}
    order = make_order(
        {**packed, "deliver": {"request": {"portions": 4}}}, process_state="processing", priority=8
    )
    make_reply(step_of(order, "box"), body={"ribbon": "red"})
    a_scheduler().run_once()
    deliver = step_of(order, "deliver")
    request = AgentRequest.objects.get()
    assert (request.order_id, request.step_id, request.step) == (order.order_id, deliver.pk, "deliver")
    assert (request.agent, request.operation) == ("courier", "deliver-it")
    assert request.body == {
        "data": {"portions": 4},
        "results": {"bake": {"crust": "golden"}, "box": {"ribbon": "red"}},
    }
    assert (request.attempt, request.undo, request.reverses) == (1, False, "")
    assert request.key == f"{order.order_id}/deliver/1"
    assert request.complete_by == deliver.complete_by
    assert (request.priority, request.deliveries, request.leased_by) == (8, 0, None)
    assert step_of(order, "box").result == {"ribbon": "red"}


@pytest.mark.pattern("C5", "A3")
def test_a_retry_replaces_what_is_left_of_the_earlier_request_and_keeps_its_key() -> None:
    order = make_order(
        {"mix": {"attempt": 1, "outcome": "unknown"}, "heat-oven": "completed"}, started_at=ago(60)
    )
    old = make_request(step_of(order, "mix"), complete_by=ago(1))
    a_scheduler().run_once()
    request = AgentRequest.objects.get()
    assert request.pk != old.pk
    assert (request.attempt, request.key, request.deliveries) == (2, old.key, 0)


# --- replies


@pytest.mark.pattern("C6", "T5")
def test_a_valid_reply_is_recorded_with_its_result_and_the_next_step_is_started() -> None:
    order = make_order({**BAKED, "decorate": "running", "box": "completed"}, process_state="processing")
    make_reply(step_of(order, "decorate"), body={"roses": 3}, calls=2, instance="agents:7")
    counts = a_scheduler().run_once()
    assert (counts.busy, counts.done["replies"], counts.done["started"]) == (True, 1, 1)
    assert step_of(order, "decorate").result == {"roses": 3}
    detail = event_of(order, "step_completed").detail
    assert (detail["calls"], detail["instance"]) == (2, "agents:7")
    assert (states(order)["deliver"], asked()) == ("running", {"deliver"})
    assert no_replies()


@pytest.mark.pattern("C6", "Q3")
def test_after_the_last_step_the_order_is_processed() -> None:
    order = make_order(
        {**PACKED, "deliver": "completed", "tell": "running"}, process_state="processing", reply_to="app-1"
    )
    make_reply(step_of(order, "tell"))
    a_scheduler().run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("processed", None, None)
    assert row.finished_at is not None
    assert happened(order) == [("step_completed", "tell"), ("processed", "")]
    assert told(order) == ["completed"]
    assert alerts_of(order) == []


@pytest.mark.pattern("C7", "O1", "Q3")
@pytest.mark.parametrize(("said", "known"), [("refused", "refused"), ("failed", "unknown")])
def test_an_error_reply_sets_error_with_one_alert_an_event_and_a_status(said: str, known: str) -> None:
    order = make_order({**BAKED, "box": "running"}, process_state="processing", reply_to="app-1")
    error = {"code": "no_ribbon", "message": "there is no ribbon left"}
    make_reply(step_of(order, "box"), said, error)
    a_scheduler().run_once()
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.outcome, box.error, box.complete_by) == ("failed", known, error, None)
    assert (row.process_state, row.locked_by, row.goal) == ("error", None, "complete")
    alert = Alert.objects.get()
    assert (alert.order_id, alert.kind, alert.step, alert.agent) == (
        order.order_id,
        "step_failed",
        "box",
        "kitchen",
    )
    assert (alert.code, alert.message, alert.closed_at) == ("no_ribbon", "there is no ribbon left", None)
    assert happened(order) == [(f"step_{said}", "box"), ("error", "box")]
    status = StatusMessage.objects.get()
    assert (status.queue, status.order_id, status.kind) == ("app-1", order.order_id, "failed")
    assert status.body == {"step": "box", "code": "no_ribbon"}
    # Nothing is begun although `decorate` could be.
    assert asked() == set()


@pytest.mark.pattern("C7")
def test_two_refusals_in_one_pass_open_one_alert_and_tell_the_application_once() -> None:
    order = make_order(
        {**BAKED, "decorate": "running", "box": "running"}, process_state="processing", reply_to="app-1"
    )
    make_reply(step_of(order, "decorate"), "refused")
    make_reply(step_of(order, "box"), "refused")
    a_scheduler().run_once()
    assert (states(order)["decorate"], states(order)["box"]) == ("failed", "failed")
    assert alerts_of(order) == [("step_failed", "decorate", "no")]
    assert told(order) == ["failed"]


@pytest.mark.pattern("C7")
@pytest.mark.parametrize("said", ["done", "refused", "failed", "declined"])
def test_a_reply_to_an_order_in_error_is_recorded_and_moves_nothing_else(said: str) -> None:
    order = make_order({**BAKED, "decorate": "failed", "box": "running"}, process_state="error")
    make_reply(step_of(order, "box"), said)
    a_scheduler().run_once()
    assert states(order)["box"] == ("completed" if said == "done" else "failed")
    assert stored(order).process_state == "error"
    assert asked() == set()
    assert alerts_of(order) == []
    assert no_replies()


@pytest.mark.pattern("C8")
def test_past_its_complete_by_an_order_starts_nothing_stays_processing_and_takes_replies() -> None:
    order = make_order({"mix": "completed", "heat-oven": "running"}, process_state="processing")
    OrderProcess.objects.update(complete_by=ago(1))
    before = stored(order)
    make_reply(step_of(order, "heat-oven"))
    a_scheduler("scheduler:b").run_once()
    row = stored(order)
    assert (row.process_state, row.complete_by, row.locked_by) == (
        "processing",
        before.complete_by,
        before.locked_by,
    )
    assert states(order) == {"mix": "completed", "heat-oven": "completed"}
    assert asked() == set()
    assert no_replies()
    assert happened(order) == [("step_completed", "heat-oven")]


@pytest.mark.pattern("C8", "V2")
def test_an_order_stopped_at_its_complete_by_goes_on_after_the_supervisor_released_it() -> None:
    order = make_order({"mix": "completed", "heat-oven": "completed"}, process_state="processing")
    OrderProcess.objects.update(complete_by=ago(1))
    a_scheduler().run_once()
    assert asked() == set()
    a_leader().run_once()
    a_scheduler().run_once()
    assert (stored(order).process_state, asked()) == ("processing", {"bake"})


@pytest.mark.pattern("C9", "C3", "T6")
def test_another_scheduler_goes_on_with_the_next_reply_after_the_first_one_vanished() -> None:
    order = make_order(reply_to="app-1")
    a_scheduler("scheduler:gone").run_once()
    answer(order=order)
    a_scheduler("scheduler:new").run_once()
    assert stored(order).locked_by == "scheduler:new"
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    # It went on from there: nothing was asked a second time.
    assert set(StepState.objects.exclude(attempt=0).values_list("name", "attempt")) == {
        ("mix", 1),
        ("heat-oven", 1),
        ("bake", 1),
    }
    assert happened(order, "claimed") == [("claimed", "")]


@pytest.mark.pattern("C9", "T6")
def test_every_pass_by_a_scheduler_of_its_own_completes_the_order() -> None:
    order = make_order()
    for n in range(6):
        a_scheduler(f"scheduler:{n}").run_once()
        answer(order=order)
    assert stored(order).process_state == "processed"
    assert set(StepState.objects.values_list("attempt", flat=True)) == {1}


@both_sessions
@pytest.mark.pattern("C9", "C2")
def test_what_a_scheduler_had_in_hand_when_its_session_ended_is_claimed_by_another(
    new_session: NewSession,
) -> None:
    order = make_order()
    staff()
    dying = new_session()
    dying.begin()
    assert dying.do(lambda: a_scheduler("scheduler:gone").run_once()).done["orders"] == 1
    assert a_scheduler().run_once().done["orders"] == 0  # passed over while it is in hand
    dying.rollback()
    assert a_scheduler("scheduler:new").run_once().done["orders"] == 1
    assert stored(order).locked_by == "scheduler:new"
    assert happened(order, "claimed", "step_started") == [
        ("claimed", ""),
        ("step_started", "mix"),
        ("step_started", "heat-oven"),
    ]
    assert AgentRequest.objects.count() == 2


# --- declined: the customer's turn


@pytest.mark.pattern("C7")
def test_a_declined_step_waits_for_the_customer_without_an_alert() -> None:
    order = make_order(
        {"mix": "running", "heat-oven": "completed"}, process_state="processing", reply_to="app-1"
    )
    since = ahead(60)
    make_reply(step_of(order, "mix"), "declined", {"code": "no_eggs", "message": "bring eggs"})
    a_scheduler().run_once()
    row, mix = stored(order), step_of(order, "mix")
    assert (mix.state, mix.outcome) == ("failed", "refused")
    assert mix.error == {"code": "no_eggs", "message": "bring eggs", "waits_for": "customer"}
    assert mix.not_before is not None and since <= mix.not_before <= ahead(60)
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, mix.not_before)
    assert (alerts_of(order), told(order)) == ([], [])
    assert happened(order) == [("step_declined", "mix"), ("waiting", "")]


@pytest.mark.pattern("C7", "C10")
def test_a_declined_step_that_the_customer_does_not_mend_has_the_order_undone_without_an_alert() -> None:
    order = make_order(
        {"mix": "running", "heat-oven": "completed"}, process_state="processing", reply_to="app-1"
    )
    scheduler = a_scheduler()
    make_reply(step_of(order, "mix"), "declined")
    scheduler.run_once()
    all_due(order)
    scheduler.run_once()
    assert (stored(order).goal, asked()) == ("compensate", {"tell"})
    answer(order=order)
    scheduler.run_once()
    assert stored(order).process_state == "compensated"
    assert (alerts_of(order), told(order)) == ([], ["compensated"])
    assert happened(order, "undo_requested", "undo_started", "compensated") == [
        ("undo_requested", ""),
        ("undo_started", "tell"),
        ("compensated", ""),
    ]


def test_when_the_customers_time_is_over_a_request_that_nobody_has_begun_is_taken_back() -> None:
    order = make_order(
        {"mix": {"state": "failed", "not_before": ago(1)}, "heat-oven": "running"},
        process_state="processing",
        not_before=ago(1),
    )
    make_request(step_of(order, "heat-oven"))
    a_scheduler().run_once()
    assert stored(order).goal == "compensate"
    assert "heat-oven" not in asked()
    assert "heat-oven" not in states(order)


# --- replies that come late, early or twice


@pytest.mark.pattern("C9")
def test_a_late_reply_after_a_new_attempt_changes_nothing_but_the_history() -> None:
    order = make_order(
        {"mix": {"state": "running", "attempt": 2}, "heat-oven": "completed"}, process_state="processing"
    )
    make_reply(step_of(order, "mix"), attempt=1)
    before = everything(order)
    a_scheduler("scheduler:test").run_once()
    assert everything(order) == before
    ignored = event_of(order, "reply_ignored")
    assert (ignored.step, ignored.attempt, ignored.detail["outcome"]) == ("mix", 1, "done")
    assert no_replies()


@pytest.mark.pattern("C9")
def test_a_reply_that_was_posted_in_time_counts_after_the_supervisor_gave_up_on_the_attempt() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    expire(order, "mix")
    make_reply(step_of(order, "mix"))
    a_leader().run_once()
    assert (stored(order).process_state, step_of(order, "mix").failure_count) == ("pending", 1)
    a_scheduler().run_once()
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    assert (step_of(order, "mix").not_before, step_of(order, "mix").attempt) == (None, 1)
    assert (stored(order).process_state, stored(order).locked_by) == ("processing", "scheduler:a")


@pytest.mark.pattern("C9")
def test_a_reply_read_after_the_threshold_was_passed_completes_the_step_of_an_order_in_error() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    expire(order, "mix")
    make_reply(step_of(order, "mix"))
    a_leader(threshold=1).run_once()
    assert (stored(order).process_state, states(order)["mix"]) == ("error", "failed")
    a_scheduler().run_once()
    assert (stored(order).process_state, states(order)["mix"]) == ("error", "completed")
    assert asked() == set()


@pytest.mark.pattern("C6")
@pytest.mark.parametrize("in_one_pass", [True, False])
def test_a_reply_that_comes_twice_counts_once(in_one_pass: bool) -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    mix = step_of(order, "mix")
    scheduler = a_scheduler()
    make_reply(mix, body={"dough": 1})
    if not in_one_pass:
        scheduler.run_once()
    make_reply(mix, "refused")
    scheduler.run_once()
    mix = step_of(order, "mix")
    assert (mix.state, mix.result, mix.error) == ("completed", {"dough": 1}, None)
    assert happened(order, "step_completed", "reply_ignored", "step_refused") == [
        ("step_completed", "mix"),
        ("reply_ignored", "mix"),
    ]
    assert (stored(order).process_state, AgentRequest.objects.count()) == ("processing", 1)
    assert alerts_of(order) == []


def test_a_reply_to_a_step_that_the_order_does_not_have_is_noted_and_dropped() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_reply(step_of(order, "mix"))
    AgentReply.objects.update(step_id=0)
    before = everything(order)
    a_scheduler("scheduler:test").run_once()
    assert everything(order) == before
    assert event_of(order, "reply_ignored").step == ""
    assert no_replies()


def test_a_reply_about_an_order_that_is_gone_does_not_stay_in_the_queue() -> None:
    order = make_order({"mix": "running"}, process_state="processing")
    make_reply(step_of(order, "mix"))
    StepState.objects.all().delete()
    OrderProcess.objects.all().delete()
    scheduler = a_scheduler()
    for _ in range(5):
        scheduler.run_once()
    assert no_replies()


# --- waiting


@pytest.mark.pattern("C1")
def test_an_order_in_which_all_that_is_left_waits_is_pending_until_the_earliest_wait() -> None:
    soon, later = ahead(20), ahead(50)
    tried = {"attempt": 1, "answered": 1, "outcome": "unknown"}
    order = make_order(
        {"mix": {**tried, "not_before": later}, "heat-oven": {**tried, "not_before": soon}}, started_at=ago(9)
    )
    a_scheduler().run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("pending", None, soon)
    assert asked() == set()


@pytest.mark.pattern("C1")
def test_an_order_in_which_something_runs_stays_in_hand_and_is_claimable_when_the_wait_is_over() -> None:
    wait = ahead(20)
    order = make_order({"mix": {"attempt": 1, "outcome": "unknown", "not_before": wait}})
    scheduler = a_scheduler()
    scheduler.run_once()
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("processing", "scheduler:a", wait)
    assert asked() == {"heat-oven"}
    assert scheduler.run_once().done["orders"] == 0
    all_due(order)
    scheduler.run_once()
    assert asked() == {"heat-oven", "mix"}
    assert (stored(order).process_state, stored(order).not_before) == ("processing", None)
    assert scheduler.run_once().done["orders"] == 0


# --- batches


def a_crowd(number: int) -> int:
    """Orders in five states that give a scheduler all its kinds of work, that many of each; returns how many."""
    started = {"process_state": "processing", "reply_to": "app-1"}
    fresh = make_order(reply_to="app-1")
    again = make_order({"mix": {"attempt": 1, "outcome": "unknown"}, "heat-oven": "completed"})
    undone = make_order({"mix": "running", "heat-oven": "running"}, goal="compensate")
    replied = make_order({"mix": "completed", "heat-oven": "running"}, **started)
    refused = make_order({"mix": "running"}, **started)
    for order in (fresh, again, undone):
        clones(order, number - 1)
    reply_to_all([replied.pk, *clones(replied, number - 1)], "heat-oven")
    reply_to_all([refused.pk, *clones(refused, number - 1)], "mix", "refused")
    return 5 * number


@pytest.mark.pattern("C3")
def test_a_pass_takes_the_same_number_of_statements_for_one_order_of_each_kind_and_for_a_hundred() -> None:
    counted = []
    for number in (1, 100):
        size = a_crowd(number)
        with CaptureQueriesContext(connection) as captured:
            done = a_scheduler(batch=1000).run_once().done
        assert (done["orders"], done["replies"], done["started"]) == (size, 2 * number, 4 * number)
        counted.append(len(captured))
        StepState.objects.all().delete()
        OrderProcess.objects.all().delete()
        AgentRequest.objects.all().delete()
    assert counted[0] == counted[1] <= 24


def test_a_pass_handles_no_more_orders_than_its_batch_and_asks_for_another_pass() -> None:
    clones(make_order(), 9)
    scheduler = a_scheduler(batch=4)
    passes = [scheduler.run_once() for _ in range(3)]
    assert [(one.busy, one.done["orders"]) for one in passes] == [(True, 4), (True, 4), (False, 2)]


@both_sessions
@pytest.mark.pattern("C2", "C3", "C1")
def test_two_schedulers_share_two_hundred_orders_and_every_step_is_asked_exactly_once() -> None:
    clones(make_order(reply_to="app-1"), 199)
    stop = threading.Event()

    def passes(instance: str) -> None:
        scheduler = a_scheduler(instance, batch=10)
        while not stop.is_set():
            if not scheduler.run_once().busy:
                time.sleep(0.002)

    schedulers = [in_thread(lambda n=n: passes(f"scheduler:{n}")) for n in range(2)]
    try:
        until(
            lambda: (
                not answer_everything()
                and not OrderProcess.objects.exclude(process_state="processed").exists()
            ),
            seconds=30,
            what="every order being processed",
        )
    finally:
        stop.set()
        for scheduler in schedulers:
            scheduler.result(timeout=10)
    assert set(StepState.objects.values_list("state", "attempt", "answered")) == {("completed", 1, 1)}
    per_step = Counter(
        Event.objects.filter(kind__in=["step_started", "step_completed"]).values_list(
            "order_id", "step", "kind"
        )
    )
    assert (len(per_step), set(per_step.values())) == (200 * 7 * 2, {1})
    for kind in ("claimed", "processed"):
        events = Event.objects.filter(kind=kind).values_list("order_id", flat=True)
        assert (len(events), len(set(events))) == (200, 200)
    assert not Event.objects.filter(kind="reply_ignored").exists()
    assert set(Event.objects.values_list("actor_name", flat=True)) == {"scheduler:0", "scheduler:1"}
    assert Counter(StatusMessage.objects.values_list("kind", flat=True)) == {"started": 200, "completed": 200}
    assert no_replies()


# --- what cannot be handled


@pytest.mark.pattern("C3")
@pytest.mark.parametrize("asleep", [0, 5, 9])
def test_an_order_that_breaks_the_pass_is_set_aside_alone_and_the_others_go_on(asleep: int) -> None:
    orders = [make_order(reply_to="app-1") for _ in range(10)]
    bad = orders[asleep]
    StepState.objects.filter(process=bad, name="bake").delete()
    drain(a_scheduler(batch=8))
    for order in orders:
        assert stored(order).process_state == ("error" if order is bad else "processing")
        assert told(order) == (["failed"] if order is bad else ["started"])
    assert Alert.objects.get().order_id == bad.pk
    assert alerts_of(bad) == [("unprocessable", "", "WorkflowError")]
    assert stored(bad).locked_by is None
    assert happened(bad) == [("error", "")]
    assert "bake-cake v3" in event_of(bad, "error").detail["reason"]


def test_the_replies_of_an_order_that_is_set_aside_are_kept_in_its_history() -> None:
    bad = make_order({"mix": "completed", "heat-oven": "running"}, process_state="processing")
    make_reply(step_of(bad, "heat-oven"), body={"degrees": 180})
    StepState.objects.filter(process=bad, name="bake").delete()
    drain(a_scheduler())
    assert stored(bad).process_state == "error"
    (unread,) = event_of(bad, "error").detail["unread_replies"]
    assert (unread["outcome"], unread["attempt"]) == ("done", 1)
    assert no_replies()


def test_an_order_that_is_set_aside_is_left_alone_by_the_next_passes() -> None:
    bad = make_order()
    StepState.objects.filter(process=bad, name="bake").delete()
    scheduler = a_scheduler()
    drain(scheduler)
    before = everything(bad)
    assert drain(scheduler)["failed_passes"] == 0
    assert everything(bad) == before
    assert Alert.objects.count() == 1


@pytest.mark.pattern("C4")
def test_an_order_on_a_version_that_this_release_does_not_know_waits() -> None:
    new = make_order({"mix": "running"}, process_state="processing", version=4)
    make_reply(step_of(new, "mix"))
    pending = make_order(version=4)
    known = make_order()
    before = everything(new), everything(pending)
    scheduler = a_scheduler()
    for _ in range(3):
        scheduler.run_once()
    assert (everything(new), everything(pending)) == before
    assert AgentReply.objects.count() == 1
    assert stored(known).process_state == "processing"
    # A release that knows it goes on with it.
    next_version = Workflow(name=CAKE.name, version=4, steps=CAKE.steps)
    drain(a_scheduler(workflows={**CAKES, (CAKE.name, 4): next_version}))
    assert (states(new)["mix"], stored(pending).process_state) == ("completed", "processing")


@pytest.mark.pattern("C4", "C3")
def test_replies_of_an_unknown_version_do_not_hold_up_those_of_a_known_one() -> None:
    for _ in range(3):
        new = make_order({"mix": "running"}, process_state="processing", version=4)
        make_reply(step_of(new, "mix"))
    known = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_reply(step_of(known, "mix"))
    scheduler = a_scheduler(batch=2)
    for _ in range(10):
        scheduler.run_once()
    assert states(known)["mix"] == "completed"


@both_sessions
@pytest.mark.pattern("C2", "C3")
def test_the_reply_of_an_order_in_another_sessions_hands_waits_and_the_others_are_taken(
    new_session: NewSession,
) -> None:
    held, free = (
        make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing") for _ in range(2)
    )
    for order in (held, free):
        make_reply(step_of(order, "mix"))
    other = new_session()
    other.begin()
    assert other.do(lambda: state_store.lock_one(held.pk)) is not None
    counts = a_scheduler().run_once()
    assert (counts.busy, counts.done["replies"]) == (True, 1)
    assert (states(held)["mix"], states(free)["mix"]) == ("running", "completed")
    other.rollback()
    assert a_scheduler().run_once().done["replies"] == 1
    assert states(held)["mix"] == "completed"


# --- status


@pytest.mark.pattern("Q1", "Q2", "Q3")
def test_an_application_is_told_each_thing_once_on_its_own_queue_with_the_order_id() -> None:
    done, failed = make_order(reply_to="app-1"), make_order(reply_to="app-2")
    undone, silent = make_order(reply_to="app-1"), make_order()
    scheduler = a_scheduler()
    for _ in range(7):
        scheduler.run_once()
        answer("refused", order=failed, only=["bake"])
        for order in (done, failed, undone, silent):
            answer(order=order)
        OrderProcess.objects.filter(pk=undone.pk, process_state="processed").update(
            goal="compensate", process_state="pending"
        )
    for _ in range(8):
        scheduler.run_once()
        answer(order=undone)
    assert told(done) == ["started", "completed"]
    assert told(failed) == ["started", "failed"]
    assert told(undone) == ["started", "completed", "compensated"]
    assert told(silent) == []
    queues = set(StatusMessage.objects.values_list("queue", "order_id"))
    assert queues == {("app-1", done.pk), ("app-2", failed.pk), ("app-1", undone.pk)}
    assert not StatusMessage.objects.filter(body__icontains="scheduler").exists()


@pytest.mark.pattern("Q3", "C7")
def test_an_application_is_told_once_of_an_order_that_a_supervisor_put_into_error() -> None:
    order = make_order({"mix": "running"}, process_state="processing", reply_to="app-1")
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    assert (stored(order).process_state, stored(order).announced, told(order)) == ("error", False, [])
    scheduler = a_scheduler()
    scheduler.run_once()
    scheduler.run_once()
    a_scheduler("scheduler:b").run_once()
    assert told(order) == ["failed"]
    assert stored(order).announced is True
    assert stored(order).process_state == "error"


@pytest.mark.pattern("Q3")
def test_a_supervisors_error_is_told_also_while_there_is_always_work() -> None:
    order = make_order(process_state="error", announced=False, reply_to="app-1")
    scheduler = a_scheduler(batch=5)
    for _ in range(20):
        other = make_order({"mix": "running"}, process_state="processing")
        make_reply(step_of(other, "mix"))
        scheduler.run_once()
    assert told(order) == ["failed"]
