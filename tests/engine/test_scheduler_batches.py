"""A scheduler's pass over many orders: what it costs, how it is shared, and what cannot be handled (C2–C4)."""

import threading
import time
from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine import state_store
from orders.engine.channels import low_water
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
from tests.support.factories import make_order, make_reply, step_of
from tests.support.roles import (
    a_scheduler,
    alerts_of,
    answer_everything,
    clones,
    drain,
    event_of,
    everything,
    history,
    in_thread,
    no_replies,
    reply_to_all,
    states,
    status_kinds,
    stored,
)
from tests.support.two_sessions import PATIENCE, NewSession
from tests.support.wait import until
from tests.support.workflows import CAKE, CAKES

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


def a_crowd(number: int) -> int:
    """Makes this many orders in each of five states, for every kind of a scheduler's work; returns their number."""
    started = {"process_state": "processing", "reply_to": "app-1"}
    fresh = make_order(reply_to="app-1")
    again = make_order({"mix": {"attempt": 1, "outcome": "unknown"}, "heat-oven": "completed"})
    compensated = make_order({"mix": "running", "heat-oven": "running"}, goal="compensate")
    replied = make_order({"mix": "completed", "heat-oven": "running"}, **started)
    refused = make_order({"mix": "running"}, **started)
    for order in (fresh, again, compensated):
        clones(order, number - 1)
    reply_to_all([replied.pk, *clones(replied, number - 1)], "heat-oven")
    reply_to_all([refused.pk, *clones(refused, number - 1)], "mix", "refused")
    return 5 * number


# --- batches


@pytest.mark.pattern("C3")
def test_a_pass_takes_the_same_number_of_statements_for_one_order_of_each_kind_and_for_a_hundred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(low_water, "REFRESH_PERIOD", 3_600.0)  # a refresh is two more statements
    counted = []
    scheduler = a_scheduler(batch=1000)
    scheduler.run_once()
    for number in (1, 100):
        size = a_crowd(number)
        with CaptureQueriesContext(connection) as captured:
            done = scheduler.run_once().done
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
    assert [(counts.busy, counts.done["orders"]) for counts in passes] == [(True, 4), (True, 4), (False, 2)]


@both_sessions
@pytest.mark.pattern("C2", "C3", "C1")
def test_two_schedulers_share_two_hundred_orders_and_every_step_is_requested_exactly_once() -> None:
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
            what="every order to be processed",
        )
    finally:
        stop.set()
        for scheduler in schedulers:
            scheduler.result(timeout=60)
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
        assert status_kinds(order) == (["failed"] if order is bad else ["started"])
    assert Alert.objects.get().order_id == bad.pk
    assert alerts_of(bad) == [("unprocessable", "", "WorkflowError")]
    assert stored(bad).locked_by is None
    assert history(bad) == [("error", "")]
    assert "bake-cake v3" in event_of(bad, "error").detail["reason"]


def test_the_replies_of_an_order_that_is_set_aside_are_kept_in_its_history() -> None:
    bad = make_order({"mix": "completed", "heat-oven": "running"}, process_state="processing")
    make_reply(step_of(bad, "heat-oven"), body={"degrees": 180})
    make_order()
    StepState.objects.filter(process=bad, name="bake").delete()
    drain(a_scheduler())
    assert stored(bad).process_state == "error"
    (unread,) = event_of(bad, "error").detail["unread_replies"]
    assert (unread["outcome"], unread["attempt"]) == ("done", 1)
    assert no_replies()


def test_an_order_that_is_set_aside_is_left_alone_by_the_next_passes() -> None:
    bad, _ = make_order(), make_order()
    StepState.objects.filter(process=bad, name="bake").delete()
    scheduler = a_scheduler()
    drain(scheduler)
    before = everything(bad)
    assert drain(scheduler)["failed_passes"] == 0
    assert everything(bad) == before
    assert Alert.objects.count() == 1


@pytest.mark.parametrize("state", ["processed", "compensated", "error"])
def test_an_order_that_another_scheduler_has_ended_meanwhile_is_not_set_aside(state: str) -> None:
    goal = "compensate" if state == "compensated" else "complete"
    order = make_order(process_state=state, goal=goal)
    before = everything(order)
    scheduler = a_scheduler()
    scheduler.run_once()
    scheduler._set_aside([order.pk], RuntimeError("an older release could not handle it"))
    assert (everything(order), Alert.objects.exists(), history(order)) == (before, False, [])


@pytest.mark.pattern("C4")
def test_an_order_on_a_version_that_this_release_does_not_know_waits() -> None:
    new = make_order({"mix": "running"}, process_state="processing", version=4)
    make_reply(step_of(new, "mix"))
    pending = make_order(version=4)
    known_order = make_order()
    before = everything(new), everything(pending)
    scheduler = a_scheduler()
    for _ in range(3):
        scheduler.run_once()
    assert (everything(new), everything(pending)) == before
    assert AgentReply.objects.count() == 1
    assert stored(known_order).process_state == "processing"
    # A release that knows the version continues the order.
    next_version = Workflow(name=CAKE.name, version=4, steps=CAKE.steps)
    drain(a_scheduler(workflows={**CAKES, (CAKE.name, 4): next_version}))
    assert (states(new)["mix"], stored(pending).process_state) == ("completed", "processing")


@pytest.mark.pattern("C4", "C3")
def test_replies_of_an_unknown_version_do_not_hold_up_those_of_a_known_one() -> None:
    for _ in range(3):
        new = make_order({"mix": "running"}, process_state="processing", version=4)
        make_reply(step_of(new, "mix"))
    known_order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_reply(step_of(known_order, "mix"))
    scheduler = a_scheduler(batch=2)
    for _ in range(10):
        scheduler.run_once()
    assert states(known_order)["mix"] == "completed"


@both_sessions
@pytest.mark.pattern("C2", "C3")
def test_a_reply_to_an_order_that_another_session_holds_waits_and_the_others_are_taken(
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


@both_sessions
@pytest.mark.pattern("C9", "T6")
def test_a_pass_whose_step_has_changed_without_its_lock_is_undone_and_made_again(
    new_session: NewSession,
) -> None:
    """The pass goes to the server without waiting, its commit too, so a write that finds another attempt must fail."""
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_reply(step_of(order, "mix"), body={"dough": 1})
    scheduler, other, session = a_scheduler(), new_session(), new_session()
    other.begin()
    other.do(lambda: StepState.objects.filter(process=order, name="mix").update(attempt=2))
    started = session.start(scheduler.run_once)
    session.await_wait()
    other.commit()
    before = everything(order)
    assert started.result(timeout=PATIENCE).done == {"failed_passes": 1}
    assert (everything(order), AgentReply.objects.count(), history(order)) == (before, 1, [])
    assert session.do(scheduler.run_once).done["replies"] == 1
    assert (states(order)["mix"], history(order)) == ("running", [("reply_ignored", "mix")])
