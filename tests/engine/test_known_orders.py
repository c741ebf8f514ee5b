"""A submission whose order is there already, wherever it is now, is a duplicate (S3)."""

import pytest

from orders.models import ArchivedOrder, Event, Order, OrderProcess, SubmissionMessage
from tests.support.factories import make_order
from tests.support.finished_orders import finished_order, retain
from tests.support.submissions import a_role, post

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("S3")]


def test_a_submission_of_an_archived_order_is_a_duplicate() -> None:
    order_id = finished_order()
    assert retain()["finished orders"] == 1
    post(order_id)
    assert a_role().run_once().done == {"accepted": 0, "rejected": 0, "duplicates": 1}
    assert not any(table.objects.exists() for table in (Order, OrderProcess, SubmissionMessage))
    assert ArchivedOrder.objects.get().order_id == order_id
    assert not Event.objects.exists()  # its history in the archive stays all there is


def test_a_submission_of_an_order_that_only_the_state_store_knows_is_a_duplicate_and_noted() -> None:
    order = make_order()
    post(order.order_id)
    assert a_role().run_once().done == {"accepted": 0, "rejected": 0, "duplicates": 1}
    assert not Order.objects.exists()
    assert [event.kind for event in Event.objects.filter(order_id=order.order_id)] == ["duplicate_ignored"]
