"""A remote service takes a call and answers later: from the agent's `Pending` to the answer, through all the roles."""

from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction
from uuid_utils.compat import uuid7

from orders.engine.agent_host.storable import LONGEST_PENDING, LONGEST_REFERENCE
from orders.engine.callbacks import issue_token
from orders.engine.channels import replies
from orders.engine.contracts import Done, NotDone, Pending, Request, Unknown, Workflows
from orders.models import AgentReply, AgentRequest, Circuit, OrderProcess, StepState
from orders.services.answers import answer_callback
from orders.services.order_changes import compensate_order, resubmit_order
from tests.support.agents import AskableAgent, ScriptedAgent
from tests.support.factories import ago, ahead, make_order, step_of
from tests.support.hosts import QUICK, a_reply, a_request
from tests.support.roles import (
    a_host,
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    drain,
    expire,
    history,
    no_replies,
    requested_steps,
    running,
    states,
    stored,
)
from tests.support.two_sessions import NewSession
from tests.support.wait import until
from tests.support.workflows import CAKE, PACKED

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("C5", "A3", "A7")]

LATER = Pending(reference="job-7", within=900.0, poll_after=60.0)
PARKED = {
    "state": "awaiting",
    "outcome": "unknown",
    "awaits": {"kind": "answer", "reference": "job-7"},
}


def asked() -> Workflows:
    steps = tuple(replace(step, can_be_asked=True) for step in CAKE.steps)
    return {(CAKE.name, CAKE.version): replace(CAKE, steps=steps)}


def parked(**fields: Any) -> OrderProcess:
    until_then = {"complete_by": ahead(900), "awaits_until": ahead(900), "not_before": ahead(60)}
    return make_order(
        PACKED | {"deliver": PARKED | {"sent_at": ago(60)} | until_then | fields},
        not_before=ahead(60),
        started_at=ago(90),
        failure_count=fields.get("failure_count", 0),
    )


def deliver(order: OrderProcess) -> StepState:
    return step_of(order, "deliver")


# --- what a host makes of it


def test_a_host_posts_that_the_answer_comes_later_and_gives_the_request_up() -> None:
    a_request()
    a_host(ScriptedAgent("kitchen", LATER)).run_once()
    reply = a_reply()
    assert (reply.outcome, reply.calls) == ("pending", 1)
    assert reply.body == {"within": 900.0, "reference": "job-7", "poll_after": 60.0}
    assert not AgentRequest.objects.exists()


