"""What the messages on an order's response queue say, and how they are numbered (Q3)."""

from dataclasses import replace
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from orders.engine.channels import status
from orders.engine.channels.status import Status
from orders.engine.contracts import Workflow, announcement_queue
from orders.models import SetAside, StatusMessage, StepState
from orders.services.order_changes import compensate_order, replay_submission, resubmit_order
from orders.shop.models import Product
from orders.vocabulary import StatusKind
from tests.support.factories import make_order, make_reply, step_of
from tests.support.roles import a_leader, a_scheduler, answer, drain, expire, status_kinds
from tests.support.submissions import BODY, Brittle, a_role, post
from tests.support.two_sessions import PATIENCE, NewSession
from tests.support.workflows import CAKE

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("Q3")]
PAID_CAKE = replace(CAKE, steps=tuple(replace(step, takes_value=step.name == "box") for step in CAKE.steps))
"""A cake that is paid for when it is boxed."""


def bodies(order: Any) -> list[tuple[str, dict[str, Any]]]:
    """What the messages about an order say, each with its kind, oldest first."""
    messages = StatusMessage.objects.filter(order_id=getattr(order, "pk", order)).order_by("id")
    return [(message.kind, message.body) for message in messages]


def sequences(order: Any) -> list[int]:
    messages = StatusMessage.objects.filter(order_id=getattr(order, "pk", order)).order_by("id")
    return [message.sequence for message in messages]


def to_its_end(order: Any, workflow: Workflow = PAID_CAKE) -> None:
    scheduler = a_scheduler(workflows={(workflow.name, workflow.version): workflow})
    while drain(scheduler) and answer(order=order):
        pass


# What they say.


def test_a_completed_order_says_whether_its_value_was_taken() -> None:
    paid, free = make_order(workflow=PAID_CAKE, reply_to="app-1"), make_order(reply_to="app-1")
    to_its_end(paid)
    to_its_end(free, CAKE)
    assert bodies(paid) == [("started", {}), ("completed", {"charged": True})]
    assert bodies(free)[-1] == ("completed", {})


@pytest.mark.parametrize(
    ("box", "takings"),
    [
        ({"state": "completed", "outcome": "done"}, {"charged": True, "refunded": True}),
        ({"state": "not_started"}, {"charged": False, "refunded": False}),
        ({"state": "failed", "outcome": "refused"}, {"charged": False, "refunded": False}),
    ],
    ids=["taken and given back", "never taken", "refused"],
)
def test_a_compensated_order_says_why_and_whether_its_value_was_given_back(
    box: dict[str, Any], takings: dict[str, bool]
) -> None:
    order = make_order({"mix": "completed", "box": box}, workflow=PAID_CAKE, reply_to="app-1")
    compensate_order(order_id=order.pk, by="olga")
    to_its_end(order)
    assert bodies(order)[-1] == ("compensated", {**takings, "reason": "operator_requested"})


def test_what_may_have_been_taken_is_not_said() -> None:
    """It was compensated although nobody knows whether it had taken the value."""
    box = {"state": "compensated", "outcome": "unknown"}
    order = make_order({"box": box}, workflow=PAID_CAKE, reply_to="app-1", goal="compensate")
    to_its_end(order)
    assert bodies(order)[-1] == ("compensated", {})


def test_a_failed_order_says_which_step_failed_and_why() -> None:
    order = make_order({"mix": "running"}, process_state="processing", reply_to="app-1")
    make_reply(step_of(order, "mix"), "refused", {"code": "no_flour", "message": "there is no flour"})
    drain(a_scheduler())
    error = {"code": "no_flour", "message": "there is no flour", "step": "mix"}
    assert bodies(order) == [("failed", {"reason": "step_failed", **error})]


def test_a_failed_compensation_says_so() -> None:
    order = make_order(
        {"mix": "compensating"}, process_state="processing", goal="compensate", reply_to="app-1"
    )
    make_reply(step_of(order, "mix"), "refused", {"code": "eaten", "message": "it is eaten"})
    drain(a_scheduler())
    error = {"code": "eaten", "message": "it is eaten", "step": "mix"}
    assert bodies(order) == [("failed", {"reason": "compensation_failed", **error})]


def given_up() -> Any:
    """An order that a supervisor has given up; no scheduler has told anybody."""
    order = make_order({"mix": "running"}, process_state="processing", reply_to="app-1")
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    assert bodies(order) == []
    return order


def assert_given_up(body: dict[str, Any]) -> None:
    assert body.keys() == {"reason", "code", "message", "step"}
    assert (body["reason"], body["code"], body["step"]) == ("step_failed", "timed_out", "mix")
    assert body["message"]


