"""What an application is told of a step that its customer can resolve, and of an order that nobody resolved (Q3)."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError

from orders.engine.channels import status
from orders.engine.contracts import Workflow
from orders.engine.scheduler.role import Scheduler
from orders.models import AgentReply, Event, LeaderLease, OrderProcess, StatusMessage
from orders.services.order_changes import compensate_order
from tests.support.factories import ago, make_order, make_reply, step_of
from tests.support.roles import a_scheduler, all_due, answer, drain, history, status_kinds, stored
from tests.support.workflows import CAKE

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("Q3")]
NO_EGGS = {"code": "no_eggs", "message": "bring eggs"}
WAITS = 60
"""Seconds that the step `mix` waits for the customer."""


def mixing(**process: Any) -> Any:
    """A cake that is being mixed, whose application listens."""
    fields = {"process_state": "processing", "reply_to": "app-1", **process}
    return make_order({"mix": "running", "heat-oven": "completed"}, **fields)


def named(word: str) -> Scheduler:
    """A scheduler of a release in which the first step is declined in this word."""
    first, *others = CAKE.steps
    cake = replace(CAKE, steps=(replace(first, declined_as=word), *others))
    assert cake.fingerprint == CAKE.fingerprint
    return a_scheduler(workflows={(cake.name, cake.version): cake})


@pytest.mark.parametrize("word", ["declined", "eggs_declined"])
def test_a_decline_is_told_with_its_cause_and_its_deadline_in_the_steps_own_word(word: str) -> None:
    order = mixing()
    make_reply(step_of(order, "mix"), "declined", NO_EGGS)
    named(word).run_once()
    message = StatusMessage.objects.get()
    assert (message.queue, message.order_id, message.kind) == ("app-1", order.pk, word)
    deadline = step_of(order, "mix").not_before
    assert deadline is not None
    assert message.body == {**NO_EGGS, "step": "mix", "waiting_until": message.body["waiting_until"]}
    assert message.body["waiting_until"].endswith("Z")
    assert datetime.fromisoformat(message.body["waiting_until"]) == deadline
    assert timedelta(0) < deadline - message.posted_at <= timedelta(seconds=WAITS)


def test_each_decline_is_told_once_however_often_its_reply_comes() -> None:
    order = mixing()
    step = step_of(order, "mix")
    make_reply(step, "declined", NO_EGGS)
    make_reply(step, "declined", NO_EGGS)
    drain(a_scheduler())
    make_reply(step, "declined", NO_EGGS)
    drain(a_scheduler("scheduler:b"))
    assert status_kinds(order) == ["declined"]
    assert Event.objects.filter(order_id=order.pk, kind="reply_ignored").count() == 2


def test_a_decline_is_told_in_the_transaction_that_takes_its_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that loses its connection after everything is written leaves the reply, and no message."""
    order = mixing()
    make_reply(step_of(order, "mix"), "declined", NO_EGGS)
    post = status.post

    def post_and_die(messages: Any) -> None:
        post(messages)
        assert status_kinds(order) == ["declined"]
        raise OperationalError("the connection is lost")

    with monkeypatch.context() as patch:
        patch.setattr(status, "post", post_and_die)
        with pytest.raises(OperationalError):
            a_scheduler().run_once()
    assert (status_kinds(order), AgentReply.objects.count()) == ([], 1)
    assert step_of(order, "mix").state == "running"
    drain(a_scheduler())
    assert (status_kinds(order), AgentReply.objects.count()) == (["declined"], 0)


def test_nothing_is_told_of_a_decline_of_an_order_that_is_compensated_anyway() -> None:
    order = mixing(goal="compensate")
    make_reply(step_of(order, "mix"), "declined", NO_EGGS)
    assert ended(order).body == {}
    assert status_kinds(order) == ["compensated"]


def test_nothing_is_told_of_a_compensation_that_is_declined() -> None:
    order = make_order(
        {"mix": "compensating"}, process_state="processing", goal="compensate", reply_to="app-1"
    )
    make_reply(step_of(order, "mix"), "declined", NO_EGGS)
    drain(a_scheduler())
    assert status_kinds(order) == ["failed"]


