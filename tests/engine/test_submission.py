"""The submission role, pass by pass: both inserts or neither, and one order for each message (S1–S3)."""

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from orders.business.intake import OrderIntake
from orders.engine.channels import low_water, submissions
from orders.engine.contracts import Compensation, Delay, Step, Workflow
from orders.models import (
    Event,
    Order,
    OrderProcess,
    SetAside,
    StatusMessage,
    StepState,
    SubmissionMessage,
)
from orders.shop.models import Product
from tests.support.order_bodies import EMAIL
from tests.support.roles import drain, event_of, history, status_kinds
from tests.support.submissions import a_role, nothing_was_inserted, post
from tests.support.two_sessions import NewSession, all_at_once
from tests.support.wait import until
from tests.support.workflows import CAKE

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def product(db: None) -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)


# --- both or neither


@pytest.mark.pattern("S2", "T1", "T2", "T3", "T4")
def test_a_message_becomes_an_order_a_pending_process_and_a_record_for_each_step() -> None:
    order_id = post(priority=7, reply_to="app-1")
    counts = a_role().run_once()
    assert (counts.busy, counts.done) == (False, {"accepted": 1, "rejected": 0, "duplicates": 0})
    order = Order.objects.get(pk=order_id)
    assert (order.email, order.total, order.lines.count()) == (EMAIL, 7800, 1)
    process = OrderProcess.objects.get()
    assert (process.order_id, process.workflow, process.version) == (order_id, "bake-cake", 3)
    assert (process.process_state, process.goal) == ("pending", "complete")
    assert (process.locked_by, process.complete_by, process.failure_count) == (None, None, 0)
    assert (process.priority, process.reply_to, process.not_before) == (7, "app-1", None)
    assert list(process.steps.values_list("position", "name", "agent", "state", "attempt", "outcome")) == [
        (position, step.name, step.agent, "not_started", 0, "none")
        for position, step in enumerate(CAKE.steps)
    ]
    assert [step.request for step in process.steps.all()] == [{"portions": 1}] * 7
    assert set(process.steps.values_list("complete_by", "failure_count", "generation")) == {(None, 0, 1)}
    assert not SubmissionMessage.objects.exists()
    received = event_of(order_id, "received")
    assert (received.actor_name, received.detail["by"]) == ("submission:a", "guest")


@pytest.mark.pattern("S2")
def test_when_the_second_insert_into_the_state_store_fails_nothing_is_left_and_the_message_stays() -> None:
    # The process is inserted, but its steps are refused: the end of a delay is no time.
    delay = Delay(until=lambda _: "no time")  # type: ignore[arg-type, return-value]
    bad_step = Step(name="mix", waits_for=delay, compensation=Compensation.NONE)
    workflow = Workflow(name="bake-cake", version=3, steps=(bad_step, *CAKE.steps[1:]))
    order_id = post(reply_to="app-1")
    counts = a_role(intake=OrderIntake(newest={"fulfil-order": workflow})).run_once()
    assert (counts.busy, counts.done) == (True, {"failed_passes": 1})
    assert nothing_was_inserted()
    assert SubmissionMessage.objects.get().order_id == order_id


@pytest.mark.pattern("S2")
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT ON orders_order",
        "INSERT ON orders_orderline",
        "INSERT ON orders_orderprocess",
        "INSERT ON orders_stepstate",
        "INSERT ON orders_statusmessage",
        "INSERT ON orders_event",
        "DELETE ON orders_submissionmessage",
    ],
)
@pytest.mark.parametrize(
    "sqlstate",
    ["22000", "53300", "57014"],
    ids=["an error in the data", "a database in trouble", "a slow database"],
)
def test_whichever_statement_fails_nothing_is_left_and_the_next_pass_inserts_it(
    statement: str, sqlstate: str
) -> None:
    order_id = post(reply_to="app-1")
    role = a_role()
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{sqlstate}'; END $$"
        )
        cursor.execute(f"CREATE TRIGGER fail AFTER {statement} EXECUTE FUNCTION pg_temp.fail()")
    if sqlstate == "53300":
        with pytest.raises(OperationalError):
            role.run_once()
    else:
        failed = "slow_passes" if sqlstate == "57014" else "failed_passes"
        assert role.run_once().done == {failed: 1}
    assert nothing_was_inserted()
    assert SubmissionMessage.objects.get().order_id == order_id
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER fail ON {statement.split()[-1]}")
    until(lambda: role.run_once().done.get("accepted") == 1, what="the order to be inserted")
    assert [Order.objects.count(), OrderProcess.objects.count(), StepState.objects.count()] == [1, 1, 7]
    assert history(order_id) == [("received", "")]
    assert status_kinds(order_id) == ["received"]