def test_an_order_that_the_supervisor_gave_up_says_why() -> None:
    order = given_up()
    drain(a_scheduler())
    ((kind, body),) = bodies(order)
    assert kind == "failed"
    assert_given_up(body)


@pytest.mark.parametrize("act", [resubmit_order, compensate_order])
def test_an_order_that_is_released_before_a_scheduler_told_of_it_says_why(act: Any) -> None:
    order = given_up()
    act(order_id=order.pk, by="olga")
    ((kind, body),) = bodies(order)
    assert kind == "failed"
    assert_given_up(body)


def test_an_order_that_no_pass_can_process_tells_nothing_of_our_errors() -> None:
    order, *_ = [make_order(reply_to="app-1") for _ in range(10)]
    StepState.objects.filter(process=order, name="bake").delete()
    drain(a_scheduler(batch=8))
    ((kind, body),) = bodies(order)
    assert (kind, body["reason"], body["code"]) == ("failed", "unprocessable", "unprocessable")
    assert body["message"] == "The order cannot be processed as it is. Operators have been told."


def test_a_submission_that_is_set_aside_says_why() -> None:
    order_id = post(total=1, reply_to="app-1")
    a_role().run_once()
    reason = SetAside.objects.get().reason
    message = {"reason": "set_aside", "code": "set_aside", "message": reason}
    assert bodies(order_id) == [("failed", message)]
    assert StatusMessage.objects.get().queue == "app-1"


def test_a_submission_at_which_our_code_failed_tells_nothing_of_our_errors() -> None:
    order_id, _ = post(payment_method="boom", reply_to="app-1"), post()
    drain(a_role(intake=Brittle("a secret")))
    ((_, body),) = bodies(order_id)
    assert body == {"reason": "set_aside", "code": "set_aside", "message": "inserting it failed"}


@pytest.mark.parametrize("name", ["", None, 7, ["app-1"], "q" * 121])
def test_a_submission_that_names_no_queue_is_set_aside_all_the_same(name: Any) -> None:
    post(total=1, reply_to=name)
    a_role().run_once()
    assert SetAside.objects.count() == 1
    assert not StatusMessage.objects.exists()


# How they are numbered.


def test_the_messages_about_an_order_are_numbered_from_one_without_a_gap() -> None:
    order, other = make_order(reply_to="app-1"), make_order(reply_to="app-1")
    to_its_end(order, CAKE)
    to_its_end(other, CAKE)
    assert (sequences(order), sequences(other)) == ([1, 2], [1, 2])
    StatusMessage.objects.all().delete()
    compensate_order(order_id=order.pk, by="olga")
    to_its_end(order, CAKE)
    assert (status_kinds(order), sequences(order)) == (["compensated"], [3])


def test_an_order_that_was_set_aside_goes_on_counting_when_it_is_inserted() -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)
    order_id = post(total=1, reply_to="app-1")
    a_role().run_once()
    SetAside.objects.update(body=BODY | {"reply_to": "app-1"})
    replay_submission(set_aside_id=SetAside.objects.get().pk, by="ada")
    a_role().run_once()
    assert (status_kinds(order_id), sequences(order_id)) == (["failed", "received"], [1, 2])


def test_messages_that_are_posted_together_are_numbered_in_their_order() -> None:
    first, second = uuid7(), uuid7()
    business = announcement_queue("bake")
    for kinds in ((StatusKind.RECEIVED, StatusKind.STARTED), (StatusKind.FAILED,)):
        status.post(
            Status(queue, order_id, kind)
            for kind in kinds
            for order_id in (first, second)
            for queue in ("app-1", business)
        )
    for order_id in (first, second):
        own = StatusMessage.objects.filter(order_id=order_id, queue="app-1").order_by("id")
        assert [*own.values_list("kind", "sequence")] == [("received", 1), ("started", 2), ("failed", 3)]
    assert {*StatusMessage.objects.filter(queue=business).values_list("sequence")} == {(0,)}


def test_who_posts_at_the_same_time_about_one_order_waits_for_the_other_number(
    new_session: NewSession,
) -> None:
    order_id = uuid7()
    first, second = new_session(), new_session()
    first.begin()
    first.do(lambda: status.post([Status("app-1", order_id, StatusKind.RECEIVED)]))
    posting = second.start(lambda: status.post([Status("app-1", order_id, StatusKind.STARTED)]))
    second.await_wait()
    first.commit()
    posting.result(timeout=PATIENCE)
    assert [*zip(status_kinds(order_id), sequences(order_id), strict=True)] == [
        ("received", 1),
        ("started", 2),
    ]