def test_a_decline_of_an_order_in_error_is_told_since_the_customer_may_resolve_it_already() -> None:
    order = mixing(process_state="error")
    make_reply(step_of(order, "mix"), "declined", NO_EGGS)
    drain(a_scheduler())
    assert (stored(order).process_state, status_kinds(order)) == ("error", ["declined"])


# --- why an order was compensated


def ended(order: Any, workflow: Workflow = CAKE) -> StatusMessage:
    """The order's last message, once it has ended."""
    scheduler = a_scheduler(workflows={(workflow.name, workflow.version): workflow})
    while drain(scheduler) and answer(order=order):
        pass
    message = StatusMessage.objects.filter(order_id=order.pk).order_by("id").last()
    assert message is not None
    assert message.kind == "compensated"
    return message


def test_an_order_that_turns_and_ends_in_one_pass_says_why() -> None:
    """Nothing was done, so there is nothing to compensate, and nobody to tell of it."""
    bare = replace(CAKE, steps=CAKE.steps[:-1])
    error = {**NO_EGGS, "waits_for": "customer"}
    declined = {"state": "failed", "error": error, "not_before": ago(1)}
    order = make_order({"mix": declined}, workflow=bare, reply_to="app-1")
    assert ended(order, bare).body == {"reason": "customer_did_not_resolve"}
    assert history(order) == [("compensation_requested", ""), ("compensated", "")]


def test_an_order_that_its_customer_did_not_resolve_says_so() -> None:
    order = mixing()
    make_reply(step_of(order, "mix"), "declined", NO_EGGS)
    drain(a_scheduler())
    all_due(order)
    assert ended(order).body == {"reason": "customer_did_not_resolve"}
    assert status_kinds(order) == ["declined", "compensated"]


def test_an_order_that_was_cancelled_long_before_it_ends_says_why() -> None:
    order = make_order({"mix": "completed"}, reply_to="app-1", created_at=ago(600))
    compensate_order(order_id=order.pk, by="olga", reason="she telephoned")
    message = ended(order)
    assert message.body == {"reason": "operator_requested"}
    assert step_of(order, "mix").state == "compensated"


def test_orders_that_end_in_one_pass_each_have_their_own_reason() -> None:
    first, second, unknown = (make_order({}, reply_to=f"app-{n}", goal="compensate") for n in range(3))
    for order, why in ((first, "customer_cancelled"), (second, "decided")):
        Event.objects.create(
            order_id=order.pk,
            kind="compensation_requested",
            actor_kind="scheduler",
            actor_name="test",
            detail={"why": why},
        )
    scheduler = a_scheduler()
    scheduler.run_once()
    assert [answer(order=order) for order in (first, second, unknown)] == [{"tell"}] * 3
    scheduler.run_once()
    bodies = StatusMessage.objects.filter(kind="compensated").values_list("order_id", "body")
    assert dict(bodies) == {
        first.pk: {"reason": "customer_cancelled"},
        second.pk: {"reason": "decided"},
        unknown.pk: {},
    }


def test_an_order_whose_customer_was_not_heard_while_everything_stood_still_waits_a_minute_more() -> None:
    declined = {"state": "failed", "error": {**NO_EGGS, "waits_for": "customer"}, "not_before": ago(1)}
    order = make_order({"mix": declined, "heat-oven": "completed"}, not_before=ago(1))
    LeaderLease.objects.create(name=LeaderLease.SUPERVISOR, swept_at=ago(600))
    scheduler = a_scheduler()
    drain(scheduler)
    process = OrderProcess.objects.get(order_id=order.pk)
    assert process.goal == "complete"
    assert process.not_before == step_of(order, "mix").not_before
    assert process.not_before is not None
    assert process.not_before > ago(-50)
    drain(scheduler)
    assert history(order) == [("waiting", "")]
