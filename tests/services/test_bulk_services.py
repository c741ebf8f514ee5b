"""Which bulk actions are accepted and which are refused: nothing happens that nobody meant (O2)."""

from collections.abc import Callable
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from orders.models import AuditEntry, BulkAction
from orders.services.operators import bulk as bulk_services
from orders.services.operators import bulk_control
from orders.services.operators.bulk import (
    CountMismatchError,
    ImpossibleActionError,
    NothingToDoError,
    NotInErrorError,
)
from orders.services.operators.bulk_control import NoSuchActionError, TooLateError
from orders.services.operators.bulk_runner import run_once
from orders.services.order_lock import NoSuchOrderError
from tests.support.desk import (
    OLGA,
    OTTO,
    carry_on,
    due,
    failed_orders,
    items_in,
    now_of,
    stop,
    times_resubmitted,
)
from tests.support.factories import make_order
from tests.support.roles import stored
from tests.support.two_sessions import all_at_once

pytestmark = pytest.mark.django_db


def a_bulk(order_ids: list[Any], **fields: Any) -> BulkAction:
    defaults: dict[str, Any] = {"kind": "resubmit", "selection": "all that failed", "actor": OLGA}
    return bulk_services.create(**(defaults | {"order_ids": order_ids} | fields))


@pytest.mark.pattern("O2")
def test_a_resubmission_waits_ten_seconds_and_then_happens_once() -> None:
    (order_id,) = failed_orders(1)
    action = bulk_services.resubmit_one(order_id=order_id, actor=OLGA, reason="fixed")
    assert (action.starts_at - action.created_at).total_seconds() == pytest.approx(10, abs=2)
    assert run_once().done["acted"] == 0
    assert (stored(order_id).process_state, times_resubmitted(order_id)) == ("error", 0)
    carry_on(action)
    carry_on(action)
    assert (stored(order_id).process_state, times_resubmitted(order_id)) == ("pending", 1)


@pytest.mark.pattern("O2", "F33")
def test_a_second_click_or_a_second_operator_gets_the_same_resubmission() -> None:
    (order_id,) = failed_orders(1)
    first = bulk_services.resubmit_one(order_id=order_id, actor=OLGA)
    assert bulk_services.resubmit_one(order_id=order_id, actor=OLGA) == first
    assert bulk_services.resubmit_one(order_id=order_id, actor=OTTO) == first
    assert AuditEntry.objects.filter(act="resubmit").count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O2", "F33")
def test_many_operators_at_once_make_one_resubmission() -> None:
    (order_id,) = failed_orders(1)
    action_ids = all_at_once(6, lambda _: bulk_services.resubmit_one(order_id=order_id, actor=OLGA).pk)
    assert len(set(action_ids)) == 1
    assert BulkAction.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("F33")
def test_a_form_that_is_sent_many_times_at_once_makes_one_action() -> None:
    ids = failed_orders(3)
    action_ids = all_at_once(6, lambda _: a_bulk(ids, token="of this form").pk)
    assert len(set(action_ids)) == 1
    stop(*BulkAction.objects.all())
    assert a_bulk(ids, token="of another").pk not in action_ids


@pytest.mark.pattern("O2")
def test_an_order_that_has_not_failed_cannot_be_resubmitted() -> None:
    order = make_order({})
    with pytest.raises(NotInErrorError, match="The order is pending"):
        bulk_services.resubmit_one(order_id=order.order_id, actor=OLGA)
    with pytest.raises(NoSuchOrderError):
        bulk_services.resubmit_one(order_id=uuid7(), actor=OLGA)
    assert not BulkAction.objects.exists()


@pytest.mark.pattern("O2")
def test_an_action_that_is_undone_in_time_leaves_no_trace_in_the_order() -> None:
    (order_id,) = failed_orders(1)
    action = bulk_services.resubmit_one(order_id=order_id, actor=OLGA)
    undone = bulk_control.undo(action_id=action.pk, actor=OTTO)
    assert (undone.state, undone.ended_at is not None) == ("undone", True)
    assert bulk_control.undo(action_id=action.pk, actor=OLGA).state == "undone"
    carry_on(action)
    assert (stored(order_id).process_state, times_resubmitted(order_id)) == ("error", 0)
    again = bulk_services.resubmit_one(order_id=order_id, actor=OLGA)
    assert again != action


