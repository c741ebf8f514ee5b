"""A step that may have been done is asked about before it is sent again, and without keys not before it has settled."""

from dataclasses import replace
from typing import Any

import pytest

from orders.engine.contracts import Done, NotDone, Unknown, Workflow, Workflows
from orders.engine.errors import Refused, Transient
from orders.models import AgentRequest, Event, OrderProcess, StepState
from orders.services.order_changes import compensate_order, resubmit_order
from tests.support.agents import AskableAgent
from tests.support.compensations import an_order_to_compensate, unknown
from tests.support.factories import ago, ahead, make_order, make_reply, step_of
from tests.support.hosts import QUICK, Gate, a_reply, a_request
from tests.support.roles import (
    a_host,
    a_leader,
    a_scheduler,
    alerts_of,
    expire,
    no_replies,
    requested_steps,
    running,
    stored,
)
from tests.support.wait import until
from tests.support.workflows import CAKE, PACKED

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("A7", "F14")]

WEEK = CAKE.by_name["decorate"].key_retention
LOST = Transient("connection_lost", "the connection was lost")
OVER = Transient("http_503", "try again", is_over=True)


def cakes(**declared: Any) -> Workflows:
    """The cake's workflow, with these fields in each step."""
    steps = tuple(replace(step, **declared) for step in CAKE.steps)
    workflow = Workflow(name=CAKE.name, version=CAKE.version, steps=steps)
    return {(CAKE.name, CAKE.version): workflow}


ASKED = cakes(can_be_asked=True)
KEYLESS = cakes(can_be_asked=True, key_retention=0.0)


def flags() -> dict[str, tuple[bool, bool]]:
    rows = AgentRequest.objects.values_list("step", "is_repeat", "key_is_known")
    return {step: (is_repeat, key_is_known) for step, is_repeat, key_is_known in rows}


def lost(**fields: Any) -> dict[str, Any]:
    """A step that was sent once, and never answered."""
    return {"attempt": 1, "outcome": "unknown", "sent_at": ago(60), "settles_at": ago(1)} | fields


# --- what the scheduler tells the host


@pytest.mark.parametrize(
    ("workflows", "outcome", "expected"),
    [
        (ASKED, "none", (False, True)),
        (ASKED, "unknown", (True, True)),
        (ASKED, "refused", (False, True)),
        (KEYLESS, "none", (False, False)),
        (KEYLESS, "unknown", (True, False)),
    ],
)
def test_a_request_says_whether_it_may_be_a_repeat_and_whether_its_key_is_known(
    workflows: Workflows, outcome: str, expected: tuple[bool, bool]
) -> None:
    make_order(PACKED | {"decorate": lost(outcome=outcome)})
    a_scheduler(workflows=workflows).run_once()
    assert flags() == {"decorate": expected}


def test_a_step_with_an_expired_key_is_sent_to_be_asked_about() -> None:
    """Instead of ending with an operator, as it does if its service cannot be asked."""
    make_order(PACKED | {"decorate": lost(sent_at=ago(WEEK + 1))})
    a_scheduler(workflows=ASKED).run_once()
    assert flags() == {"decorate": (True, False)}


def test_the_repeat_of_a_compensation_says_so() -> None:
    order = an_order_to_compensate({"mix": unknown()})
    scheduler = a_scheduler(workflows=KEYLESS)
    scheduler.run_once()
    assert flags() == {"mix": (False, False)}
    assert step_of(order, "mix").compensation_sent_at is not None
    supervisor = a_leader(workflows=KEYLESS)
    expire(order, "mix")
    supervisor.run_once()
    StepState.objects.update(settles_at=ago(1), not_before=None)
    OrderProcess.objects.update(not_before=None)
    scheduler.run_once()
    assert flags() == {"mix": (True, False)}


def test_a_compensation_with_an_expired_key_is_settled_by_an_operator_if_nobody_can_ask() -> None:
    sent = {"state": "compensating", "attempt": 2, "complete_by": None, "compensation_sent_at": ago(WEEK + 1)}
    order = an_order_to_compensate({"mix": sent})
    a_scheduler().run_once()
    assert alerts_of(order) == [("compensation_failed", "mix", "key_expired")]
    assert requested_steps() == set()