# --- one order per message


@pytest.mark.pattern("S3")
def test_the_same_message_twice_in_one_batch_makes_one_order() -> None:
    order_id = post(post(reply_to="app-1"), reply_to="app-1")
    assert a_role().run_once().done == {"accepted": 1, "rejected": 0, "duplicates": 1}
    assert [Order.objects.count(), OrderProcess.objects.count(), StepState.objects.count()] == [1, 1, 7]
    assert history(order_id) == [("received", ""), ("duplicate_ignored", "")]
    assert status_kinds(order_id) == ["received"]
    assert not SubmissionMessage.objects.exists()


@pytest.mark.pattern("S3")
def test_the_same_message_again_changes_nothing_of_an_order_that_has_moved_on() -> None:
    order_id = post()
    role = a_role()
    role.run_once()
    OrderProcess.objects.filter(pk=order_id).update(process_state="processed")
    before = OrderProcess.objects.values().get()
    post(order_id)
    assert role.run_once().done == {"accepted": 0, "rejected": 0, "duplicates": 1}
    assert OrderProcess.objects.values().get() == before
    assert Order.objects.count() == 1
    assert history(order_id) == [("received", ""), ("duplicate_ignored", "")]


@both_sessions
@pytest.mark.pattern("S3", "S2")
def test_two_instances_make_one_order_of_each_message_that_came_twice() -> None:
    first = [post(reply_to="app-1") for _ in range(40)]
    for order_id in first:
        post(order_id, reply_to="app-1")
    all_at_once(2, lambda n: drain(a_role(instance=f"submission:{n}", batch=7)))
    assert set(Order.objects.values_list("pk", flat=True)) == set(first)
    assert (OrderProcess.objects.count(), StepState.objects.count()) == (40, 280)
    assert Event.objects.filter(kind="received").count() == 40
    assert StatusMessage.objects.count() == 40
    assert not SubmissionMessage.objects.exists()
    assert not SetAside.objects.exists()


@both_sessions
def test_an_instance_passes_over_messages_that_another_holds(new_session: NewSession) -> None:
    held, free = post(), post()
    other = new_session()
    other.begin()
    assert [submission.order_id for _, submission in other.do(lambda: submissions.take(1))] == [held]
    assert a_role().run_once().done == {"accepted": 1, "rejected": 0, "duplicates": 0}
    assert OrderProcess.objects.get().order_id == free
    other.rollback()
    assert a_role().run_once().done["accepted"] == 1
    assert set(OrderProcess.objects.values_list("pk", flat=True)) == {held, free}


# --- batches


def test_a_queue_longer_than_a_batch_is_taken_oldest_first_in_several_passes() -> None:
    ids = [post() for _ in range(25)]
    role = a_role(batch=10)
    passes = [role.run_once() for _ in range(3)]
    assert [(counts.busy, counts.done["accepted"]) for counts in passes] == [
        (True, 10),
        (True, 10),
        (False, 5),
    ]
    received = list(Event.objects.order_by("id").values_list("order_id", flat=True))
    assert [set(received[:10]), set(received[10:20]), set(received[20:])] == [
        set(ids[:10]),
        set(ids[10:20]),
        set(ids[20:]),
    ]
    assert not SubmissionMessage.objects.exists()


def test_an_empty_queue_is_no_work() -> None:
    counts = a_role().run_once()
    assert (counts.busy, counts.done) == (False, {})


def test_a_pass_takes_the_same_number_of_statements_for_one_message_and_for_a_hundred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(low_water, "REFRESH_PERIOD", 3_600.0)  # a refresh is two more statements
    counted = []
    role = a_role()
    role.run_once()
    for number in (1, 100):
        for _ in range(number):
            post(reply_to="app-1")
        with CaptureQueriesContext(connection) as captured:
            assert role.run_once().done["accepted"] == number
        counted.append(len(captured))
    assert counted[0] == counted[1] <= 16


# --- status


@pytest.mark.pattern("Q1", "Q2", "Q3")
def test_received_is_posted_once_to_the_queue_that_the_message_names() -> None:
    first, second, silent = post(reply_to="app-1"), post(reply_to="app-2"), post()
    a_role().run_once()
    messages = StatusMessage.objects.order_by("queue").values_list("queue", "order_id", "kind", "body")
    assert list(messages) == [("app-1", first, "received", {}), ("app-2", second, "received", {})]
    assert OrderProcess.objects.get(pk=silent).reply_to == ""
    assert OrderProcess.objects.get(pk=first).reply_to == "app-1"
