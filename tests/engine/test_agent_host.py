"""The agent host, one turn at a time and running, with agents that a test scripts (A1–A7)."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from orders.engine.contracts import Json, Request
from orders.engine.errors import Declined, Refused, Transient, Unresolved
from orders.models import AgentInstance, AgentReply, AgentRequest, Event, OrderProcess
from tests.support.agents import ScriptedAgent
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.roles import a_host, end_other_connections, happened, in_thread, no_replies, running
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

BUSY = Transient("busy", "come back later")
QUICK = {"poll": 0.02, "heartbeat": 0.2, "grace": 0.1}
"""A host that looks often. Its lease is for each test to choose: it is renewed four times as often as it lapses."""


def a_request(step: str = "mix", **fields: Any) -> AgentRequest:
    """A request of an order of its own; `left` is the number of seconds to its complete-by."""
    left = fields.pop("left", 30)
    order = make_order({step: {"state": "running", "complete_by": ahead(left)}}, process_state="processing")
    return make_request(step_of(order, step), **fields)


def a_reply() -> AgentReply:
    return AgentReply.objects.get()


def keys(agent: ScriptedAgent) -> list[str]:
    return [request.key for request in agent.asked]


class Gate:
    """A script's entry that waits until the test opens it, or its call is cancelled."""

    def __init__(self, result: Json | None = None) -> None:
        self.began = 0
        self.cancelled = 0
        self._result = result or {"ok": True}
        self._open = threading.Event()

    def open(self) -> None:
        self._open.set()

    async def __call__(self, request: Request) -> Json:
        self.began += 1
        try:
            while not self._open.is_set():  # noqa: ASYNC110 - opened from another thread
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self._result


async def hang(request: Request) -> Json:
    await asyncio.sleep(60)
    raise AssertionError("nobody stopped this call")


# --- claiming


@pytest.mark.pattern("A1")
def test_a_host_claims_no_more_than_each_agent_has_room_for() -> None:
    for _ in range(5):
        a_request("mix")
        a_request("heat-oven")
    kitchen, oven = ScriptedAgent("kitchen", capacity=2), ScriptedAgent("oven", capacity=3)
    assert a_host(kitchen, oven).run_once().done == {"claimed": 5, "ended": 5}
    assert (len(kitchen.asked), len(oven.asked)) == (2, 3)
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
        looked = AgentInstance.objects.get().seen_at
        until(lambda: AgentInstance.objects.get().seen_at != looked, what="another heartbeat")
        at_once = gate.began
        gate.open()
        until(lambda: AgentReply.objects.count() == 5, what="all replies")
    assert (at_once, gate.began) == (2, 5)


@pytest.mark.pattern("A1")
def test_higher_priority_goes_first_and_the_oldest_of_those() -> None:
    low, high, later = a_request(priority=1), a_request(priority=9), a_request(priority=9)
    asked = []
    for _ in range(3):
        agent = ScriptedAgent("kitchen", capacity=1)
        a_host(agent).run_once()
        asked += keys(agent)
    assert asked == [high.key, later.key, low.key]


@pytest.mark.pattern("A1")
def test_a_host_leaves_alone_the_requests_of_agents_that_it_does_not_run() -> None:
    a_request("deliver")
    kitchen = ScriptedAgent("kitchen")
    assert a_host(kitchen).run_once().done == {"claimed": 0, "ended": 0}
    assert AgentRequest.objects.get().deliveries == 0
    assert (kitchen.asked, kitchen.closed) == ([], True)


@pytest.mark.pattern("A5")
def test_a_request_past_its_complete_by_is_never_begun() -> None:
    a_request(complete_by=ago(0.1))
    kitchen = ScriptedAgent("kitchen")
    assert a_host(kitchen).run_once().done["claimed"] == 0
    assert (kitchen.asked, no_replies()) == ([], True)


@pytest.mark.pattern("A1", "A7")
def test_a_request_in_another_hosts_hands_is_passed_over_and_one_delivered_twice_is_left_for_a_quiet_moment() -> (
    None
):
    a_request(leased_by="agents:other", leased_until=ahead(8), deliveries=1)
    a_request(deliveries=2)
    kitchen = ScriptedAgent("kitchen")
    assert a_host(kitchen).run_once().done["claimed"] == 0
    assert kitchen.asked == []