@pytest.mark.pattern("O2")
def test_an_action_that_has_begun_can_be_stopped_but_not_undone() -> None:
    ids = failed_orders(3)
    action = a_bulk(ids)
    carry_on(action)
    with pytest.raises(TooLateError, match="You can stop it"):
        bulk_control.undo(action_id=action.pk, actor=OLGA)
    stopped = bulk_control.stop(action_id=action.pk, actor=OLGA, reason="enough")
    assert stopped.state == "stopped"
    assert (items_in(action, "acted"), items_in(action, "nothing")) == (ids[:1], ids[1:])
    for late in (bulk_control.pause, bulk_control.resume, bulk_control.undo):
        with pytest.raises(TooLateError):
            late(action_id=action.pk, actor=OLGA)


@pytest.mark.parametrize(
    "act", [bulk_control.undo, bulk_control.pause, bulk_control.resume, bulk_control.stop]
)
def test_the_error_about_an_unknown_action_names_it(act: Callable[..., BulkAction]) -> None:
    with pytest.raises(NoSuchActionError, match="unknown bulk action 4711"):
        act(action_id=4711, actor=OLGA)


@pytest.mark.pattern("O2")
def test_over_fifty_orders_and_every_refund_need_the_count_typed() -> None:
    ids = [uuid7() for _ in range(51)]
    for typed in (None, 50, 52):
        with pytest.raises(CountMismatchError) as refused:
            a_bulk(ids, typed_count=typed)
        assert refused.value.count == 51
    with pytest.raises(CountMismatchError):
        a_bulk(ids[:1], kind="compensate")
    assert not BulkAction.objects.exists()
    assert a_bulk([uuid7() for _ in range(51)], typed_count=51).total == 51
    assert a_bulk(ids[1:]).total == 50
    assert a_bulk(ids[:1], kind="compensate", typed_count=1).total == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"waves": ()},
        {"waves": (0, 10)},
        {"waves": (1, -1)},
        {"waves": (1,) * 21},
        {"waves": (50_001, 0)},
        {"rate": 0.0},
        {"rate": 1e6},
        {"rate": float("nan")},
        {"stop_share": 1.5},
        {"stop_share": float("nan")},
    ],
    ids=str,
)
def test_an_invalid_action_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ImpossibleActionError):
        a_bulk([uuid7()], **fields)


def test_an_action_on_no_order_is_refused() -> None:
    with pytest.raises(NothingToDoError):
        a_bulk([])


def test_waves_have_the_requested_sizes_and_the_last_has_the_rest() -> None:
    ids = [uuid7() for _ in range(114)]
    action = a_bulk(ids, typed_count=114)
    assert action.waves == [1, 10, 100, 3]
    rows = action.items.order_by("position").values_list("order_id", "wave")
    assert list(rows) == [
        (order_id, min(3, (n > 0) + (n > 10) + (n > 110))) for n, order_id in enumerate(ids)
    ]
    stop(action)
    assert a_bulk(ids[:5]).waves == [1, 4]
    assert a_bulk(ids[5:10], waves=(2, 2)).waves == [2, 3]
    assert a_bulk([ids[10], ids[10]]).total == 1


@pytest.mark.pattern("O2")
def test_every_act_is_in_the_audit_log_with_before_and_after() -> None:
    action = a_bulk(failed_orders(2), reason="the carrier is back")
    due(action)
    bulk_control.pause(action_id=action.pk, actor=OTTO, reason="wait")
    assert now_of(action).pause_reason == "operator:otto: wait"
    bulk_control.resume(action_id=action.pk, actor=OTTO)
    bulk_control.stop(action_id=action.pk, actor=OLGA)
    rows = AuditEntry.objects.order_by("id").values_list("actor", "act", "target", "before", "after")
    created, *others = rows
    assert created[:3] == ("operator:olga", "bulk resubmit", f"bulk {action.pk}")
    assert others == [
        (
            "operator:otto",
            "pause action",
            f"bulk {action.pk}",
            {"state": "running"},
            {"state": "paused"},
        ),
        (
            "operator:otto",
            "resume action",
            f"bulk {action.pk}",
            {"state": "paused"},
            {"state": "running"},
        ),
        (
            "operator:olga",
            "stop action",
            f"bulk {action.pk}",
            {"state": "running"},
            {"state": "stopped"},
        ),
    ]
