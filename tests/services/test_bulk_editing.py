"""An edit of many orders says beforehand what it would do, and does to each what an edit of that order does (O2)."""

from typing import Any

import pytest

from orders.business import BadOrderError
from orders.models import AuditEntry, BulkAction, OrderProcess
from orders.services.operators import bulk as bulk_services
from orders.services.operators.bulk_editing import preview_edit
from tests.services.edited_orders import DECLINED, GOUDA, a_placed_order, requests_of
from tests.services.operated_orders import BEFORE_SHIPMENT, OLGA, UNKNOWN
from tests.support.desk import carry_on, due, items_in, succeed
from tests.support.order_bodies import DELFT
from tests.support.roles import everything, history, stored

pytestmark = pytest.mark.django_db
CHANGES = {"ship_to": GOUDA}


def four_orders() -> list[OrderProcess]:
    """One in Error, one that waits, one whose shipment may have been made, and one that is processed."""
    return [
        a_placed_order({**BEFORE_SHIPMENT, "create-shipment": DECLINED}, process_state="error"),
        a_placed_order({"reserve-stock": "completed"}, process_state="pending"),
        a_placed_order({**BEFORE_SHIPMENT, "create-shipment": UNKNOWN}, process_state="error"),
        a_placed_order(process_state="processed"),
    ]


def an_edit(orders: list[OrderProcess], changes: Any = CHANGES, **fields: Any) -> BulkAction:
    return bulk_services.create(
        kind="edit",
        order_ids=[order.pk for order in orders],
        selection="wrong town",
        actor=OLGA,
        query={"changes": changes},
        rate=1000.0,
        **fields,
    )


@pytest.mark.pattern("O2")
def test_a_preview_says_for_which_orders_it_applies_and_why_not_for_the_others() -> None:
    orders = four_orders()
    before = [everything(order) for order in orders]
    seen = preview_edit([order.pk for order in orders], CHANGES)
    assert [everything(order) for order in orders] == before
    assert (seen.examined, seen.applies, seen.refused) == (4, 2, 2)
    assert dict(seen.reasons) == {
        "It is unknown whether create-shipment was done. Settle it first, or edit the order and have what may have "
        "been done reversed first.": 1,
        "All of the order’s steps are done, so it can no longer be edited.": 1,
    }
    assert dict(seen.steps) == {"create-shipment": 2, "send-confirmation": 2}
    assert [order.order_id for order in seen.first] == [orders[0].pk, orders[1].pk]
    (row,) = seen.first[0].rows
    assert (row.label, DELFT["city"] in row.before, "Gouda" in row.after) == ("Address", True, True)


def test_what_is_done_and_does_not_follow_is_counted() -> None:
    sent = a_placed_order({**BEFORE_SHIPMENT, "create-shipment": "completed"}, process_state="pending")
    seen = preview_edit([sent.pk], CHANGES)
    assert (seen.applies, dict(seen.staying)) == (1, {"create-shipment": 1})
    assert seen.first[0].staying[0].startswith("create-shipment was already done")


def test_a_value_that_no_order_could_have_is_an_error_of_the_preview() -> None:
    with pytest.raises(BadOrderError, match="email"):
        preview_edit([order.pk for order in four_orders()[:2]], {"email": "nobody"})


@pytest.mark.pattern("O2")
def test_each_order_is_edited_in_its_turn_and_its_result_recorded() -> None:
    orders = four_orders()
    failed, waiting, unknown, processed = orders
    action = due(an_edit(orders, waves=(0,), reason="it is Gouda"))
    carry_on(action)
    assert items_in(action, "acted") == [failed.pk]  # it is tried again, and may fail again
    assert items_in(action, "done") == [waiting.pk]
    assert items_in(action, "nothing") == [unknown.pk, processed.pk]
    for order in (failed, waiting):
        assert requests_of(order)["create-shipment"]["ship_to"] == GOUDA
        assert ("edited", "") in history(order)
    assert stored(failed).process_state == "pending"
    result = action.items.get(order_id=unknown.pk).result
    assert result.startswith("It is unknown whether create-shipment was done.")
    entry = AuditEntry.objects.get(act="bulk edit")
    assert (entry.after or {})["changes"] == CHANGES
    edits = AuditEntry.objects.filter(act="edit order")
    assert edits.count() == 4 and edits.filter(allowed=True).count() == 2
    succeed(failed.pk)
    carry_on(action)
    assert items_in(action, "done") == [failed.pk, waiting.pk]
    assert BulkAction.objects.get().state == "finished"


def test_an_edit_that_changes_nothing_is_not_created() -> None:
    with pytest.raises(bulk_services.ImpossibleActionError, match="Say what to change"):
        an_edit(four_orders()[:1], {})
