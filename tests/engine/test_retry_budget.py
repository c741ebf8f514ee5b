"""The retry budget, which new work does not need (A2)."""

import pytest

from orders.engine.circuits.store import RETRY_BUDGET
from orders.engine.scheduler.role import Scheduler, SchedulerConfig
from orders.models import (
    AgentRequest,
    RetryBudget,
)
from tests.support.availability import set_capacity, waiting
from tests.support.factories import ahead, make_order
from tests.support.roles import (
    a_scheduler,
    clones,
    staff,
)
from tests.support.workflows import BAKED, CAKES, PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A8")]


@pytest.mark.pattern("A2")
def test_retries_wait_for_the_budget_and_new_work_does_not() -> None:
    again = PACKED | {"decorate": {"attempt": 1, "outcome": "unknown", "failure_count": 1}}
    clones(make_order(again), 49)
    staff()
    RetryBudget.objects.create(name=RETRY_BUDGET, tokens=0.0, refilled_at=ahead(300))
    scheduler = Scheduler(
        config=SchedulerConfig(instance="scheduler:a", retries=10.0, batch=40), workflows=CAKES
    )
    new = [make_order(BAKED) for _ in range(9)]
    for _ in range(4):
        RetryBudget.objects.update(refilled_at=ahead(300))  # nothing is refilled
        scheduler.run_once()
    # Part of each pass is reserved for new orders, however many retries wait.
    assert {order.pk for order in new} == set(AgentRequest.objects.values_list("order_id", flat=True))
    assert waiting() == 50
    RetryBudget.objects.update(tokens=7.0, refilled_at=ahead(300))
    AgentRequest.objects.all().delete()
    scheduler.run_once()
    assert (AgentRequest.objects.count(), waiting()) == (7, 43)


@pytest.mark.pattern("A2")
def test_a_pass_draws_no_more_retries_than_it_has_credit_for() -> None:
    again = PACKED | {"decorate": {"attempt": 1, "outcome": "unknown", "failure_count": 1}}
    clones(make_order(again), 49)
    scheduler = a_scheduler()
    set_capacity("kitchen", 1)
    RetryBudget.objects.create(name=RETRY_BUDGET, tokens=20.0, refilled_at=ahead(300))
    scheduler.run_once()
    assert AgentRequest.objects.count() == 2
    assert RetryBudget.objects.get().tokens == 18.0
