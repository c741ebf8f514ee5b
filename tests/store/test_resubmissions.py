"""What has become of orders that were resubmitted, on rows in any state."""

import pytest

from orders.engine.runtime.sql import database_now
from orders.models import StepState
from orders.selectors.desk.resubmissions import resubmissions_of, waits_of_actions
from orders.services.operators import bulk as bulk_services
from tests.support.desk import OLGA, carry_on, failed_orders, group_of
from tests.support.factories import ago

pytestmark = pytest.mark.django_db


def test_an_order_that_waits_for_two_agents_is_counted_once_for_the_one_it_waits_for_longer() -> None:
    (order_id,) = failed_orders(1)
    action = bulk_services.resubmit_one(order_id=order_id, actor=OLGA)
    carry_on(action)
    steps = StepState.objects.filter(process_id=order_id)
    first, second = steps.order_by("position")[:2]
    steps.filter(pk=first.pk).update(state="not_started", agent="kitchen", waiting_since=ago(5))
    steps.filter(pk=second.pk).update(state="not_started", agent="oven", waiting_since=ago(60))
    (of_cause,) = resubmissions_of(group_of().pk, now=database_now())
    assert of_cause.waiting == {"oven": 1} and of_cause.orders == 1
    assert waits_of_actions([action.pk]) == {action.pk: {"oven": 1}}
