"""What a scheduler knows about the agents that steps wait for, and how it claims the orders that wait."""

from collections.abc import Callable
from uuid import UUID

import pytest

from orders.engine import state_store
from orders.models import AgentInstance, Circuit
from tests.support.availability import credit_for
from tests.support.factories import ago, make_order
from tests.support.roles import clones
from tests.support.two_sessions import Session
from tests.support.workflows import CAKES


@pytest.mark.django_db
@pytest.mark.pattern("A8", "A9")
def test_an_open_circuit_whose_probe_is_due_has_credit_for_one_waiting_step() -> None:
    AgentInstance.objects.create(agent="oven", instance="agents:1", capacity=8)
    Circuit.objects.create(agent="oven", state="open", probe_at=ago(5))
    make_order({"bake": {"waiting_since": ago(60)}}, process_state="pending")
    credit = credit_for("kitchen", "oven")
    assert (credit.rooms["oven"], credit.for_waiting(), credit.for_probes()) == (1, {}, ["oven"])


def waiting_orders(number: int) -> None:
    clones(make_order({"mix": {"waiting_since": ago(60), "priority": 5}}), number - 1)


def claim(limit: int) -> set[UUID]:
    rows = state_store.claim_waiting({"kitchen": 100}, CAKES, [], limit=limit, retries=0)
    return {row.order_id for row in rows}


def probe() -> set[UUID]:
    return {row.order_id for row in state_store.claim_probes(["kitchen"], CAKES, [])}


@pytest.mark.pattern("A9", "C3")
@pytest.mark.parametrize(("look", "number"), [(lambda: claim(10), 10), (probe, 1)], ids=["steps", "probes"])
def test_schedulers_that_look_for_waiting_orders_at_once_each_find_others(
    new_session: Callable[[], Session], look: Callable[[], set[UUID]], number: int
) -> None:
    waiting_orders(3 * number)
    sessions = [new_session() for _ in range(3)]
    for session in sessions:
        session.begin()
    claimed = [session.do(look) for session in sessions]
    assert [len(orders) for orders in claimed] == [number] * 3
    assert len(set.union(*claimed)) == 3 * number


@pytest.mark.pattern("A9")
def test_an_order_whose_steps_wait_for_two_agents_is_claimed_once(new_session: Callable[[], Session]) -> None:
    make_order({"mix": {"waiting_since": ago(60)}, "heat-oven": {"waiting_since": ago(60)}})
    session = new_session()
    session.begin()
    rows = session.do(
        lambda: state_store.claim_waiting({"kitchen": 9, "oven": 9}, CAKES, [], limit=9, retries=0)
    )
    assert len(rows) == 1