# --- answers


@pytest.mark.pattern("A4", "A1", "C5")
def test_a_success_is_posted_and_its_request_is_gone() -> None:
    request = a_request()
    kitchen = ScriptedAgent("kitchen", {"dough": 1})
    a_host(kitchen, instance="agents:7").run_once()
    reply = a_reply()
    assert (reply.order_id, reply.step_id, reply.attempt) == (request.order_id, request.step_id, 1)
    assert (reply.undo, reply.outcome, reply.body, reply.calls) == (False, "done", {"dough": 1}, 1)
    assert reply.instance == "agents:7"
    assert not AgentRequest.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.pattern("A3", "C5")
def test_an_agent_is_given_all_that_was_asked() -> None:
    request = a_request(attempt=4, body={"data": {"portions": 3}, "results": {"mix": {"dough": 1}}}, left=20)
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    (given,) = kitchen.asked
    assert (given.order_id, given.step, given.operation) == (request.order_id, "mix", "mix-it")
    assert (given.attempt, given.key, given.compensates, given.reverses) == (4, request.key, False, "")
    assert (given.data, given.results) == ({"portions": 3}, {"mix": {"dough": 1}})
    assert 15 < given.seconds_left <= 20


@pytest.mark.pattern("C10")
def test_an_undo_calls_the_agents_compensate() -> None:
    order = make_order({"mix": "compensating"}, process_state="processing", goal="compensate")
    make_request(step_of(order, "mix"))
    called: list[str] = []

    class Kitchen(ScriptedAgent):
        async def compensate(self, request: Request) -> Json:
            called.append(request.reverses)
            return {"undone": True}

    a_host(Kitchen("kitchen")).run_once()
    assert called == [f"{order.pk}/mix/1"]
    assert (a_reply().undo, a_reply().body) == (True, {"undone": True})


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
    assert len(kitchen.asked) == 1
    assert happened(request.order_id) == [("call_failed", "mix")]


@pytest.mark.pattern("A6")
def test_an_agent_that_breaks_leaves_an_unknown_outcome_and_hurts_nobody_else() -> None:
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
def test_an_answer_that_cannot_be_kept_leaves_an_unknown_outcome_and_hurts_nobody_else(
    unkeepable: dict[str, Any],
) -> None:
    broken, sound = a_request("mix"), a_request("heat-oven")
    kitchen, oven = ScriptedAgent("kitchen", unkeepable), ScriptedAgent("oven", {"degrees": 180})
    with running(a_host(kitchen, oven, **QUICK)) as ended:
        until(lambda: AgentReply.objects.count() == 2 or ended.done(), seconds=3, what="both replies")
    replies = dict(AgentReply.objects.values_list("order_id", "outcome"))
    assert replies == {broken.order_id: "failed", sound.order_id: "done"}


@pytest.mark.pattern("A6")
def test_a_fault_whose_words_cannot_be_kept_is_posted_all_the_same() -> None:
    a_request()
    kitchen = ScriptedAgent("kitchen", Refused("no", "a \x00 in the text"))
    with running(a_host(kitchen, **QUICK)) as ended:
        until(lambda: AgentReply.objects.exists() or ended.done(), seconds=3, what="the reply")
    assert a_reply().outcome == "refused"


# --- retries


@pytest.mark.pattern("A2", "A3")
def test_a_transient_fault_is_tried_again_with_the_same_key_until_it_succeeds() -> None:
    request = a_request()
    kitchen = ScriptedAgent("kitchen", BUSY, BUSY, {"dough": 1})
    a_host(kitchen).run_once()
    assert keys(kitchen) == [request.key] * 3
    assert (a_reply().outcome, a_reply().body, a_reply().calls) == ("done", {"dough": 1}, 3)
    failures = Event.objects.filter(kind="call_failed").order_by("id")
    assert [(one.detail["try"], one.detail["code"], one.attempt) for one in failures] == [
        (1, "busy", 1),
        (2, "busy", 1),
    ]
    assert {(one.order_id, one.step, one.actor_name) for one in failures} == {
        (request.order_id, "mix", "agents:a")
    }


