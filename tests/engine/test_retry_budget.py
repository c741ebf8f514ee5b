"""The retry budget, which new work does not need (A2)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orders.engine.circuits.retry_budget import RETRY_BUDGET
from orders.engine.runtime.sql import run
from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.models import AgentRequest, Event, RetryBudget
from tests.support.availability import set_capacity, waiting
from tests.support.factories import ahead, make_order
from tests.support.invariants import Limits, retries_within_budget
from tests.support.roles import a_scheduler, clones, staff
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


@pytest.mark.pattern("A2", "F30")
def test_a_pass_takes_no_more_waiting_retries_than_there_is_budget_for() -> None:
    """Those that it could only look at made every pass long, for as long as the budget took to let them through."""
    again = PACKED | {"decorate": {"attempt": 1, "outcome": "unknown", "failure_count": 1}}
    clones(make_order(again), 99)
    clones(make_order(PACKED | {"decorate": {"failure_count": 0}}), 4)
    scheduler = a_scheduler()
    RetryBudget.objects.create(name=RETRY_BUDGET, tokens=0.0, refilled_at=ahead(300))
    set_capacity("kitchen", 0)
    scheduler.run_once()
    assert waiting() == 105
    set_capacity("kitchen", 500)
    RetryBudget.objects.update(tokens=3.0, refilled_at=ahead(300))
    assert scheduler.run_once().done["orders"] == 5 + 3
    assert (AgentRequest.objects.count(), waiting()) == (5 + 3, 97)
    RetryBudget.objects.update(tokens=0.0, refilled_at=ahead(300))
    assert scheduler.run_once().done["orders"] == 0


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


@contextmanager
def slow_to_write(seconds: float) -> Iterator[None]:
    """Each pass takes this long to write its steps."""
    run(
        f"""
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$;
        CREATE TRIGGER slow BEFORE UPDATE ON orders_stepstate FOR EACH STATEMENT EXECUTE FUNCTION slow();
        """
    )
    yield
    run("DROP TRIGGER slow ON orders_stepstate; DROP FUNCTION slow()")


@pytest.mark.pattern("A2")
def test_what_refills_during_a_long_pass_is_not_granted_on_top_of_a_full_budget() -> None:
    """The retries of a pass leave when it ends. A process may be stopped between drawing them and sending them."""
    again = PACKED | {"decorate": {"attempt": 1, "outcome": "unknown", "failure_count": 1}}
    clones(make_order(again), 49)
    staff()
    scheduler = Scheduler(
        config=SchedulerConfig(instance="scheduler:a", retries=10.0, batch=40), workflows=CAKES
    )
    with slow_to_write(1.0):
        scheduler.run_once()
    assert AgentRequest.objects.count() == 20
    scheduler.run_once()
    sent = Event.objects.filter(kind="step_started").order_by("at").values_list("at", flat=True)
    retries_within_budget(list(sent), Limits(retries_per_second=10.0))
