"""The circuits in the database: one outage alert, room for all schedulers together, and operators' holds (A8, A9)."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from orders.engine.circuits.credit import charge_credit
from orders.engine.circuits.overrides import force, pause, resume, unforce
from orders.engine.circuits.rules import HEARTBEAT_LIMIT, BreakerRules, Tally
from orders.engine.circuits.store import (
    alert_host_changes,
    find_host_changes,
    register_agents,
    report_calls,
    unavailable_agents,
)
from orders.engine.runtime.sql import database_now
from orders.models import AgentInstance, Alert, Circuit
from tests.support.availability import credit_for
from tests.support.factories import ago, ahead, make_order, make_request, step_of
from tests.support.two_sessions import Session, all_at_once

NewSession = Callable[[], Session]

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]
both_sessions = pytest.mark.django_db(transaction=True)

RULES = BreakerRules()
BROKEN = Tally(calls=5, failures=5, code="http_503", message="it is down", orders=frozenset("abc"))
FINE = Tally(calls=1)
PROBE_DONE = Tally(calls=1, probe="done")


def a_circuit(agent: str = "kitchen", rate: float | None = None, **fields: Any) -> None:
    register_agents({agent: rate})
    Circuit.objects.filter(agent=agent).update(**fields)


def open_circuit(agent: str = "kitchen", **fields: Any) -> None:
    """A circuit that is open and whose probe is due."""
    due = {"state": "open", "openings": 1, "since": ago(9), "opened_at": ago(9), "probe_at": ago(1)}
    a_circuit(agent, **(due | fields))


def a_host(agent: str = "kitchen", capacity: int = 10, silent_for: float = 0.0, instance: str = "a") -> None:
    AgentInstance.objects.create(
        instance=f"agents:{instance}", agent=agent, capacity=capacity, seen_at=ago(silent_for)
    )


def outstanding(number: int, agent: str = "kitchen") -> None:
    """Posts this many requests that nobody has answered yet."""
    for _ in range(number):
        make_request(step_of(make_order({"mix": "running"}, process_state="processing"), "mix"), agent=agent)


def stored(agent: str = "kitchen") -> Circuit:
    return Circuit.objects.get(agent=agent)


def report(tally: Tally, agent: str = "kitchen") -> bool:
    with transaction.atomic():
        return report_calls({agent: tally}, rules=RULES)


def room(agent: str = "kitchen") -> int:
    """What one scheduler may dispatch, in a transaction that ends at once."""
    with transaction.atomic():
        return credit_for(agent, rules=RULES).rooms[agent]


def dispatch(number: int, agent: str = "kitchen") -> int:
    """A scheduler's pass with this many steps to dispatch; returns how many it could dispatch."""
    with transaction.atomic():
        now = database_now()
        credit = credit_for(agent, rules=RULES)
        dispatched = sum(credit.take(agent, False) for _ in range(number))
        charge_credit(credit, rules=RULES, now=now)
        return dispatched


# --- what hosts report


@both_sessions
@pytest.mark.pattern("O1")
def test_an_outage_reported_by_many_hosts_at_once_has_one_alert_and_its_end_closes_it() -> None:
    a_circuit()
    reports = all_at_once(8, lambda n: report(BROKEN))
    assert sum(reports) == 1
    alert = Alert.objects.get()
    assert (alert.kind, alert.agent, alert.order_id, alert.code) == ("outage", "kitchen", None, "http_503")
    assert alert.message == "kitchen does not answer, and its steps wait: it is down"
    assert (stored().state, stored().openings, stored().cause_message) == ("open", 1, "it is down")
    Circuit.objects.update(state="half_open", probe_at=ahead(45))
    assert sum(all_at_once(4, lambda n: report(PROBE_DONE))) == 1
    assert stored().state == "closed"
    alert.refresh_from_db()
    assert (alert.closed_at is not None, alert.closed_by) == (True, "the circuit breaker")
    assert alert.resolution == "the remote service answers again"