@pytest.mark.pattern("A2")
def test_a_call_without_an_answer_is_cut_off_and_tried_again() -> None:
    a_request()
    kitchen = ScriptedAgent("kitchen", hang, {"dough": 1}, call_timeout=0.1)
    a_host(kitchen).run_once()
    assert (a_reply().outcome, a_reply().calls) == ("done", 2)
    assert Event.objects.get().detail["code"] == "no_answer"


@pytest.mark.pattern("A2")
def test_the_wait_that_a_remote_asks_for_is_kept() -> None:
    at: list[float] = []

    def noting(answer: Any) -> Callable[[Request], Awaitable[Json]]:
        async def script(request: Request) -> Json:
            at.append(time.monotonic())
            if isinstance(answer, Exception):
                raise answer
            return answer

        return script

    a_request()
    soon = Transient("busy", "in a moment", retry_after=0.6)
    kitchen = ScriptedAgent("kitchen", noting(soon), noting({"ok": True}))
    a_host(kitchen).run_once()
    assert at[1] - at[0] >= 0.6
    assert (a_reply().outcome, a_reply().calls) == ("done", 2)


@pytest.mark.pattern("A2", "A5")
def test_a_wait_that_would_pass_the_complete_by_ends_the_call_in_silence() -> None:
    a_request(left=20)
    kitchen = ScriptedAgent("kitchen", Transient("busy", "in an hour", retry_after=3_600))
    in_thread(a_host(kitchen).run_once).result(timeout=10)
    assert len(kitchen.asked) == 1
    assert (no_replies(), AgentRequest.objects.exists()) == (True, False)
    assert Event.objects.get().detail["code"] == "busy"


# --- complete-by


@pytest.mark.pattern("A5")
@pytest.mark.parametrize("script", [hang, BUSY], ids=["no answer", "one fault after the other"])
def test_past_its_complete_by_a_call_is_stopped_and_posts_nothing(script: Any) -> None:
    request = a_request(left=1.2)
    kitchen = ScriptedAgent("kitchen", script)
    assert a_host(kitchen).run_once().done == {"claimed": 1, "ended": 1}
    assert no_replies()
    assert not AgentRequest.objects.exists()
    assert len(kitchen.asked) >= 1
    failures = Event.objects.filter(order_id=request.order_id, kind="call_failed")
    assert {one.detail["code"] for one in failures} == {"no_answer" if script is hang else "busy"}
    # The order itself is for the supervisor to find.
    assert step_of(request.order_id, "mix").state == "running"
    assert OrderProcess.objects.get().process_state == "processing"


@pytest.mark.pattern("A5")
@pytest.mark.parametrize("answer", [{"dough": 1}, Refused("no", "no")], ids=["success", "refusal"])
def test_an_answer_that_comes_after_complete_by_is_not_posted_whatever_the_hosts_clock_says(
    answer: Any,
) -> None:
    request = a_request()

    async def slow(_: Request) -> Json:
        def pass_the_complete_by() -> None:
            AgentRequest.objects.filter(pk=request.pk).update(complete_by=ago(0.1))

        moved = in_thread(pass_the_complete_by)
        await asyncio.to_thread(moved.result)
        if isinstance(answer, Exception):
            raise answer
        return answer

    a_host(ScriptedAgent("kitchen", slow)).run_once()
    assert (no_replies(), AgentRequest.objects.exists()) == (True, False)


# --- several hosts, and hosts that go


@pytest.mark.pattern("A1", "C3")
def test_several_hosts_share_the_requests_and_each_is_begun_once() -> None:
    for _ in range(30):
        a_request()
    agents = [ScriptedAgent("kitchen", capacity=3) for _ in range(3)]
    hosts = [a_host(agent, instance=f"agents:{n}", **QUICK) for n, agent in enumerate(agents)]
    with running(hosts[0]), running(hosts[1]), running(hosts[2]):
        until(lambda: AgentReply.objects.count() == 30, what="all replies")
    begun = [key for agent in agents for key in keys(agent)]
    assert (len(begun), len(set(begun))) == (30, 30)
    assert not AgentRequest.objects.exists()


