"""What the hosts count together of an agent's calls: by outcome and duration, growing only."""

import pytest

from orders.engine.agent_host.statistics import CallStats
from orders.engine.agent_host.tallies import add_calls
from orders.engine.errors import Declined, Refused, Transient
from orders.models import AgentTally
from orders.models.figures import BUCKETS, LATENCY_BOUNDS
from orders.vocabulary import CallOutcome
from tests.support.agents import ScriptedAgent
from tests.support.hosts import QUICK, Gate, a_request
from tests.support.roles import a_host, end_other_connections, running
from tests.support.two_sessions import all_at_once
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


def counted() -> dict[tuple[str, str], int]:
    return {(tally.agent, tally.outcome): tally.calls for tally in AgentTally.objects.all()}


def test_what_is_added_counts_in_its_bucket() -> None:
    stats = CallStats()
    for seconds in (0.005, 0.0051, 30.0, 31.0):
        stats.record(seconds=seconds, outcome=CallOutcome.OK)
    add_calls({"oven": stats.take_unreported()})
    stats.record(seconds=0.001, outcome=CallOutcome.OK)
    add_calls({"oven": stats.take_unreported()})
    tally = AgentTally.objects.get()
    expected = [0] * BUCKETS
    expected[0], expected[1], expected[len(LATENCY_BOUNDS) - 1], expected[-1] = 2, 1, 1, 1
    assert (tally.buckets, tally.calls) == (expected, 5)
    assert tally.seconds == pytest.approx(61.0111)


def test_nothing_new_is_no_statement_and_changes_nothing() -> None:
    add_calls({"oven": {}})
    assert counted() == {}


def test_hosts_that_add_at_once_in_any_order_lose_nothing_and_do_not_deadlock() -> None:
    agents = ["baker", "kitchen", "oven"]

    def add(n: int) -> None:
        stats = {agent: CallStats() for agent in (agents if n % 2 else agents[::-1])}
        for _ in range(20):
            for each in stats.values():
                each.record(seconds=0.1, outcome=CallOutcome.TIMEOUT if n % 2 else CallOutcome.OK)
                each.record(seconds=0.2, outcome=CallOutcome.OK if n % 2 else CallOutcome.TIMEOUT)
            add_calls({agent: each.take_unreported() for agent, each in stats.items()})

    all_at_once(6, add)
    assert counted() == {(agent, outcome): 120 for agent in agents for outcome in ("ok", "timeout")}


def test_a_host_counts_each_call_once_by_how_it_ended() -> None:
    faults = [
        Transient("down", "-"),
        Transient("timeout", "-"),
        Declined("no_money", "-"),
        Refused("no", "-"),
    ]
    kitchen = ScriptedAgent("kitchen", *faults, {"ok": True})
    for _ in range(4):
        a_request()
    with running(a_host(kitchen, **QUICK)):
        until(lambda: sum(counted().values()) == len(kitchen.requests) >= 5, what="all calls")
    outcomes = {outcome: calls for (_, outcome), calls in counted().items()}
    faults_counted = {word.value: 1 for word in CallOutcome if word is not CallOutcome.OK}
    assert outcomes == faults_counted | {"ok": len(kitchen.requests) - 4}


def test_calls_that_end_while_a_host_stops_are_counted() -> None:
    gate = Gate()
    kitchen = ScriptedAgent("kitchen", {"ok": True}, gate)
    a_request()
    with running(a_host(kitchen, **QUICK | {"grace": 5.0})):
        until(lambda: len(kitchen.requests) == 1, what="the first call")
        until(lambda: counted() == {("kitchen", "ok"): 1}, what="its heartbeat")
        a_request()
        until(lambda: gate.began, what="the second call")
        gate.open()
    assert counted() == {("kitchen", "ok"): 2}


def test_a_lost_connection_loses_no_call() -> None:
    kitchen = ScriptedAgent("kitchen")
    with running(a_host(kitchen, **QUICK)):
        for number in range(1, 5):
            a_request()
            until(lambda: len(kitchen.requests) >= number, what="a call")  # noqa: B023 - asked at once
            end_other_connections()
        until(lambda: counted() == {("kitchen", "ok"): len(kitchen.requests)}, what="a heartbeat")


def test_calls_that_could_not_be_reported_are_kept_with_those_that_follow() -> None:
    stats = CallStats()
    stats.record(seconds=0.5, outcome=CallOutcome.OK)
    taken = stats.take_unreported()
    stats.record(seconds=0.5, outcome=CallOutcome.OK)
    stats.put_back(taken)
    assert [sum(histogram.buckets) for histogram in stats.take_unreported().values()] == [2]