def test_a_compensation_that_was_refused_has_a_new_key_which_is_not_a_repeat() -> None:
    sent = {
        "state": "compensating",
        "attempt": 2,
        "complete_by": ahead(30),
        "compensation_sent_at": ago(WEEK + 1),
    }
    order = an_order_to_compensate({"mix": sent}, process_state="processing")
    make_reply(step_of(order, "mix"), "refused")
    scheduler = a_scheduler()
    scheduler.run_once()
    resubmit_order(order_id=order.pk, by="ada")
    scheduler.run_once()
    assert flags() == {"mix": (False, True)}


# --- without keys, a repeat waits until the earlier call can no longer take effect


def test_without_keys_a_step_waits_for_its_settle_time_before_it_is_sent_again() -> None:
    settles_at = ahead(5)
    order = make_order(PACKED | {"decorate": lost(settles_at=settles_at)})
    scheduler = a_scheduler(workflows=KEYLESS)
    scheduler.run_once()
    assert (stored(order).not_before, requested_steps()) == (settles_at, set())


def test_with_a_key_a_step_is_sent_again_at_once() -> None:
    make_order(PACKED | {"decorate": lost(settles_at=ahead(5))})
    a_scheduler(workflows=ASKED).run_once()
    assert requested_steps() == {"decorate"}


def test_without_keys_a_compensation_waits_for_its_settle_time_before_it_is_sent_again() -> None:
    settles_at = ahead(5)
    sent = {
        "state": "compensating",
        "attempt": 2,
        "complete_by": None,
        "compensation_sent_at": ago(60),
        "settles_at": settles_at,
    }
    order = an_order_to_compensate({"mix": sent})
    a_scheduler(workflows=KEYLESS).run_once()
    assert (stored(order).not_before, requested_steps()) == (settles_at, set())


def test_a_compensation_has_a_settle_time_of_its_own() -> None:
    order = an_order_to_compensate({"mix": "completed"})
    a_scheduler(workflows=KEYLESS).run_once()
    mix = step_of(order, "mix")
    assert mix.complete_by is not None and mix.settles_at is not None
    assert (mix.settles_at - mix.complete_by).total_seconds() == CAKE.by_name["mix"].settle


# --- from the scheduler to the host and back


def test_a_lost_reply_is_found_by_asking_and_the_history_says_so() -> None:
    order = make_order(PACKED)
    scheduler = a_scheduler(workflows=KEYLESS)
    scheduler.run_once()
    courier = AskableAgent("courier", LOST, findings=[Done(result={"van": 7})])
    a_host(courier).run_once()
    scheduler.run_once()
    deliver = step_of(order, "deliver")
    assert (deliver.state, deliver.result, len(courier.requests)) == ("completed", {"van": 7}, 1)
    (event,) = Event.objects.filter(kind="inquired")
    assert (event.step, event.attempt, event.detail) == (
        "deliver",
        1,
        {"try": 2, "finding": "done", "result": {"van": 7}},
    )


def test_a_step_that_could_not_be_asked_about_is_in_error_until_it_can() -> None:
    """A resubmission asks again, and sends nothing that was done."""
    order = make_order(PACKED | {"deliver": lost()})
    scheduler = a_scheduler(workflows=KEYLESS)
    scheduler.run_once()
    a_host(AskableAgent("courier", findings=[Refused("forbidden", "no such right")])).run_once()
    scheduler.run_once()
    deliver = step_of(order, "deliver")
    assert (deliver.state, deliver.outcome) == ("failed", "unknown")
    assert alerts_of(order) == [("step_failed", "deliver", "forbidden")]
    StepState.objects.update(settles_at=ago(1))
    resubmit_order(order_id=order.pk, by="ada")
    scheduler.run_once()
    courier = AskableAgent("courier", findings=[Done(result={"van": 7})])
    a_host(courier).run_once()
    scheduler.run_once()
    assert (step_of(order, "deliver").state, courier.requests) == ("completed", [])


