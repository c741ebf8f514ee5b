"""Alert groups count open alerts by cause, tens of thousands of them in a fixed number of queries (O1)."""

from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.engine.alerts import NewAlert, close_alerts, open_alerts, open_outage
from orders.engine.runtime.sql import database_now, run
from orders.models import Alert, AlertGroup, BulkAction, StepState
from orders.selectors.desk.alert_groups import GroupSummary, group_summaries, group_summary
from orders.selectors.desk.alerts import alerts_of_group, joined_since, orders_of_group
from tests.support.factories import ago, make_order, make_purchase
from tests.support.order_bodies import EMAIL

pytestmark = pytest.mark.django_db


def alert(count: int = 1, *, code: str = "http_503", message: str = "it said no") -> list[UUID]:
    ids = [uuid7() for _ in range(count)]
    open_alerts([NewAlert(order_id, "step_failed", code, message, "bake", "oven") for order_id in ids])
    return ids


def an_order(order_id: UUID, total: int, *, email: str = EMAIL, currency: str = "EUR") -> None:
    make_purchase(order_id, email=email, total=total, currency=currency, placed_at=ago(60))


def summaries() -> list[GroupSummary]:
    return group_summaries(now=database_now())[0]


@pytest.mark.pattern("O1")
def test_alerts_whose_messages_differ_by_their_numbers_are_one_cause() -> None:
    for n in range(3):
        alert(message=f"order {n} of customer '{n}@example.com' was refused")
    alert(code="timeout")
    assert [(summary.group.code, summary.open) for summary in summaries()] == [
        ("http_503", 3),
        ("timeout", 1),
    ]


@pytest.mark.pattern("O1")
def test_the_money_at_risk_is_totalled_by_currency_and_its_customers_are_counted() -> None:
    ids = alert(4)
    an_order(ids[0], 100)
    an_order(ids[1], 250, email="ADA@example.com")
    an_order(ids[2], 70, email="bob@example.com", currency="HUF")
    (summary,) = summaries()
    assert (dict(summary.at_risk.money), summary.at_risk.customers, summary.at_risk.more) == (
        {"EUR": 350, "HUF": 70},
        2,
        False,
    )


@pytest.mark.parametrize(
    ("ages", "trend"),
    [
        ([10, 20, 4000], "up"),
        ([10, 4000, 4000], "down"),
        ([10, 4000], "steady"),
        ([700, 900, 4000], "over"),
        ([900, 4000], "over"),
        ([8000], "quiet"),
    ],
)
def test_the_trend_is_the_last_hour_against_the_one_before(ages: list[int], trend: str) -> None:
    for order_id, age in zip(alert(len(ages)), ages, strict=True):
        Alert.objects.filter(order_id=order_id).update(opened_at=ago(age))
    (summary,) = summaries()
    assert summary.trend == trend


@pytest.mark.pattern("O1")
def test_a_group_shows_how_it_was_resolved_before_and_who_acknowledged_it_since() -> None:
    old = alert(2)
    close_alerts(old[:1], by="olga", resolution="resubmitted")
    Alert.objects.filter(order_id=old[0]).update(closed_at=ago(600))
    close_alerts(old[1:], by="otto", resolution="compensated")
    Alert.objects.update(opened_at=ago(900))
    AlertGroup.objects.update(acknowledged_at=ago(700), acknowledged_by="olga")
    alert()
    (summary,) = summaries()
    assert summary.resolved is not None
    assert (summary.open, summary.resolved.how, summary.resolved.by) == (1, "compensated", "otto")
    assert not summary.acknowledged
    AlertGroup.objects.update(acknowledged_at=database_now())
    alert()
    (summary,) = summaries()
    assert (summary.open, summary.acknowledged) == (2, True)


@pytest.mark.pattern("O1")
def test_the_trend_counts_alerts_that_were_opened_and_have_been_closed_since() -> None:
    ids = alert(7)
    times = [(4_000, 3_700), (5_000, 60), (6_000, 60), (600, 60), (9_000, 60), (9_000, 8_000)]
    for order_id, (opened, closed) in zip(ids, times, strict=False):
        Alert.objects.filter(order_id=order_id).update(opened_at=ago(opened), closed_at=ago(closed))
    (summary,) = summaries()
    assert (summary.open, summary.last_hour, summary.hour_before, summary.trend) == (1, 2, 3, "down")
    reread = group_summary(summary.group, now=database_now())
    assert reread is not None
    assert (reread.last_hour, reread.hour_before) == (2, 3)