@pytest.mark.pattern("A1", "A7", "A3")
def test_a_request_whose_host_vanished_is_taken_by_another_when_the_lease_lapses() -> None:
    request = a_request(leased_by="agents:gone", leased_until=ago(0.1), deliveries=1)
    kitchen = ScriptedAgent("kitchen")
    with running(a_host(kitchen, lease=1.2, **QUICK)):
        until(AgentReply.objects.exists, what="the reply")
    assert keys(kitchen) == [request.key]
    assert not AgentRequest.objects.exists()


@pytest.mark.pattern("A7", "A3")
def test_a_request_that_two_hosts_have_run_is_answered_once_by_its_holder() -> None:
    request, gate = a_request(), Gate({"by": "first"})
    first, second = ScriptedAgent("kitchen", gate), ScriptedAgent("kitchen", {"by": "second"})
    turn = in_thread(a_host(first, instance="agents:first").run_once)
    until(lambda: gate.began, what="the first call")
    AgentRequest.objects.update(leased_by=None, leased_until=None)  # its lease has lapsed
    a_host(second, instance="agents:second").run_once()
    gate.open()
    assert turn.result(timeout=10).done == {"claimed": 1, "ended": 1}
    assert keys(first) == keys(second) == [request.key]
    assert (a_reply().instance, a_reply().body) == ("agents:second", {"by": "second"})


@pytest.mark.pattern("A7", "A5")
def test_a_call_whose_lease_was_lost_is_cancelled_and_posts_nothing() -> None:
    a_request()
    gate = Gate()
    kitchen = ScriptedAgent("kitchen", gate)
    with running(a_host(kitchen, lease=1.2, **QUICK)):
        until(lambda: gate.began, what="the call")
        AgentRequest.objects.update(leased_by="agents:other", leased_until=ahead(60), deliveries=2)
        until(lambda: gate.cancelled, what="the cancellation")
    request = AgentRequest.objects.get()
    assert (request.leased_by, request.deliveries) == ("agents:other", 2)
    assert (no_replies(), gate.began) == (True, 1)


def test_the_lease_of_a_long_call_is_renewed() -> None:
    a_request()
    gate = Gate()
    with running(a_host(ScriptedAgent("kitchen", gate), lease=1.2, **QUICK)):
        until(lambda: gate.began, what="the call")
        first = AgentRequest.objects.get().leased_until
        assert first is not None
        until(lambda: AgentRequest.objects.get().leased_until != first, what="the renewal")
        until(lambda: ahead(0) > first, what="the end of the first lease")
        assert AgentRequest.objects.get().deliveries == 1
        gate.open()
        until(AgentReply.objects.exists, what="the reply")
    assert (gate.began, gate.cancelled) == (1, 0)


def test_a_host_that_is_given_its_own_lapsed_request_again_goes_on_renewing_it() -> None:
    a_request()
    first, second = Gate(), Gate()
    with running(a_host(ScriptedAgent("kitchen", first, second), lease=4.0, **QUICK)):
        until(lambda: first.began, what="the first call")
        AgentRequest.objects.update(leased_by=None, leased_until=None)  # lapsed, and freed by another host
        until(lambda: second.began, what="the second call")
        first.open()
        lease = AgentRequest.objects.get().leased_until
        until(lambda: AgentRequest.objects.get().leased_until != lease, seconds=3, what="the renewal")
        second.open()
        until(AgentReply.objects.exists, what="the reply")
    assert AgentReply.objects.count() == 1


@pytest.mark.pattern("A1")
def test_a_host_that_stops_gives_its_requests_back_at_once() -> None:
    request, gate = a_request(), Gate()
    kitchen = ScriptedAgent("kitchen", gate)
    with running(a_host(kitchen, lease=60.0, **QUICK)):
        until(lambda: gate.began, what="the call")
    stopped = AgentRequest.objects.get()
    assert (stopped.leased_by, stopped.leased_until, stopped.deliveries) == (None, None, 1)
    assert (no_replies(), gate.cancelled, kitchen.closed) == (True, 1, True)
    assert not AgentInstance.objects.exists()
    another = ScriptedAgent("kitchen")
    a_host(another).run_once()
    assert keys(another) == [request.key]


