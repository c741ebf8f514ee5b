"""What a scheduler knows about the agents that steps wait for."""

import pytest

from orders.engine.circuits.credit import grant_credit
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import Viewpoint
from orders.engine.runtime.sql import database_now
from orders.models import AgentInstance, Circuit
from tests.support.factories import ago, make_order

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("A8", "A9")
def test_an_open_circuit_whose_probe_is_due_has_credit_for_one_waiting_step() -> None:
    AgentInstance.objects.create(agent="oven", instance="agents:1", capacity=8)
    Circuit.objects.create(agent="oven", state="open", probe_at=ago(5))
    make_order({"bake": {"waiting_since": ago(60)}}, process_state="pending")
    credit = grant_credit(
        ["kitchen", "oven"], viewpoint=Viewpoint("scheduler:1"), rules=BreakerRules(), now=database_now()
    )
    assert (credit.rooms["oven"], credit.for_waiting(), credit.for_probes()) == (1, {}, ["oven"])