def test_a_cause_was_first_and_last_seen_when_it_was_even_if_those_alerts_are_closed() -> None:
    ids = alert(3)
    for order_id, age in zip(ids, (90_000, 3_000, 20), strict=True):
        Alert.objects.filter(order_id=order_id).update(opened_at=ago(age))
    AlertGroup.objects.update(first_at=ago(90_000))
    close_alerts([ids[0], ids[2]], by="olga", resolution="resubmitted")
    (summary,) = summaries()
    assert summary.first_seen == summary.group.first_at < summary.first_at
    assert summary.last_seen == Alert.objects.get(order_id=ids[2]).opened_at > summary.last_at


@pytest.mark.pattern("A8")
def test_an_outage_counts_the_steps_that_wait() -> None:
    open_outage("oven", code="unreachable", message="no answer")
    for agent in ("oven", "oven", "courier"):
        order = make_order({}, process_state="pending")
        StepState.objects.filter(process=order, name="bake").update(waiting_since=ago(1), agent=agent)
    (summary,) = summaries()
    assert (summary.is_outage, summary.waiting, summary.open) == (True, 2, 1)
    assert orders_of_group(summary.group.pk, most=10) == []


@pytest.mark.pattern("O1")
def test_twenty_thousand_alerts_cost_no_more_queries_than_two(django_assert_num_queries: Any) -> None:
    alert(2)
    with django_assert_num_queries(5):
        summaries()
    run(
        """
        INSERT INTO orders_alert (group_id, order_id, kind, code, message, step, agent, closed_by, resolution)
        SELECT min(id), gen_random_uuid(), 'step_failed', 'http_503', 'it said no', 'bake', 'oven', '', ''
          FROM orders_alertgroup, generate_series(1, 20000) GROUP BY generate_series
        """
    )
    an_order(alert()[0], 100)
    with django_assert_num_queries(5):
        (summary,) = summaries()
    assert summary.open == 20_003
    assert summary.at_risk.more


def test_each_alert_is_on_one_page_even_if_many_opened_at_the_same_moment() -> None:
    ids = alert(23)
    group = AlertGroup.objects.get()
    seen: list[UUID | None] = []
    after = ""
    for _ in range(3):
        page = alerts_of_group(group, closed=False, after=after, limit=10)
        seen += [row.alert.order_id for row in page.alerts]
        after = page.after
    assert after == ""
    assert sorted(map(str, seen)) == sorted(map(str, ids))
    strange = alerts_of_group(group, closed=False, after="yesterday~x", limit=10)
    assert len(strange.alerts) == 10
    close_alerts(ids[:5], by="olga", resolution="resubmitted")
    closed = alerts_of_group(group, closed=True, after="", limit=10)
    assert {row.alert.order_id for row in closed.alerts} == set(ids[:5])


@pytest.mark.pattern("O2")
def test_alerts_that_join_after_an_action_began_are_shown_separately() -> None:
    ids = alert(2)
    group = AlertGroup.objects.get()
    upto = Alert.objects.latest("id").pk
    action = BulkAction.objects.create(kind="resubmit", selection="", by="olga", starts_at=ago(0), total=2)
    action.items.create(position=0, order_id=ids[0])
    (new,) = alert()
    assert orders_of_group(group.pk, upto=upto, most=10) == ids
    assert orders_of_group(group.pk, most=10) == [*ids, new]
    BulkAction.objects.update(created_at=ago(600))
    Alert.objects.exclude(order_id=new).update(opened_at=ago(900))
    # The action's own order failed again. That is the action's result, not a new alert.
    close_alerts(ids[:1], by="olga", resolution="resubmitted")
    open_alerts([NewAlert(ids[0], "step_failed", "http_503", "it said no", "bake", "oven")])
    action.refresh_from_db()
    assert [row.alert.order_id for row in joined_since(group, action)] == [new]