@pytest.mark.parametrize(
    "pending",
    [
        Pending(within=0.0),
        Pending(within=-1.0),
        Pending(within=float("nan")),
        Pending(within=LONGEST_PENDING * 2),
        Pending(within="900"),  # type: ignore[arg-type]
        Pending(within=900.0, poll_after=0.0),
        Pending(within=900.0, poll_after=float("nan")),
        Pending(within=900.0, reference="x" * (LONGEST_REFERENCE + 1)),
        Pending(within=900.0, reference="\x00"),
        Pending(within=900.0, reference=7),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_kept_of_a_later_answer_leaves_the_outcome_unknown(pending: Pending) -> None:
    a_request()
    a_host(ScriptedAgent("kitchen", pending)).run_once()
    assert (a_reply().outcome, a_reply().body["code"]) == ("failed", "agent_failed")


def test_to_ask_again_after_the_time_is_over_is_not_to_ask_again() -> None:
    a_request()
    a_host(ScriptedAgent("kitchen", Pending(within=60.0, poll_after=60.0))).run_once()
    assert a_reply().body["poll_after"] is None


def test_an_agent_is_given_a_token_for_its_call_and_the_reference_of_the_last_answer() -> None:
    request = a_request(body={"data": {}, "results": {}, "reference": "job-7"})
    agent = ScriptedAgent("kitchen", LATER)
    a_host(agent).run_once()
    (handed_over,) = agent.requests
    assert (handed_over.callback_token, handed_over.reference) == (issue_token(request.key), "job-7")
    assert handed_over == replace(handed_over, issue_token=lambda: "another")


def test_a_token_is_made_only_when_it_is_read() -> None:
    tokens: list[str] = []
    request = Request(
        order_id=uuid7(),
        step="mix",
        operation="mix-it",
        attempt=1,
        key="k",
        data={},
        results={},
        compensates=False,
        reverses="",
        seconds_left=9.0,
        issue_token=lambda: f"token {tokens.append('made') or len(tokens)}",  # type: ignore[func-returns-value]
    )
    assert tokens == []
    assert (request.callback_token, tokens) == ("token 1", ["made"])


# --- from the scheduler to the host and back


def test_a_call_that_is_answered_later_goes_on_when_the_answer_comes() -> None:
    order = make_order(PACKED)
    scheduler = a_scheduler()
    scheduler.run_once()
    courier = ScriptedAgent("courier", LATER)
    a_host(courier).run_once()
    scheduler.run_once()
    assert (deliver(order).state, stored(order).process_state) == ("awaiting", "pending")
    assert deliver(order).awaits == {"kind": "answer", "reference": "job-7"}
    answer_callback(token=courier.requests[0].callback_token, result={"van": 7})
    scheduler.run_once()
    assert (deliver(order).state, deliver(order).result) == ("completed", {"van": 7})
    assert requested_steps() == {"tell"}
    assert (stored(order).failure_count, Circuit.objects.filter(state="open").count()) == (0, 0)


def test_a_parked_step_holds_no_credit_of_its_agent() -> None:
    orders = [parked() for _ in range(30)]
    order = make_order(PACKED)
    a_scheduler().run_once()
    assert states(order)["deliver"] == "running"
    assert {states(each)["deliver"] for each in orders} == {"awaiting"}
    assert AgentRequest.objects.count() == 1


@pytest.mark.parametrize(
    ("finding", "calls", "result"),
    [
        (Done(result={"van": 7}), 0, {"van": 7}),
        (NotDone(), 1, {"van": 8}),
        (Unknown(reason="it is busy"), 1, {"van": 8}),
    ],
)
def test_when_it_is_time_the_agent_is_asked_before_the_call_is_repeated_with_the_same_key(
    finding: Any, calls: int, result: Any
) -> None:
    order = parked()
    all_due(order)
    scheduler = a_scheduler(workflows=asked())
    scheduler.run_once()
    assert (deliver(order).state, deliver(order).attempt) == ("running", 2)
    courier = AskableAgent("courier", {"van": 8}, findings=[finding])
    a_host(courier).run_once()
    scheduler.run_once()
    assert (deliver(order).result, len(courier.requests)) == (result, calls)
    (inquiry,) = courier.inquiries
    assert (inquiry.key, inquiry.reference) == (f"{order.pk}/deliver/1", "job-7")
    assert deliver(order).failure_count == 0


def test_an_agent_that_says_again_that_the_answer_comes_later_does_not_renew_the_time() -> None:
    order = parked(awaits_until=(ends := ahead(300)))
    all_due(order)
    scheduler = a_scheduler(workflows=asked())
    scheduler.run_once()
    a_host(AskableAgent("courier", findings=[replace(LATER, reference="job-8")])).run_once()
    scheduler.run_once()
    step = deliver(order)
    assert (step.state, step.attempt, step.complete_by) == ("awaiting", 2, ends)
    assert step.awaits == {"kind": "answer", "reference": "job-8"}
    assert step.not_before is not None and step.not_before <= ahead(60)


def test_what_an_agent_was_told_of_the_first_answer_still_answers_the_second_time() -> None:
    order = parked()
    all_due(order)
    a_scheduler().run_once()
    answer_callback(token=issue_token(f"{order.pk}/deliver/1"), result={"van": 7})
    a_host(ScriptedAgent("courier", LATER)).run_once()
    drain(a_scheduler())
    assert (deliver(order).state, deliver(order).result) == ("completed", {"van": 7})


def test_what_was_answered_is_not_asked_again_before_the_answer_is_read(new_session: NewSession) -> None:
    """Another scheduler reads the answer, or it came just after this one had looked."""
    order = parked()
    all_due(order)
    answer_callback(token=issue_token(f"{order.pk}/deliver/1"), result={"van": 7})
    reader = new_session()
    reader.begin()
    reader.do(lambda: replies.peek(10))
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (deliver(order).state, requested_steps()) == ("awaiting", set())
    reader.rollback()
    scheduler.run_once()
    assert deliver(order).result == {"van": 7}


@pytest.mark.pattern("V1", "V2")
def test_an_answer_that_does_not_come_in_time_counts_as_a_failure_and_the_call_is_repeated() -> None:
    order = parked(awaits_until=ago(1))
    expire(order)
    a_leader().run_once()
    step = deliver(order)
    assert (step.state, step.outcome, step.failure_count) == ("not_started", "unknown", 1)
    assert ("step_timed_out", "deliver") in history(order)
    all_due(order)
    a_scheduler().run_once()
    request = AgentRequest.objects.get()
    assert (request.key, request.is_repeat) == (f"{order.pk}/deliver/1", True)


@pytest.mark.pattern("V2", "A5")
def test_a_question_that_times_out_is_counted_and_a_callback_still_finds_the_step() -> None:
    order = parked(state="running", attempt=2, complete_by=ahead(30))
    expire(order)
    a_leader().run_once()
    step = deliver(order)
    assert (step.state, step.failure_count, step.complete_by) == ("awaiting", 1, step.awaits_until)
    assert step.not_before is not None
    answer_callback(token=issue_token(f"{order.pk}/deliver/1"), result={"van": 7})
    a_scheduler().run_once()
    assert deliver(order).state == "completed"


@pytest.mark.pattern("V3")
def test_answers_that_never_come_end_at_the_threshold() -> None:
    order = parked(awaits_until=ago(1), failure_count=2)
    expire(order)
    a_leader().run_once()
    assert (deliver(order).state, deliver(order).outcome) == ("failed", "unknown")
    assert alerts_of(order) == [("step_failed", "deliver", "timed_out")]
    resubmit_order(order_id=order.pk, by="ada")
    assert deliver(order).awaits_until is None
    a_scheduler().run_once()
    assert AgentRequest.objects.get().key == f"{order.pk}/deliver/1"


@pytest.mark.pattern("C10")
def test_a_cancelled_order_reverses_what_may_still_happen_with_its_reference() -> None:
    order = parked()
    compensate_order(order_id=order.pk, by="ada")
    a_scheduler().run_once()
    request = AgentRequest.objects.get(step="deliver")
    assert (request.reverses, request.compensates) == (f"{order.pk}/deliver/1", True)
    assert request.body["reference"] == "job-7"
    assert (deliver(order).state, deliver(order).awaits_until) == ("compensating", None)


@pytest.mark.pattern("C10")
def test_a_compensation_that_is_answered_later_goes_on_when_the_answer_comes() -> None:
    order = make_order(
        PACKED | {"deliver": {"state": "completed", "sent_at": ago(60)}, "tell": "completed"},
        goal="compensate",
    )
    scheduler = a_scheduler()
    scheduler.run_once()
    courier = ScriptedAgent("courier", LATER)
    a_host(courier).run_once()
    scheduler.run_once()
    step = deliver(order)
    assert (step.state, step.outcome, stored(order).process_state) == ("awaiting", "done", "pending")
    answer_callback(token=courier.requests[0].callback_token, result={"back": True})
    scheduler.run_once()
    assert deliver(order).state == "compensated"
    assert requested_steps() >= {"box"}


@pytest.mark.pattern("V2", "C10")
def test_a_compensation_whose_answer_does_not_come_is_repeated() -> None:
    order = parked(outcome="done", compensation_sent_at=ago(60), awaits_until=ago(1))
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate")
    expire(order)
    a_leader().run_once()
    step = deliver(order)
    assert (step.state, step.failure_count, step.compensation_failure_count) == ("compensating", 0, 1)
    assert ("compensation_timed_out", "deliver") in history(order)


@pytest.mark.pattern("C9", "F5", "F7")
def test_a_killed_scheduler_parks_nothing_and_another_one_does() -> None:
    order = make_order(PACKED | {"deliver": "running"}, process_state="processing")
    AgentReply.objects.create(
        order_id=order.pk,
        step_id=deliver(order).pk,
        attempt=1,
        outcome="pending",
        body={"within": 900.0, "reference": "job-7", "poll_after": None},
        instance="agents:test",
    )
    with transaction.atomic():
        a_scheduler("scheduler:a").run_once()
        assert deliver(order).state == "awaiting"
        transaction.set_rollback(True)  # as when its connection ends before the commit
    assert (deliver(order).state, no_replies()) == ("running", False)
    a_scheduler("scheduler:b").run_once()
    assert (deliver(order).state, no_replies()) == ("awaiting", True)


def test_a_running_host_and_scheduler_take_a_call_to_its_later_answer() -> None:
    order = make_order(PACKED)
    scheduler = a_scheduler()
    courier = ScriptedAgent("courier", replace(LATER, poll_after=None))
    with running(a_host(courier, **QUICK)):
        scheduler.run_once()
        until(lambda: not no_replies(), what="the agent's answer")
        scheduler.run_once()
        assert deliver(order).state == "awaiting"
        answer_callback(token=courier.requests[0].callback_token, error=("lost", "the van is lost"))
        scheduler.run_once()
    assert (deliver(order).state, deliver(order).outcome) == ("failed", "refused")
    assert alerts_of(order) == [("step_failed", "deliver", "lost")]
