"""Several agent hosts, hosts that die, requests that may kill a host, and connections that are cut (A1, A7)."""

import asyncio

import pytest

from orders.models import AgentInstance, AgentReply, AgentRequest, Event
from tests.support.agents import ScriptedAgent
from tests.support.factories import ago, ahead
from tests.support.hosts import BUSY, QUICK, Gate, a_reply, a_request, hang, keys
from tests.support.roles import a_host, end_other_connections, in_thread, no_replies, running
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


# --- several hosts, and hosts that die


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
    assert turn.result(timeout=60).done == {"claimed": 1, "ended": 1}
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


def test_a_host_that_leases_its_own_lapsed_request_again_keeps_renewing_it() -> None:
    a_request()
    first, second = Gate(), Gate()
    with running(a_host(ScriptedAgent("kitchen", first, second), lease=4.0, **QUICK)):
        until(lambda: first.began, what="the first call")
        AgentRequest.objects.update(leased_by=None, leased_until=None)  # lapsed, and freed by another host
        until(lambda: second.began, what="the second call")
        first.open()
        lease = AgentRequest.objects.get().leased_until
        until(lambda: AgentRequest.objects.get().leased_until != lease, what="the renewal")
        second.open()
        until(AgentReply.objects.exists, what="the reply")
    assert AgentReply.objects.count() == 1


def test_each_failed_try_has_the_time_at_which_it_failed_and_not_that_of_the_attempts_end() -> None:
    request, gate = a_request(), Gate()
    with running(a_host(ScriptedAgent("kitchen", BUSY, BUSY, gate), lease=60.0, **QUICK)):
        until(lambda: gate.began, what="the third try")
        third_try = ago(0)
        gate.open()
        until(AgentReply.objects.exists, what="the reply")
    failures = Event.objects.filter(order_id=request.order_id, kind="call_failed").order_by("id")
    first, second = (event.at for event in failures)
    assert first < second <= third_try


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
def test_a_host_that_stops_posts_answers_that_arrive_within_its_grace_period() -> None:
    a_request()
    gate = Gate()
    host = a_host(ScriptedAgent("kitchen", gate), poll=60.0, grace=5.0)
    with running(host) as ended:
        until(lambda: gate.began, what="the call")
        a_request()
        host.stop()
        gate.open()
        ended.result(timeout=60)
    assert (a_reply().outcome, gate.cancelled) == ("done", 0)
    assert AgentRequest.objects.get().deliveries == 0  # nothing new was claimed


# --- a request that may kill its hosts


def test_a_suspect_runs_beside_other_calls_and_holds_up_none() -> None:
    suspect, gate = a_request(lapses=4), Gate()
    kitchen = ScriptedAgent("kitchen", gate, {"ok": True})
    with running(a_host(kitchen, lease=1.2, **QUICK)):
        until(lambda: gate.began, what="the suspect's call")
        others = {a_request().key for _ in range(3)}
        until(lambda: AgentReply.objects.count() == 3, what="the replies of the others")
        gate.open()
        until(lambda: AgentReply.objects.count() == 4, what="all replies")
    assert keys(kitchen)[0] == suspect.key
    assert set(keys(kitchen)) == {suspect.key, *others}


def test_a_host_runs_one_of_the_worst_suspects_at_a_time() -> None:
    for _ in range(4):
        a_request(lapses=4)
    gates = [Gate() for _ in range(4)]
    kitchen = ScriptedAgent("kitchen", *gates)
    with running(a_host(kitchen, lease=1.2, **QUICK)):
        for number, gate in enumerate(gates, start=1):
            until(lambda gate=gate: gate.began, what=f"suspect {number}")  # type: ignore[misc]
            assert len(kitchen.requests) == number
            gate.open()
        until(lambda: AgentReply.objects.count() == 4, what="all replies")


@pytest.mark.pattern("A1", "A7")
def test_two_orderly_stops_leave_no_suspect_and_hold_up_nothing() -> None:
    for _ in range(30):
        a_request()
    for n in range(2):
        host = a_host(
            ScriptedAgent("kitchen", hang, capacity=30), instance=f"agents:{n}", **(QUICK | {"grace": 0.0})
        )
        with running(host):
            until(
                lambda: AgentRequest.objects.filter(leased_by__isnull=False).count() == 30, what="all calls"
            )
    assert set(AgentRequest.objects.values_list("deliveries", "lapses", "leased_by")) == {(2, 0, None)}
    gate = Gate()
    last = ScriptedAgent("kitchen", *[gate] * 30, capacity=30)
    with running(a_host(last, **QUICK)):
        until(lambda: gate.began == 30, what="all calls at once")
        gate.open()
        until(lambda: AgentReply.objects.count() == 30, what="all replies")


# --- the database


@pytest.mark.pattern("A1", "A4")
def test_a_host_survives_its_connections_being_cut() -> None:
    a_request()
    gate = Gate()
    kitchen = ScriptedAgent("kitchen", gate, {"ok": True})
    with running(a_host(kitchen, lease=2.0, **QUICK)) as ended:
        until(lambda: gate.began, what="the call")
        assert end_other_connections() >= 1
        a_request()
        until(lambda: len(kitchen.requests) == 2, what="a claim on a new connection")
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
        until(
            lambda: AgentInstance.objects.filter(agent="kitchen", calls=2).exists(), what="the host's report"
        )
        assert AgentInstance.objects.filter(agent="oven", calls=0, capacity=10).exists()
        reported = AgentInstance.objects.get(agent="kitchen")
    assert (reported.instance, reported.capacity, reported.failed_calls) == ("agents:7", 4, 1)
    assert reported.mean_seconds is not None
    assert not AgentInstance.objects.exists()


def test_expired_requests_that_nobody_holds_are_deleted() -> None:
    a_request(complete_by=ago(5))
    with running(a_host(ScriptedAgent("kitchen"), lease=1.2, **QUICK)):
        until(lambda: not AgentRequest.objects.exists(), what="the deletion of the request")
    assert no_replies()


def test_a_wake_up_is_enough_for_a_host_that_polls_rarely() -> None:
    kitchen = ScriptedAgent("kitchen")
    host = a_host(kitchen, poll=60.0)
    with running(host):
        until(lambda: AgentInstance.objects.exists(), what="the host's start")
        a_request()

        def woken() -> bool:
            host.wake()
            return AgentReply.objects.exists()

        until(woken, what="the reply")
    assert len(kitchen.requests) == 1


def test_a_host_stops_although_a_call_fails_at_the_very_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The news of the failure and the cancellation come in the same turn of the event loop."""
    host = a_host(ScriptedAgent("kitchen"), **QUICK)
    wait_for_news = host._news.wait

    async def stop_with_news() -> bool:
        waits = asyncio.Event()

        async def noted() -> bool:
            waits.set()
            return await wait_for_news()

        monkeypatch.setattr(host._news, "wait", noted)
        reports = asyncio.create_task(host._report_calls())
        await asyncio.wait_for(waits.wait(), 60)
        host._news.set()
        await asyncio.sleep(0)
        reports.cancel()
        ended, _ = await asyncio.wait([reports], timeout=20)
        await host._close()
        return bool(ended)

    assert asyncio.run(stop_with_news()), "the cancellation was lost"