@pytest.mark.pattern("A4")
def test_a_host_that_stops_posts_what_ends_within_its_grace() -> None:
    a_request()
    gate = Gate()
    host = a_host(ScriptedAgent("kitchen", gate), poll=60.0, grace=5.0)
    with running(host) as ended:
        until(lambda: gate.began, what="the call")
        a_request()
        host.stop()
        gate.open()
        ended.result(timeout=10)
    assert (a_reply().outcome, gate.cancelled) == ("done", 0)
    assert AgentRequest.objects.get().deliveries == 0  # nothing new was claimed


# --- a request that may kill its hosts


def test_a_request_that_was_delivered_twice_without_an_answer_is_run_with_nothing_beside_it() -> None:
    suspect, gate = a_request(deliveries=2), Gate()
    kitchen = ScriptedAgent("kitchen", gate, {"ok": True})
    with running(a_host(kitchen, lease=1.2, **QUICK)):
        until(lambda: gate.began, what="the suspect's call")
        others = {a_request().key for _ in range(3)}
        looked = AgentInstance.objects.get().seen_at
        until(lambda: AgentInstance.objects.get().seen_at != looked, what="another heartbeat")
        beside = keys(kitchen)
        gate.open()
        until(lambda: AgentReply.objects.count() == 4, what="all replies")
    assert beside == [suspect.key]
    assert set(keys(kitchen)) == {suspect.key, *others}


def test_a_suspect_waits_for_the_calls_under_way_and_stops_new_ones() -> None:
    gate = Gate()
    kitchen = ScriptedAgent("kitchen", gate, {"ok": True})
    first = a_request()
    with running(a_host(kitchen, lease=1.2, **QUICK)):
        until(lambda: gate.began, what="the first call")
        suspect = a_request(deliveries=2)
        renewed = AgentRequest.objects.get(pk=first.pk).leased_until
        until(lambda: AgentRequest.objects.get(pk=first.pk).leased_until != renewed, what="a renewal")
        assert keys(kitchen) == [first.key]
        gate.open()
        until(lambda: AgentReply.objects.count() == 2, what="both replies")
    assert keys(kitchen) == [first.key, suspect.key]


# --- the database


@pytest.mark.pattern("A1", "A4")
def test_a_host_whose_connections_are_cut_goes_on() -> None:
    a_request()
    gate = Gate()
    kitchen = ScriptedAgent("kitchen", gate, {"ok": True})
    with running(a_host(kitchen, lease=2.0, **QUICK)) as ended:
        until(lambda: gate.began, what="the call")
        assert end_other_connections() >= 1
        a_request()
        until(lambda: len(kitchen.asked) == 2, what="a claim on a new connection")
        end_other_connections()
        gate.open()
        until(lambda: AgentReply.objects.count() == 2, what="both replies")
        assert not ended.done()
    assert (gate.began, gate.cancelled) == (1, 0)
    assert not AgentRequest.objects.exists()


def test_a_host_reports_each_agents_health_while_it_runs() -> None:
    a_request()
    kitchen, oven = ScriptedAgent("kitchen", BUSY, {"ok": True}, capacity=4), ScriptedAgent("oven")
    with running(a_host(kitchen, oven, instance="agents:7", **QUICK)):
        until(lambda: AgentInstance.objects.filter(agent="kitchen", calls=2).exists(), what="its report")
        assert AgentInstance.objects.filter(agent="oven", calls=0, capacity=10).exists()
        reported = AgentInstance.objects.get(agent="kitchen")
    assert (reported.instance, reported.capacity, reported.failed_calls) == ("agents:7", 4, 1)
    assert reported.mean_seconds is not None
    assert not AgentInstance.objects.exists()


def test_expired_requests_that_nobody_holds_are_swept_away() -> None:
    a_request(complete_by=ago(5))
    with running(a_host(ScriptedAgent("kitchen"), lease=1.2, **QUICK)):
        until(lambda: not AgentRequest.objects.exists(), what="the request being deleted")
    assert no_replies()


def test_a_wake_up_is_enough_for_a_host_that_polls_rarely() -> None:
    kitchen = ScriptedAgent("kitchen")
    host = a_host(kitchen, poll=60.0)
    with running(host):
        until(lambda: AgentInstance.objects.exists(), what="the host being up")
        a_request()

        def woken() -> bool:
            host.wake()
            return AgentReply.objects.exists()

        until(woken, what="the reply")
    assert len(kitchen.asked) == 1