def test_a_probe_that_fails_is_the_same_outage_and_a_new_outage_is_a_new_alert_of_the_same_group() -> None:
    a_circuit()
    assert report(BROKEN)
    Circuit.objects.update(state="half_open")
    assert report(Tally(1, 1, code="no_answer", message="silence", probe="failed"))
    assert (stored().state, stored().openings, stored().cause_code) == ("open", 2, "no_answer")
    assert Alert.objects.count() == 1
    Circuit.objects.update(state="half_open")
    assert report(PROBE_DONE)
    assert report(BROKEN)
    assert Alert.objects.count() == 2
    assert Alert.objects.values("group").distinct().count() == 1
    assert Alert.objects.filter(closed_at=None).count() == 1


def test_the_wait_before_a_probe_is_between_half_of_its_ceiling_and_all_of_it() -> None:
    a_circuit()
    with transaction.atomic():
        report_calls({"kitchen": BROKEN}, rules=RULES, rng=random.Random(7))
    row = stored()
    assert row.probe_at is not None
    assert 0.5 <= (row.probe_at - row.since).total_seconds() <= 1.0


def test_a_report_about_an_agent_that_was_never_declared_changes_nothing() -> None:
    assert report(BROKEN, "ghost") is False
    assert not Circuit.objects.exists()


# --- what may be dispatched


@pytest.mark.pattern("A9")
def test_an_agent_that_nobody_runs_has_no_credit_and_a_stale_heartbeat_does_not_count() -> None:
    a_circuit()
    assert room() == 0
    a_host(silent_for=HEARTBEAT_LIMIT + 1)
    assert room() == 0
    a_host(instance="b", capacity=3)
    assert room() == 6


@pytest.mark.pattern("A9")
def test_credit_is_twice_the_capacity_of_all_hosts_less_the_outstanding_requests() -> None:
    for n in range(3):
        a_host(instance=str(n), capacity=4)
    a_host("oven", capacity=50, instance="oven")
    assert room() == 24  # also without a row in the table of circuits
    outstanding(5)
    outstanding(7, agent="oven")
    assert (room(), room("oven")) == (19, 93)
    outstanding(30)
    assert room() == 0


def test_an_open_circuit_has_credit_for_one_probe_when_it_is_due() -> None:
    a_host()
    open_circuit(probe_at=ahead(5))
    assert (room(), dispatch(9)) == (0, 0)
    Circuit.objects.update(probe_at=ago(0))
    assert dispatch(9) == 1
    row = stored()
    assert (row.state, row.openings) == ("half_open", 1)
    assert row.probe_at is not None and row.probe_at > ahead(RULES.probe_patience - 5)
    assert (room(), dispatch(9)) == (0, 0)
    Circuit.objects.update(probe_at=ago(0))  # the probe was lost
    assert dispatch(9) == 1


def test_a_pass_that_sends_nothing_leaves_the_probe_to_others() -> None:
    a_host()
    open_circuit()
    before = Circuit.objects.values().get()
    assert dispatch(0) == 0
    assert Circuit.objects.values().get() == before
    assert dispatch(1) == 1


@both_sessions
def test_one_scheduler_at_a_time_uses_a_circuit_and_the_other_does_not_wait(
    new_session: NewSession,
) -> None:
    a_host()
    open_circuit()
    first, second = new_session(), new_session()
    first.begin()
    assert first.do(lambda: dispatch(5)) == 1
    assert second.do(room) == 0
    assert second.do(lambda: dispatch(5)) == 0
    first.commit()
    assert second.do(room) == 0  # the probe is out
    assert stored().state == "half_open"


@both_sessions
def test_many_schedulers_send_one_probe() -> None:
    a_host()
    open_circuit()
    assert sum(all_at_once(8, lambda n: dispatch(5))) == 1


@both_sessions
@pytest.mark.pattern("A9")
def test_schedulers_share_the_tokens_of_a_rate() -> None:
    a_host(capacity=1000)
    a_circuit(rate=10.0)
    began = database_now()
    sent = sum(all_at_once(6, lambda n: sum(dispatch(9) for _ in range(5))))
    passed = (database_now() - began).total_seconds()
    assert 10 <= sent <= 10 + 10 * passed


