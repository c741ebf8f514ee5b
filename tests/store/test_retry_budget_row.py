"""The budget of retries in the database: how it fills, and that nobody overdraws it (I8)."""

import pytest
from django.db import transaction

from orders.engine.circuits.retry_budget import RETRY_BUDGET, charge_retries, draw_retries, reserve_retries
from orders.models import RetryBudget
from tests.support.factories import ago, ahead
from tests.support.two_sessions import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("A2")]


def test_retries_are_granted_up_to_two_seconds_worth_and_then_at_the_rate() -> None:
    assert draw_retries(0, rate=100.0) == 0
    assert not RetryBudget.objects.exists()
    assert draw_retries(150, rate=100.0) == 150
    RetryBudget.objects.update(tokens=0.0, refilled_at=ago(0.5))
    assert 50 <= draw_retries(1000, rate=100.0) <= 200
    RetryBudget.objects.update(tokens=0.0, refilled_at=ago(3600))
    assert draw_retries(1000, rate=100.0) == 200
    RetryBudget.objects.update(tokens=5.0, refilled_at=ahead(300))  # the clock was put back
    assert draw_retries(1000, rate=100.0) == 5


@pytest.mark.django_db(transaction=True)
def test_many_hosts_are_never_granted_more_retries_than_the_budget() -> None:
    rate = 0.01  # so low that the budget hardly refills during the test
    RetryBudget.objects.create(name=RETRY_BUDGET, tokens=40.0)

    def draw(n: int) -> int:
        with transaction.atomic():
            return sum(draw_retries(9, rate=rate) for _ in range(2))

    draw_retries(1, rate=rate)
    RetryBudget.objects.update(tokens=40.0)
    assert sum(all_at_once(8, draw)) <= 40


def test_only_retries_that_were_used_are_charged_and_when_they_leave() -> None:
    assert reserve_retries(150, rate=100.0) == 150
    charge_retries(0, rate=100.0)
    assert draw_retries(1000, rate=100.0) == 200
    RetryBudget.objects.update(tokens=150.0, refilled_at=ago(0.2))
    assert reserve_retries(1000, rate=100.0) in range(170, 200)
    RetryBudget.objects.update(refilled_at=ago(2))  # the transaction goes on until the budget would be full
    charge_retries(170, rate=100.0)
    assert RetryBudget.objects.get().tokens == 30.0
