"""The list of bulk actions, and the line about one on the page of its cause, say what the orders are worth."""

import pytest

from orders.models import AlertGroup, BulkItem
from orders.services.operators import bulk as bulk_services
from tests.support.desk import OLGA, failed_orders
from tests.support.factories import make_purchase
from tests.web.conftest import Desk

pytestmark = pytest.mark.django_db


def words(html: str) -> str:
    return " ".join(html.split())


def test_sums_are_by_result_and_currency(desk: Desk) -> None:
    ids = failed_orders(3)
    for order_id, currency in zip(ids, ("EUR", "EUR", "USD"), strict=True):
        make_purchase(order_id, currency=currency)
    group = AlertGroup.objects.get()
    action = bulk_services.create(
        kind="resubmit", order_ids=ids, selection="all that failed", actor=OLGA, group=group
    )
    BulkItem.objects.filter(order_id=ids[0]).update(state="failed")
    page = words(desk("viewer").get("/console/bulk/").content.decode())
    assert '3 <br> <span class="quiet small">€78.00 and $39.00</span>' in page
    assert '1 <br> <span class="quiet small">€39.00</span>' in page
    cause = words(desk("viewer").get(f"/console/alerts/{group.pk}/").content.decode())
    assert f"Bulk action {action.pk}:" in cause
    assert "€78.00 and $39.00 in all: 0 done, 1 failed again (€39.00), 0 running, 2 waiting" in cause
