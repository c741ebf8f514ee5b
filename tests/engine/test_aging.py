"""However many orders of higher priority keep coming, none of lower priority is left for ever (A9).

Each test states the bound: of the claims of a list, every `EVERY`th goes by age.
"""

import pytest
from django.db import transaction

from orders.engine.agent_host.records import HostConfig, HostRecords
from orders.engine.runtime.age_turns import EVERY
from orders.models import AgentRequest, OrderProcess, StepState
from tests.support.availability import set_capacity
from tests.support.factories import ago, make_order
from tests.support.requests import make_one
from tests.support.roles import a_scheduler, answer_everything, staff, stored

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A9")]


def is_taken(order: OrderProcess) -> bool:
    return stored(order).process_state == "processing"


def low_order(seconds: float) -> OrderProcess:
    """An order of the lowest priority that was placed so long ago."""
    return make_order(priority=0, created_at=ago(seconds))


def passes_until_taken(order: OrderProcess, *, batch: int = 2, most: int = 5 * EVERY) -> int:
    """How many passes of one scheduler it takes, while each finds as many new orders of priority 9 as it can take."""
    scheduler = a_scheduler(batch=batch)
    for number in range(1, most + 1):
        for _ in range(batch):
            make_order(priority=9)
        scheduler.run_once()
        if is_taken(order):
            return number
    return most + 1


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_an_order_that_is_ready_for_a_minute_is_claimed_within_four_passes(batch: int) -> None:
    assert passes_until_taken(low_order(61), batch=batch) <= EVERY


@pytest.mark.pattern("C2")
def test_until_then_orders_are_claimed_strictly_by_priority() -> None:
    assert passes_until_taken(low_order(0)) > 5 * EVERY


def test_of_two_orders_that_have_waited_the_older_comes_first_whatever_their_priority() -> None:
    older, younger = make_order(priority=0, created_at=ago(90)), make_order(priority=4, created_at=ago(80))
    assert passes_until_taken(older, batch=1) <= EVERY
    assert not is_taken(younger)
    assert passes_until_taken(younger, batch=1) <= EVERY


def waiting_order(priority: int, seconds: float, *, failures: int = 0) -> OrderProcess:
    """An order whose first step has waited so long for the kitchen, perhaps to be tried again."""
    since = ago(seconds)
    mix = {"waiting_since": since, "wanted_since": since, "priority": priority, "failure_count": failures}
    if failures:
        mix |= {"attempt": failures, "answered": failures, "outcome": "unknown", "not_before": ago(1)}
    return make_order({"heat-oven": "completed", "mix": mix}, priority=priority, created_at=since)


def is_sent(order: OrderProcess) -> bool:
    return AgentRequest.objects.filter(order_id=order.order_id).exists()


@pytest.mark.parametrize("failures", [0, 1], ids=["new", "retry"])
def test_a_step_that_waits_for_a_minute_is_sent_within_four_passes_that_have_room(failures: int) -> None:
    """The agent has room for two requests, and twice as many steps of priority 9 begin to wait before each pass."""
    scheduler = a_scheduler()
    set_capacity("kitchen", 1)
    low = waiting_order(0, 61, failures=failures)
    for _ in range(EVERY):
        assert not is_sent(low)
        for _ in range(4):
            waiting_order(9, 1, failures=failures)
        scheduler.run_once()
        if is_sent(low):
            break
        AgentRequest.objects.all().delete()  # room again
    assert is_sent(low)


def test_a_step_that_has_waited_goes_before_the_next_steps_of_other_orders_in_the_same_pass() -> None:
    """Each pass takes the replies to two requests, and those orders want the room that they have left."""
    scheduler = a_scheduler()
    set_capacity("oven", 1)
    since = ago(61)
    bake = {"waiting_since": since, "wanted_since": since, "priority": 0}
    low = make_order(
        {"heat-oven": "completed", "mix": "completed", "bake": bake}, priority=0, created_at=since
    )
    for _ in range(2 * EVERY):
        for _ in range(4):
            make_order(priority=9)
        scheduler.run_once()
        if is_sent(low):
            break
        answer_everything()
    assert is_sent(low)
    assert StepState.objects.filter(agent="oven", waiting_since__isnull=False, priority=9).exists()


def test_a_request_is_claimed_by_a_host_within_four_claims_that_have_room() -> None:
    low = make_one(priority=0)
    host = HostRecords(config=HostConfig(instance="agents:1"), agents=["kitchen"])
    for _ in range(EVERY):
        for _ in range(3):
            make_one(priority=9)
        host.claim({"kitchen": 2}, 0)
    low.refresh_from_db()
    assert low.leased_by == "agents:1"


def test_claims_without_room_are_no_turns() -> None:
    """Otherwise an agent that has room at every second claim could miss each of its turns."""
    low = make_one(priority=0)
    host = HostRecords(config=HostConfig(instance="agents:1"), agents=["kitchen"])
    for _ in range(EVERY):
        make_one(priority=9)
        with transaction.atomic():
            host.claim({"kitchen": 1}, 0)
        host.claim({"kitchen": 0}, 0)
    low.refresh_from_db()
    assert low.leased_by == "agents:1"


def test_a_claim_by_age_takes_no_more_than_there_is_room_for() -> None:
    staff()
    for priority in (0, 1, 2, 3):
        for agent in ("kitchen", "oven"):
            make_one(priority=priority, agent=agent)
    host = HostRecords(config=HostConfig(instance="agents:1"), agents=["kitchen", "oven"])
    for number in range(1, 4):
        new_leases, _ = host.claim({"kitchen": 1, "oven": 0}, 0)
        assert [lease.agent for lease in new_leases] == ["kitchen"], number
