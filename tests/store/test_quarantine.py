"""Reports of several hosts in the database: the host that alone fails is put in quarantine (A8, A9, rule 9)."""

import random

import pytest
from django.db import transaction

from orders.engine.circuits.rules import BreakerRules, Tally
from orders.engine.circuits.store import read_supplies, register_agents, report_calls
from orders.models import AgentInstance, Alert, Circuit
from tests.support.factories import ago

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8", "A9")]

FAILED = Tally(calls=5, failures=5, code="no_answer", message="no route", orders=frozenset("abc"))
FINE = Tally(calls=8)


@pytest.fixture(autouse=True)
def hosts() -> None:
    register_agents({"kitchen": None, "oven": None})
    for name in ("agents:broken", "agents:sound"):
        for agent in ("kitchen", "oven"):
            AgentInstance.objects.create(instance=name, agent=agent, capacity=10)


def report(host: str, tally: Tally) -> None:
    with transaction.atomic():
        report_calls({"kitchen": tally}, rules=BreakerRules(), host=f"agents:{host}", rng=random.Random(7))


def in_quarantine() -> list[tuple[str, str]]:
    rows = AgentInstance.objects.filter(quarantined_at__isnull=False)
    return list(rows.values_list("instance", "agent"))


def circuit() -> Circuit:
    return Circuit.objects.get(agent="kitchen")


def capacity() -> int:
    return read_supplies(["kitchen"])["kitchen"].capacity


def test_the_circuit_stays_closed_for_a_host_that_alone_fails_and_it_is_put_in_quarantine() -> None:
    report("sound", FINE)
    for _ in range(4):
        report("broken", FAILED)
    assert in_quarantine() == [("agents:broken", "kitchen")]
    assert (circuit().state, circuit().window_failures) == ("closed", 0)
    assert AgentInstance.objects.get(quarantined_at__isnull=False).probes == 3
    assert not Alert.objects.exists()
    assert capacity() == 10
    report("broken", Tally(calls=1))
    assert in_quarantine() == []
    assert capacity() == 20


def test_when_the_service_fails_at_the_other_host_too_the_circuit_opens_and_ends_the_quarantine() -> None:
    report("sound", FINE)
    report("broken", FAILED)
    assert in_quarantine()
    report("sound", Tally(calls=9, failures=9, code="no_answer", orders=frozenset("def")))
    assert (circuit().state, in_quarantine()) == ("open", [])


def test_the_capacity_of_hosts_in_quarantine_counts_if_there_are_no_others() -> None:
    """Nothing would be sent, and so nobody would find out that they work again."""
    report("sound", FINE)
    report("broken", FAILED)
    AgentInstance.objects.filter(instance="agents:sound").update(seen_at=ago(60))
    assert capacity() == 10
    report("broken", FAILED._replace(calls=9, failures=9))
    assert (circuit().state, in_quarantine()) == ("open", [])


def test_a_host_without_a_heartbeat_counts_at_the_circuit() -> None:
    report("sound", FINE)
    AgentInstance.objects.filter(instance="agents:broken").update(seen_at=ago(60))
    report("broken", FAILED._replace(calls=9, failures=9))
    assert (circuit().state, in_quarantine()) == ("open", [])