def test_an_unanswered_step_without_keys_costs_one_failure_and_is_then_sent_once() -> None:
    order = make_order(PACKED)
    scheduler = a_scheduler(workflows=KEYLESS)
    scheduler.run_once()
    AgentRequest.objects.update(complete_by=ahead(0.5))
    courier = AskableAgent("courier", LOST, {"van": 7}, findings=[NotDone()])
    a_host(courier).run_once()
    expire(order, "deliver")
    a_leader(workflows=KEYLESS).run_once()
    assert step_of(order, "deliver").failure_count == 1
    scheduler.run_once()
    assert requested_steps() == set()
    StepState.objects.update(settles_at=ago(1), not_before=None)
    OrderProcess.objects.update(not_before=ago(0))
    scheduler.run_once()
    a_host(courier).run_once()
    scheduler.run_once()
    deliver = step_of(order, "deliver")
    assert (deliver.state, deliver.result, len(courier.requests)) == ("completed", {"van": 7}, 2)


def test_a_compensation_that_was_done_is_not_sent_again() -> None:
    sent = {
        "state": "compensating",
        "attempt": 2,
        "complete_by": None,
        "compensation_sent_at": ago(60),
        "settles_at": ago(1),
    }
    order = an_order_to_compensate({"mix": sent})
    scheduler = a_scheduler(workflows=KEYLESS)
    scheduler.run_once()
    kitchen = AskableAgent("kitchen", findings=[Unknown(reason="busy"), Done(result={"binned": True})])
    a_host(kitchen).run_once()
    scheduler.run_once()
    assert (step_of(order, "mix").state, kitchen.requests) == ("compensated", [])
    assert all(request.compensates for request in kitchen.inquiries)


def test_an_order_with_an_expired_key_can_still_be_compensated() -> None:
    order = make_order(PACKED | {"deliver": lost(sent_at=ago(WEEK + 1))})
    compensate_order(order_id=order.pk, by="ada")
    a_scheduler(workflows=ASKED).run_once()
    assert flags()["deliver"] == (False, True)


# --- a request that a host gave back


@pytest.mark.pattern("A1")
def test_without_keys_a_request_that_was_given_back_before_its_call_costs_nothing() -> None:
    """Its host was asking when it stopped. Nothing was sent, so the next host may send it at once."""
    a_request(is_repeat=True, key_is_known=False)
    gate = Gate()
    first = AskableAgent("kitchen", findings=[gate])
    with running(a_host(first, **QUICK)):
        until(lambda: gate.began, what="the inquiry")
    second = AskableAgent("kitchen", {"cake": 2}, findings=[NotDone()])
    a_host(second).run_once()
    assert (a_reply().outcome, first.requests, len(second.requests)) == ("done", [], 1)


@pytest.mark.pattern("A1")
def test_without_keys_a_request_that_was_given_back_between_two_calls_is_asked_about_and_sent() -> None:
    a_request(key_is_known=False)
    first = AskableAgent("kitchen", OVER, findings=[NotDone()])
    with running(a_host(first, retries=0.0, **QUICK)):
        until(lambda: first.requests, what="the call")
    second = AskableAgent("kitchen", {"cake": 2}, findings=[NotDone()])
    a_host(second).run_once()
    assert (a_reply().outcome, len(second.requests), len(second.inquiries)) == ("done", 1, 1)


@pytest.mark.pattern("A1")
def test_without_keys_a_request_that_was_given_back_during_its_call_is_not_sent_again() -> None:
    a_request(key_is_known=False, left=5)
    gate = Gate()
    with running(a_host(AskableAgent("kitchen", gate, findings=[NotDone()]), **QUICK)):
        until(lambda: gate.began, what="the call")
    second = AskableAgent("kitchen", findings=[NotDone()])
    AgentRequest.objects.update(complete_by=ahead(1))
    a_host(second).run_once()
    assert (no_replies(), second.requests) == (True, [])
    assert second.inquiries
