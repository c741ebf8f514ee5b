"""The agent host takes requests and posts its agents' answers (A1, A4, A6)."""

import asyncio
from typing import Any

import pytest

from orders.engine.agent_host import role
from orders.engine.contracts import Json, Request
from orders.engine.errors import Declined, Refused, Unresolved
from orders.models import AgentInstance, AgentReply, AgentRequest, Event
from tests.support.agents import ScriptedAgent
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.hosts import QUICK, Gate, a_reply, a_request, keys
from tests.support.roles import a_host, history, no_replies, running
from tests.support.two_sessions import PROMPT
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

RARE = 3_600.0
"""Seconds until a poll or a timeout that is not to help a host in a test."""


# --- claiming


@pytest.mark.pattern("A1")
def test_a_host_claims_no_more_than_each_agent_has_capacity_for() -> None:
    for _ in range(5):
        a_request("mix")
        a_request("heat-oven")
    kitchen, oven = ScriptedAgent("kitchen", capacity=2), ScriptedAgent("oven", capacity=3)
    assert a_host(kitchen, oven).run_once().done == {"claimed": 5, "ended": 5}
    assert (len(kitchen.requests), len(oven.requests)) == (2, 3)
    assert AgentReply.objects.count() == 5
    assert list(AgentRequest.objects.values_list("deliveries", "leased_by").distinct()) == [(0, None)]
    assert AgentRequest.objects.count() == 5


@pytest.mark.pattern("A1")
def test_a_running_host_counts_the_calls_it_has_under_way() -> None:
    gate = Gate()
    kitchen = ScriptedAgent("kitchen", gate, capacity=2)
    for _ in range(5):
        a_request()
    with running(a_host(kitchen, **QUICK)):
        until(lambda: gate.began == 2, what="two calls")
        heartbeat = until(lambda: AgentInstance.objects.first(), what="a heartbeat").seen_at
        until(lambda: AgentInstance.objects.get().seen_at != heartbeat, what="another heartbeat")
        at_once = gate.began
        gate.open()
        until(lambda: AgentReply.objects.count() == 5, what="all replies")
    assert (at_once, gate.began) == (2, 5)


@pytest.mark.pattern("A1", "F23")
def test_a_host_that_nobody_wakes_looks_for_requests_although_its_calls_keep_ending() -> None:
    """A wake-up may be lost. Calls that end one after the other must not put the next look off until the last has."""
    lasting: list[float] = []

    async def take_longer_each_time(request: Request) -> Json:
        lasting.append(0.3 * (len(lasting) + 1))
        await asyncio.sleep(lasting[-1])
        return {"ok": True}

    kitchen = ScriptedAgent("kitchen", take_longer_each_time, capacity=50, call_timeout=30.0)
    for _ in range(20):
        a_request(left=60)
    with running(a_host(kitchen, **QUICK | {"poll": 1.0})):
        until(lambda: len(lasting) == 20, what="the calls that keep ending")
        unheard = a_request(left=60)
        until(
            lambda: AgentRequest.objects.filter(pk=unheard.pk, leased_by__isnull=False).exists(),
            what="a look",
        )
        assert AgentReply.objects.count() < 19


@pytest.mark.pattern("A1")
def test_a_host_whose_batch_is_full_claims_the_rest_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(role, "LARGEST_EXCHANGE", 2)
    gate = Gate()
    for _ in range(5):
        a_request(left=RARE)
    with running(a_host(ScriptedAgent("kitchen", gate, call_timeout=RARE), poll=RARE)):
        until(lambda: gate.began == 5, seconds=PROMPT, what="all calls at once")
        gate.open()


@pytest.mark.pattern("A1")
def test_a_host_whose_agent_was_full_claims_as_soon_as_a_call_ends() -> None:
    for _ in range(5):
        a_request()
    with running(a_host(ScriptedAgent("kitchen", capacity=2), poll=RARE)):
        until(lambda: AgentReply.objects.count() == 5, seconds=PROMPT, what="all replies")


@pytest.mark.pattern("A1")
def test_requests_go_by_priority_and_then_by_age() -> None:
    low, high, later = a_request(priority=1), a_request(priority=9), a_request(priority=9)
    performed = []
    for _ in range(3):
        agent = ScriptedAgent("kitchen", capacity=1)
        a_host(agent).run_once()
        performed += keys(agent)
    assert performed == [high.key, later.key, low.key]


@pytest.mark.pattern("A1")
def test_a_host_leaves_alone_the_requests_of_agents_that_it_does_not_run() -> None:
    a_request("deliver")
    kitchen = ScriptedAgent("kitchen")
    assert a_host(kitchen).run_once().done == {"claimed": 0, "ended": 0}
    assert AgentRequest.objects.get().deliveries == 0
    assert (kitchen.requests, kitchen.closed) == ([], True)


@pytest.mark.pattern("A5")
def test_a_request_past_its_complete_by_is_never_begun() -> None:
    a_request(complete_by=ago(0.1))
    kitchen = ScriptedAgent("kitchen")
    assert a_host(kitchen).run_once().done["claimed"] == 0
    assert (kitchen.requests, no_replies()) == ([], True)


