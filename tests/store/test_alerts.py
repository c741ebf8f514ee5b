"""Alerts: at most one open per order, however many see the error, and closed with who closed it (I9, O1)."""

from collections.abc import Callable
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries
from uuid_utils.compat import uuid7

from orders.engine.alerts import NewAlert, close_alerts, open_alerts
from orders.engine.runtime.sql import database_now
from orders.models import Alert
from tests.support.two_sessions import PATIENCE, Session, all_at_once

NewSession = Callable[[], Session]


def alert(order_id: UUID, message: str = "it said no") -> NewAlert:
    return NewAlert(order_id, "step_failed", "refused", message, "mix", "kitchen")


@pytest.mark.django_db
@pytest.mark.pattern("O1", "C7", "V3")
def test_an_alert_says_what_happened_to_which_order(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    first, second = uuid7(), uuid7()
    message = 'há "no" \\ {}, %s\n' * 50
    with django_assert_num_queries(1):
        assert open_alerts([alert(first, message), NewAlert(second, "order_overran", "late", "")]) == 2
    opened = Alert.objects.get(order_id=first)
    assert (opened.kind, opened.code, opened.message) == ("step_failed", "refused", message)
    assert (opened.step, opened.agent) == ("mix", "kitchen")
    assert (opened.closed_at, opened.closed_by, opened.resolution) == (None, "", "")
    assert (opened.notified_at, opened.opened_at is not None) == (None, True)
    assert Alert.objects.values_list("step", "agent").get(order_id=second) == ("", "")


@pytest.mark.django_db
@pytest.mark.pattern("O1")
def test_an_order_with_an_open_alert_gets_no_second_alert() -> None:
    order, other = uuid7(), uuid7()
    assert open_alerts([alert(order, "first"), alert(order, "in one batch")]) == 1
    assert open_alerts([alert(order, "later"), alert(other)]) == 1
    assert Alert.objects.get(order_id=order).message == "first"
    assert Alert.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("O1", "V6")
def test_of_twelve_simultaneous_alerts_for_an_order_exactly_one_opens() -> None:
    order = uuid7()
    opened = all_at_once(12, lambda n: open_alerts([alert(order, f"by {n}")]))
    assert sorted(opened) == [0] * 11 + [1]
    assert Alert.objects.get().message == f"by {opened.index(1)}"


def test_an_alert_waits_for_a_concurrent_alert_and_stands_if_that_is_rolled_back(
    new_session: NewSession,
) -> None:
    """I9: every Error has an alert, even when the transaction that saw it first is rolled back."""
    order = uuid7()
    session, other = new_session(), new_session()
    session.begin()
    assert session.do(lambda: open_alerts([alert(order, "one")])) == 1
    second = other.start(lambda: open_alerts([alert(order, "other")]))
    other.await_wait()
    session.rollback()
    assert second.result(timeout=PATIENCE) == 1
    assert Alert.objects.get().message == "other"


@pytest.mark.django_db
@pytest.mark.pattern("O2")
def test_closing_says_who_and_why_and_makes_room_for_the_next() -> None:
    order, other, untroubled = uuid7(), uuid7(), uuid7()
    open_alerts([alert(order, "first"), alert(other)])
    before = database_now()
    assert close_alerts({order, untroubled}, by="ada", resolution="resubmitted") == 1
    closed = Alert.objects.get(order_id=order)
    assert closed.closed_at is not None
    assert before < closed.closed_at < database_now()
    assert (closed.closed_by, closed.resolution) == ("ada", "resubmitted")
    assert Alert.objects.get(order_id=other).closed_at is None
    assert close_alerts([order], by="eve", resolution="again") == 0
    assert open_alerts([alert(order, "second")]) == 1
    assert close_alerts([order, other], by="bob", resolution="compensated") == 2
    closers = Alert.objects.filter(order_id=order).order_by("id").values_list("message", "closed_by")
    assert list(closers) == [("first", "ada"), ("second", "bob")]


@pytest.mark.django_db
def test_opening_or_closing_no_alerts_changes_nothing() -> None:
    assert open_alerts([]) == 0
    assert close_alerts([], by="ada", resolution="") == 0