@pytest.mark.pattern("A9")
def test_credit_grows_on_a_ramp_after_an_outage() -> None:
    a_host(capacity=500)
    a_circuit(closed_at=ago(0))
    assert 1 <= room() < 1000
    Circuit.objects.update(closed_at=ago(15))
    assert 490 <= room() <= 1000
    Circuit.objects.update(closed_at=ago(31))
    assert room() == 1000


@pytest.mark.pattern("V2")
def test_unavailable_agents_are_listed_with_the_cause() -> None:
    for agent in ("kitchen", "oven", "post"):
        a_host(agent, instance=agent)
    open_circuit(cause_code="http_503")
    a_circuit("post", paused=True)
    causes = unavailable_agents(["kitchen", "oven", "post", "courier"], database_now())
    assert causes == {"kitchen": "http_503", "post": "paused", "courier": "no_host"}


# --- agents that nobody runs


@pytest.mark.pattern("A9", "O1")
def test_an_agent_that_nobody_runs_has_one_alert_while_steps_wait_for_it() -> None:
    make_order({"mix": {"waiting_since": ago(5)}})
    agents = ["kitchen", "oven"]
    for _ in range(2):
        alert_host_changes(find_host_changes(agents))
    alert = Alert.objects.get()
    assert (alert.kind, alert.agent, alert.code) == ("outage", "kitchen", "no_host")
    assert alert.message == "no process runs the agent kitchen, and its steps wait"
    a_host()
    alert_host_changes(find_host_changes(agents))
    alert.refresh_from_db()
    assert (alert.closed_by, alert.resolution) == ("the supervisor", "the agent runs again")
    assert find_host_changes(agents) == ([], [])


@pytest.mark.pattern("O1")
def test_a_running_host_does_not_close_the_alert_of_an_outage_that_goes_on() -> None:
    a_host()
    a_circuit()
    report(BROKEN)
    assert find_host_changes(["kitchen"]).rehosted == []


# --- operators


def test_an_operator_pauses_an_agent_and_resumes_it_on_a_ramp() -> None:
    a_host(capacity=500)
    a_circuit()
    assert pause("kitchen", by="ada", reason="they migrate")
    assert (stored().paused, stored().held_by, stored().held_reason) == (True, "ada", "they migrate")
    assert room() == 0
    assert pause("kitchen", by="eve", reason="") is False
    assert stored().held_by == "ada"
    assert resume("kitchen", by="ada")
    assert 1 <= room() < 1000
    assert resume("kitchen", by="ada") is False
    assert pause("ghost", by="ada", reason="") is False


def test_an_operator_forces_a_circuit_for_a_time_and_releases_it() -> None:
    a_host(capacity=500)
    open_circuit()
    assert force("kitchen", "closed", seconds=60, by="ada", reason="I know better")
    assert (room(), stored().state, stored().forced, stored().held_by) == (1000, "open", "closed", "ada")
    assert unforce("kitchen", by="ada")
    assert (room(), stored().forced) == (1, "")
    assert unforce("kitchen", by="ada") is False
    a_circuit("kitchen", state="closed", probe_at=None)
    assert force("kitchen", "open", seconds=60, by="ada", reason="")
    assert (room(), unavailable_agents(["kitchen"], database_now())) == (0, {"kitchen": "paused"})
    Circuit.objects.update(forced_until=ago(0))
    assert 1 <= room() < 1000  # the forced state has expired, and a ramp begins
    assert unforce("kitchen", by="ada")
    assert 1 <= room() < 1000
    assert force("ghost", "open", seconds=60, by="ada", reason="") is False


def test_a_host_that_starts_sets_the_rate_and_leaves_the_rest_as_it_is() -> None:
    open_circuit(cause_code="http_503", paused=True, held_by="ada", openings=3)
    before = Circuit.objects.values().get()
    register_agents({"kitchen": 5.0, "oven": None})
    assert Circuit.objects.values().get(agent="kitchen") == before | {"rate": 5.0}
    assert (stored("oven").state, stored("oven").rate, stored("oven").paused) == ("closed", None, False)


def test_simultaneous_changes_by_a_host_and_an_operator_are_both_kept() -> None:
    a_circuit()
    pause("kitchen", by="ada", reason="")
    report(BROKEN)
    assert (stored().state, stored().paused, stored().held_by) == ("open", True, "ada")
