"""Operators limit what an agent is sent: at once, and until somebody changes it (A9)."""

from typing import Any

import pytest

from orders.engine.circuits.store import register_agents
from orders.models import AgentInstance, AgentRequest, AuditEntry, Circuit
from orders.services.audit import Actor
from orders.services.operators.agents import limit_agent
from orders.vocabulary import TokenScope
from tests.support.availability import close_circuit, credit_for, set_capacity
from tests.support.factories import ago, make_order
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.roles import a_scheduler, clones
from tests.support.workflows import PACKED
from tests.web.helpers import assert_problem, mistakes

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A9")]

OLGA = Actor(name="olga")


def limit(*, rate: float | None = None, capacity: int | None = None) -> str:
    return limit_agent(agent="kitchen", rate=rate, capacity=capacity, actor=OLGA, reason="their sale").message


def outstanding() -> int:
    return AgentRequest.objects.filter(agent="kitchen").count()


def test_no_more_requests_are_outstanding_than_an_operator_allows_and_more_again_without_the_limit() -> None:
    scheduler = a_scheduler()
    register_agents({"kitchen": None})
    set_capacity("kitchen", 10)
    clones(make_order(PACKED | {"decorate": {}}), 39)
    assert limit(capacity=3) == "The agent kitchen is limited to 3 at once. Calls under way continue."
    for _ in range(3):
        scheduler.run_once()
        assert outstanding() == 3
    assert limit() == "The agent kitchen has only its own limits again. Calls under way continue."
    scheduler.run_once()
    assert outstanding() == 20


def test_a_limit_above_what_the_hosts_can_take_allows_no_more() -> None:
    register_agents({"kitchen": None})
    AgentInstance.objects.create(instance="agents:a", agent="kitchen", capacity=4)
    limit(capacity=1_000)
    assert credit_for("kitchen").rooms["kitchen"] == 8


def test_a_rate_holds_for_all_hosts_together_whatever_they_say_of_it_when_they_start() -> None:
    scheduler = a_scheduler()
    register_agents({"kitchen": 50.0})
    limit(rate=2)
    register_agents({"kitchen": 50.0})
    circuit = Circuit.objects.get(agent="kitchen")
    assert (circuit.rate, circuit.set_rate) == (50.0, 2.0)
    close_circuit("kitchen", tokens=0, tokens_at=ago(0.6))
    clones(make_order(PACKED | {"decorate": {}}), 9)
    scheduler.run_once()
    assert outstanding() == 1
    Circuit.objects.filter(agent="kitchen").update(tokens_at=ago(60))  # at most one second's worth is saved
    scheduler.run_once()
    assert outstanding() == 3


def test_both_limits_are_in_the_audit_log_with_what_they_were_and_a_repetition_says_so() -> None:
    register_agents({"kitchen": None})
    limit(rate=0.5, capacity=8)
    assert (
        limit(rate=0.5, capacity=8)
        == "The agent kitchen is limited to 0.5 calls a second and 8 at once already."
    )
    first, second = AuditEntry.objects.order_by("id")
    assert (first.act, first.target, first.reason) == ("limit agent", "agent kitchen", "their sale")
    assert (first.before["rate"], first.before["capacity"]) == (None, None)
    assert (first.after["rate"], first.after["capacity"]) == (0.5, 8)
    assert second.before == second.after == first.after


def test_a_program_sets_both_limits_and_reads_them() -> None:
    register_agents({"kitchen": 7.0})
    client = api_client(token_of(person("operator"), TokenScope.OPERATE))
    url = "/api/v1/agents/kitchen/limit"
    answer = client.post(url, {"rate": 2.5, "capacity": None, "reason": "their sale"})
    assert (
        answer.json()["message"]
        == "The agent kitchen is limited to 2.5 calls a second. Calls under way continue."
    )
    (agent,) = client.get("/api/v1/agents").json()["results"]
    assert (agent["rate"], agent["set_rate"], agent["set_capacity"]) == (2.5, 2.5, None)
    wrong: dict[str, Any] = {"rate": 0, "capacity": 0, "reason": "r"}
    right: dict[str, Any] = {"rate": None, "capacity": None, "reason": "r"}
    assert sorted(mistakes(client.post(url, wrong))) == ["/capacity", "/rate"]
    assert sorted(mistakes(client.post(url, {"reason": "r"}))) == ["/capacity", "/rate"]
    assert_problem(client.post("/api/v1/agents/cellar/limit", right), "not_found")


def test_the_page_shows_the_limits_and_says_what_is_wrong_with_a_wrong_one() -> None:
    register_agents({"kitchen": None})
    client = signed_in(person("operator"))
    url = "/console/agents/kitchen/limit/"
    page = client.post(
        url, {"rate": "0.5", "capacity": "8", "reason": "their sale"}, follow=True
    ).content.decode()
    assert "The agent kitchen is limited to 0.5 calls a second and 8 at once." in page
    assert "limited to 8" in page
    assert 'value="0.5"' in page
    for values, words in (
        ({"rate": "many"}, "Enter a number of calls a second from 0.01 to 10,000."),
        ({"capacity": "0"}, "Enter a whole number of calls at once from 1 to 10,000."),
    ):
        page = client.post(url, values | {"reason": "r"}, follow=True).content.decode()
        assert words in page
    assert Circuit.objects.get().set_capacity == 8
