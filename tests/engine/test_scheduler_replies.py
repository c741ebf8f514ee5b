"""The scheduler takes replies: in time, past the order's complete-by, late, early and twice (C6–C9)."""

import pytest

from orders.engine.state_store.definitions import record_definitions
from orders.models import (
    AgentReply,
    AgentRequest,
    Alert,
    OrderProcess,
    StatusMessage,
    StepState,
)
from tests.support.factories import ago, make_order, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    answer,
    event_of,
    everything,
    expire,
    history,
    no_replies,
    requested_steps,
    staff,
    states,
    status_kinds,
    stored,
)
from tests.support.two_sessions import NewSession
from tests.support.workflows import BAKED, CAKES, PACKED

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


# --- replies


@pytest.mark.pattern("C6", "T5")
def test_a_valid_reply_is_recorded_with_its_result_and_the_next_step_is_started() -> None:
    order = make_order({**BAKED, "decorate": "running", "box": "completed"}, process_state="processing")
    make_reply(step_of(order, "decorate"), body={"roses": 3}, calls=2, instance="agents:7")
    counts = a_scheduler().run_once()
    assert (counts.busy, counts.done["replies"], counts.done["started"]) == (False, 1, 1)
    assert step_of(order, "decorate").result == {"roses": 3}
    detail = event_of(order, "step_completed").detail
    assert (detail["calls"], detail["instance"]) == (2, "agents:7")
    assert (states(order)["deliver"], requested_steps()) == ("running", {"deliver"})
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
    assert history(order) == [("step_completed", "tell"), ("processed", "")]
    assert status_kinds(order) == ["completed"]
    assert alerts_of(order) == []


@pytest.mark.pattern("C7", "O1", "Q3")
@pytest.mark.parametrize(("reply", "outcome"), [("refused", "refused"), ("failed", "unknown")])
def test_an_error_reply_sets_error_with_one_alert_an_event_and_a_status(reply: str, outcome: str) -> None:
    order = make_order({**BAKED, "box": "running"}, process_state="processing", reply_to="app-1")
    error = {"code": "no_ribbon", "message": "there is no ribbon left"}
    make_reply(step_of(order, "box"), reply, error)
    a_scheduler().run_once()
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.outcome, box.error, box.complete_by) == ("failed", outcome, error, None)
    assert (row.process_state, row.locked_by, row.goal) == ("error", None, "complete")
    alert = Alert.objects.get()
    assert (alert.order_id, alert.kind, alert.step, alert.agent) == (
        order.order_id,
        "step_failed",
        "box",
        "kitchen",
    )
    assert (alert.code, alert.message, alert.closed_at) == ("no_ribbon", "there is no ribbon left", None)
    assert history(order) == [(f"step_{reply}", "box"), ("error", "box")]
    status = StatusMessage.objects.get()
    assert (status.queue, status.order_id, status.kind) == ("app-1", order.order_id, "failed")
    assert status.body == {**error, "step": "box", "reason": "step_failed"}
    # Nothing is started, although `decorate` is ready.
    assert requested_steps() == set()


@pytest.mark.pattern("C7")
def test_two_refusals_in_one_pass_open_one_alert_and_notify_the_application_once() -> None:
    order = make_order(
        {**BAKED, "decorate": "running", "box": "running"}, process_state="processing", reply_to="app-1"
    )
    make_reply(step_of(order, "decorate"), "refused")
    make_reply(step_of(order, "box"), "refused")
    a_scheduler().run_once()
    assert (states(order)["decorate"], states(order)["box"]) == ("failed", "failed")
    assert alerts_of(order) == [("step_failed", "decorate", "no")]
    assert status_kinds(order) == ["failed"]


@pytest.mark.pattern("C7")
@pytest.mark.parametrize("outcome", ["done", "refused", "failed", "declined"])
def test_a_reply_to_an_order_in_error_is_recorded_and_moves_nothing_else(outcome: str) -> None:
    order = make_order({**BAKED, "decorate": "failed", "box": "running"}, process_state="error")
    make_reply(step_of(order, "box"), outcome)
    a_scheduler().run_once()
    assert states(order)["box"] == ("completed" if outcome == "done" else "failed")
    assert stored(order).process_state == "error"
    assert requested_steps() == set()
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
    assert requested_steps() == set()
    assert no_replies()
    assert history(order) == [("step_completed", "heat-oven")]


@pytest.mark.pattern("C8", "V2")
def test_an_order_stopped_at_its_complete_by_continues_after_the_supervisor_releases_it() -> None:
    order = make_order({"mix": "completed", "heat-oven": "completed"}, process_state="processing")
    OrderProcess.objects.update(complete_by=ago(1))
    a_scheduler().run_once()
    assert requested_steps() == set()
    a_leader().run_once()
    a_scheduler().run_once()
    assert (stored(order).process_state, requested_steps()) == ("processing", {"bake"})


@pytest.mark.pattern("C9", "C3", "T6")
def test_another_scheduler_continues_with_the_next_reply_after_the_first_has_vanished() -> None:
    order = make_order(reply_to="app-1")
    a_scheduler("scheduler:gone").run_once()
    answer(order=order)
    a_scheduler("scheduler:new").run_once()
    assert stored(order).locked_by == "scheduler:new"
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    # It continued from there: nothing was requested a second time.
    assert set(StepState.objects.exclude(attempt=0).values_list("name", "attempt")) == {
        ("mix", 1),
        ("heat-oven", 1),
        ("bake", 1),
    }
    assert history(order, "claimed") == [("claimed", "")]


@pytest.mark.pattern("C9", "T6")
def test_an_order_completes_even_if_each_pass_has_its_own_scheduler() -> None:
    order = make_order()
    for n in range(6):
        a_scheduler(f"scheduler:{n}").run_once()
        answer(order=order)
    assert stored(order).process_state == "processed"
    assert set(StepState.objects.values_list("attempt", flat=True)) == {1}


@both_sessions
@pytest.mark.pattern("C9", "C2")
def test_orders_held_by_a_scheduler_whose_session_ended_are_claimed_by_another(
    new_session: NewSession,
) -> None:
    order = make_order()
    staff()
    record_definitions(CAKES)
    dying = new_session()
    dying.begin()
    assert dying.do(lambda: a_scheduler("scheduler:gone").run_once()).done["orders"] == 1
    assert a_scheduler().run_once().done["orders"] == 0  # passed over while the other session works on it
    dying.rollback()
    assert a_scheduler("scheduler:new").run_once().done["orders"] == 1
    assert stored(order).locked_by == "scheduler:new"
    assert history(order, "claimed", "step_started") == [
        ("claimed", ""),
        ("step_started", "mix"),
        ("step_started", "heat-oven"),
    ]
    assert AgentRequest.objects.count() == 2


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
    assert requested_steps() == set()


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
    assert history(order, "step_completed", "reply_ignored", "step_refused") == [
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