@pytest.mark.pattern("A1", "A7")
def test_a_request_that_another_host_holds_is_passed_over_and_a_suspect_is_not_claimed_with_others() -> None:
    a_request(leased_by="agents:other", leased_until=ahead(8), deliveries=1)
    a_request(lapses=2)
    kitchen = ScriptedAgent("kitchen")
    assert a_host(kitchen).run_once().done["claimed"] == 0
    assert kitchen.requests == []


# --- answers


@pytest.mark.pattern("A4", "A1", "C5")
def test_a_success_is_posted_and_its_request_is_deleted() -> None:
    request = a_request()
    kitchen = ScriptedAgent("kitchen", {"dough": 1})
    a_host(kitchen, instance="agents:7").run_once()
    reply = a_reply()
    assert (reply.order_id, reply.step_id, reply.attempt) == (request.order_id, request.step_id, 1)
    assert (reply.compensates, reply.outcome, reply.body, reply.calls) == (False, "done", {"dough": 1}, 1)
    assert reply.instance == "agents:7"
    assert not AgentRequest.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.pattern("A3", "C5")
def test_an_agent_receives_the_whole_request() -> None:
    request = a_request(attempt=4, body={"data": {"portions": 3}, "results": {"mix": {"dough": 1}}}, left=20)
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    (received,) = kitchen.requests
    assert (received.order_id, received.step, received.operation) == (request.order_id, "mix", "mix-it")
    assert (received.attempt, received.key, received.compensates, received.reverses) == (
        4,
        request.key,
        False,
        "",
    )
    assert (received.data, received.results) == ({"portions": 3}, {"mix": {"dough": 1}})
    assert 15 < received.seconds_left <= 20


@pytest.mark.pattern("C10")
def test_a_compensation_calls_the_agents_compensate() -> None:
    order = make_order({"mix": "compensating"}, process_state="processing", goal="compensate")
    make_request(step_of(order, "mix"))
    called: list[str] = []

    class Kitchen(ScriptedAgent):
        async def compensate(self, request: Request) -> Json:
            called.append(request.reverses)
            return {"compensated": True}

    a_host(Kitchen("kitchen")).run_once()
    assert called == [f"{order.pk}/mix/1"]
    assert (a_reply().compensates, a_reply().body) == (True, {"compensated": True})


@pytest.mark.pattern("A6")
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (Refused("sold_out", "there is none"), "refused"),
        (Declined("no_eggs", "bring eggs"), "declined"),
        (Unresolved("redirected", "who knows"), "failed"),
    ],
)
def test_a_nontransient_fault_is_posted_at_once_after_one_call(fault: Refused, outcome: str) -> None:
    request = a_request()
    kitchen = ScriptedAgent("kitchen", fault)
    a_host(kitchen).run_once()
    reply = a_reply()
    assert (reply.outcome, reply.calls) == (outcome, 1)
    assert reply.body == {"code": fault.code, "message": fault.message}
    assert len(kitchen.requests) == 1
    assert history(request.order_id) == [("call_failed", "mix")]
    assert Event.objects.get(kind="call_failed").detail.get("is_final", False) is isinstance(fault, Refused)


@pytest.mark.pattern("A6")
def test_an_agent_that_breaks_leaves_an_unknown_outcome_and_affects_no_other_request() -> None:
    broken, sound = a_request("mix"), a_request("heat-oven")
    a_host(
        ScriptedAgent("kitchen", ZeroDivisionError("oh")), ScriptedAgent("oven", {"degrees": 180})
    ).run_once()
    replies = {reply.order_id: (reply.outcome, reply.body) for reply in AgentReply.objects.all()}
    assert replies == {
        broken.order_id: ("failed", {"code": "agent_failed", "message": "ZeroDivisionError: oh"}),
        sound.order_id: ("done", {"degrees": 180}),
    }


@pytest.mark.pattern("A6")
@pytest.mark.parametrize(
    "unkeepable",
    [{"text": "a \x00"}, {"number": float("nan")}, {"half": "\ud800"}, {"thing": object()}],
    ids=["NUL", "NaN", "surrogate", "no JSON"],
)
def test_an_answer_that_cannot_be_stored_leaves_an_unknown_outcome_and_affects_no_other_request(
    unkeepable: dict[str, Any],
) -> None:
    broken, sound = a_request("mix"), a_request("heat-oven")
    kitchen, oven = ScriptedAgent("kitchen", unkeepable), ScriptedAgent("oven", {"degrees": 180})
    with running(a_host(kitchen, oven, **QUICK)) as ended:
        until(lambda: AgentReply.objects.count() == 2 or ended.done(), what="both replies")
    replies = dict(AgentReply.objects.values_list("order_id", "outcome"))
    assert replies == {broken.order_id: "failed", sound.order_id: "done"}


@pytest.mark.pattern("A6")
def test_a_fault_whose_message_cannot_be_stored_is_still_posted() -> None:
    a_request()
    kitchen = ScriptedAgent("kitchen", Refused("no", "a \x00 in the text"))
    with running(a_host(kitchen, **QUICK)) as ended:
        until(lambda: AgentReply.objects.exists() or ended.done(), what="the reply")
    assert a_reply().outcome == "refused"
