"""The history of causes: since when until when each was open, what it hit, and who did what about it."""

from uuid import UUID

import pytest

from orders.engine.runtime.sql import database_now
from orders.models import AlertGroup, AuditEntry, BulkAction, BulkItem
from orders.selectors.desk.cause_acts import recent_times
from orders.selectors.desk.causes import OpenTime, earlier_times, open_times
from tests.support.factories import ago, make_alert, make_order, make_purchase

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
HOUR = 3_600


def alert(
    opened: float, closed: float | None, *, code: str = "no", by: str = "anna", total: int = 100
) -> UUID:
    """An alert of its own order, opened and closed so many seconds ago."""
    order_id = make_order({"mix": "failed"}, process_state="error").order_id
    make_purchase(order_id, total=total)
    times = {"opened_at": ago(opened), "closed_at": None if closed is None else ago(closed)}
    closing = {"closed_by": by, "resolution": "resubmitted"} if closed is not None else {}
    row = make_alert(order_id, code=code, **times, **closing)
    AlertGroup.objects.filter(pk=row.group_id, last_at__lt=row.opened_at).update(last_at=row.opened_at)
    return order_id


def times(*, since: float = 7 * 24 * HOUR, until: float = 0, **options: object) -> list[OpenTime]:
    return open_times(since=ago(since), until=ago(until), **options)  # type: ignore[arg-type]


def test_alerts_that_overlap_are_one_time_and_a_pause_of_ten_minutes_ends_it() -> None:
    alert(10 * HOUR, 8 * HOUR, total=100)
    alert(9 * HOUR, 7 * HOUR, total=250)
    alert(7 * HOUR - 300, 6 * HOUR, by="bert")  # failed again five minutes after
    alert(5 * HOUR, 4 * HOUR)
    alert(1 * HOUR, None)
    recorded = times()
    assert [(time.orders, time.is_open, time.closed_by, dict(time.money)) for time in recorded] == [
        (1, True, "", {"EUR": 100}),
        (1, False, "anna", {"EUR": 100}),
        (3, False, "bert", {"EUR": 450}),
    ]
    assert recorded[2].seconds == pytest.approx(4 * HOUR, abs=60)
    before = earlier_times(AlertGroup.objects.get(), now=database_now())
    assert (before.count, before.last) == (2, recorded[1])


def test_a_range_has_what_was_open_in_it_and_pages_follow_one_another() -> None:
    alert(10 * HOUR, 8 * HOUR, code="old")
    alert(9 * HOUR, 2 * HOUR, code="long")
    alert(2 * HOUR, 1 * HOUR, code="late")
    assert [time.group.code for time in times(since=6 * HOUR, until=3 * HOUR)] == ["long"]
    first = times(limit=2)
    assert [time.group.code for time in first] == ["late", "long", "old"]
    following = times(limit=2, before=(first[1].began_at, first[1].group.pk))
    assert [time.group.code for time in following] == ["old"]


def test_a_time_has_the_acts_on_its_group_its_orders_and_its_bulk_actions_and_no_others() -> None:
    order_id = alert(3 * HOUR, 2 * HOUR)
    group = AlertGroup.objects.get()
    action = BulkAction.objects.create(
        kind="resubmit",
        selection="all",
        group=group,
        by="anna",
        starts_at=ago(2.4 * HOUR),
        total=2,
        waves=[2],
    )
    BulkAction.objects.update(created_at=ago(2.4 * HOUR))
    BulkItem.objects.create(action=action, position=1, order_id=order_id, state="done")
    BulkItem.objects.create(action=action, position=2, order_id=UUID(int=7), state="failed")
    for seconds, target, act in (
        (9 * HOUR, f"group {group.pk}", "note"),
        (2.9 * HOUR, f"group {group.pk}", "acknowledge"),
        (2.5 * HOUR, f"order {order_id}", "settle"),
        (2.5 * HOUR, f"order {UUID(int=9)}", "settle"),
        (2.4 * HOUR, f"bulk {action.pk}", "bulk resubmit"),
    ):
        AuditEntry.objects.create(at=ago(seconds), actor="anna", act=act, target=target)
    ((time, acts),) = recent_times(group, now=database_now())
    assert time.orders == 1
    assert [(act.act, act.outcome) for act in acts] == [
        ("acknowledge", ""),
        ("settle", ""),
        ("bulk resubmit", "1 went well, 1 failed again."),
    ]


def test_only_thirty_days_count_as_before() -> None:
    alert(31 * 24 * HOUR, 30.5 * 24 * HOUR)
    alert(2 * HOUR, None)
    assert earlier_times(AlertGroup.objects.get(), now=database_now()).count == 0
    assert [time.is_open for time in open_times(since=ago(1), until=ago(-1))] == [True]
