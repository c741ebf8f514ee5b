"""Erasing a customer also erases what an edit of her order has replaced, wherever it was mentioned."""

from typing import Any

import pytest
from django.db import connection

from orders.models import AlertGroup, AuditEntry, Event, GroupNote, Order, OrderProcess
from orders.services.audit import Actor
from orders.services.operators.erasure import continue_erasures, erase
from tests.services.edited_orders import DATA, a_placed_order, edited
from tests.support.finished_orders import archive
from tests.support.order_bodies import DELFT, EMAIL

pytestmark = pytest.mark.django_db
FORMER = {**DELFT, "name": "Zelda Quist", "street": "Zilverschoonlaan 12"}
TRACES = ("quist", "zilverschoon")


def everything_that_names_her() -> list[str]:
    """What the tables say of orders, events, acts and notes, in lower case."""
    texts: list[str] = []
    with connection.cursor() as cursor:
        for table in ("order", "stepstate", "event", "auditentry", "groupnote", "archivedorder"):
            cursor.execute(f"SELECT lower(t::text) FROM orders_{table} AS t")
            texts += [text for (text,) in cursor.fetchall() if any(trace in text for trace in TRACES)]
    return texts


@pytest.mark.parametrize("is_archived", [False, True], ids=("finished", "archived"))
def test_a_former_address_is_erased_with_its_customer(is_archived: bool) -> None:
    data: dict[str, Any] = {**DATA, "ship_to": FORMER}
    order = a_placed_order(data=data)
    edited(order, seen=data, ship_to=DELFT)
    assert Event.objects.filter(order_id=order.pk, detail__before__ship_to=FORMER).exists()
    assert AuditEntry.objects.filter(before__ship_to=FORMER).exists()
    group = AlertGroup.objects.create(kind="step_failed", agent="carrier", code="no", pattern="no")
    GroupNote.objects.create(group=group, by="olga", text="It went to Zilverschoonlaan 12, to Zelda Quist.")
    end = Order.objects.get(pk=order.pk).placed_at
    OrderProcess.objects.filter(pk=order.pk).update(process_state="processed", finished_at=end)
    if is_archived:
        archive(order.pk)
    assert everything_that_names_her()
    erase(email=EMAIL, actor=Actor(name="admin"))
    continue_erasures()
    assert everything_that_names_her() == []
