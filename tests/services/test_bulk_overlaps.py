"""An order is in one bulk action at a time, whoever starts them and whenever (O2)."""

from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.models import BulkAction
from orders.services.operators import bulk as bulk_services
from orders.services.operators.bulk import BusyOrdersError, NothingToDoError
from tests.support.desk import OLGA, OTTO, carry_on, failed_orders, items_in, now_of, stop, succeed
from tests.support.two_sessions import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2")]


def a_bulk(order_ids: list[UUID], **fields: Any) -> BulkAction:
    defaults: dict[str, Any] = {"kind": "resubmit", "selection": "all that failed", "actor": OLGA}
    return bulk_services.create(**(defaults | {"order_ids": order_ids, "rate": 1000.0} | fields))


def test_orders_of_an_action_that_has_not_ended_are_refused_or_left_out() -> None:
    ids = [uuid7() for _ in range(4)]
    first = a_bulk(ids[:2])
    with pytest.raises(BusyOrdersError) as refused:
        a_bulk(ids, actor=OTTO, kind="compensate", typed_count=4)
    assert (refused.value.count, refused.value.total, refused.value.actions) == (2, 4, [first.pk])
    assert str(refused.value) == (
        f"2 of the 4 orders are in bulk action {first.pk}, which has not ended. Wait for that, stop it, or leave"
        " them out."
    )
    second = a_bulk(ids, leave_out_busy=True)
    assert items_in(second, "waiting") == ids[2:]
    with pytest.raises(NothingToDoError):
        a_bulk(ids, leave_out_busy=True)
    assert BulkAction.objects.count() == 2


def test_an_order_is_free_again_once_its_action_has_stopped_or_is_done_with_it() -> None:
    ids = failed_orders(2)
    first = a_bulk(ids, waves=(1, 0))
    carry_on(first)
    with pytest.raises(BusyOrdersError):
        a_bulk(ids[:1])
    succeed(ids[0])
    BulkAction.objects.filter(pk=first.pk).update(state="paused")
    carry_on(first)
    BulkAction.objects.filter(pk=first.pk, state="paused").update(state="running")
    carry_on(first)
    assert items_in(first, "done") == ids[:1]
    stop(a_bulk(ids[:1]))
    with pytest.raises(BusyOrdersError):
        a_bulk(ids[1:])
    stop(now_of(first))
    assert a_bulk(ids[1:]).total == 1


def test_a_resubmission_that_can_still_be_undone_keeps_nobody_from_acting_on_many() -> None:
    ids = failed_orders(2)
    bulk_services.resubmit_one(order_id=ids[0], actor=OLGA)
    assert a_bulk(ids).total == 2


@pytest.mark.django_db(transaction=True)
def test_of_several_actions_over_the_same_order_that_start_at_once_one_starts() -> None:
    shared = uuid7()

    def start(n: int) -> str:
        try:
            a_bulk([uuid7(), shared] if n % 2 else [shared, uuid7()], token=f"form {n}")
        except BusyOrdersError:
            return "refused"
        return "started"

    assert sorted(all_at_once(4, start)) == ["refused", "refused", "refused", "started"]
    assert BulkAction.objects.count() == 1
