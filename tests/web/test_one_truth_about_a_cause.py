"""What the hand-over and the page of a cause say of it: the sum fits the count, and the beginning is one."""

import re

import pytest
from django.test import Client

from orders.engine.alerts import close_alerts
from orders.models import Alert
from orders.selectors.desk.order_cause import EDITED_AND_RESUBMITTED
from orders.services.operators import bulk
from tests.support.desk import OLGA, fail, failed_orders, group_of
from tests.support.factories import ago, make_purchase
from tests.support.people import person, signed_in
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


def broken_for_three_minutes() -> None:
    """A cause that was open for a minute, then not for three, and now is again."""
    orders = failed_orders(1, code="refused")
    close_alerts(orders, by="olga", resolution="resubmitted")
    Alert.objects.update(opened_at=ago(260), closed_at=ago(200))
    fail(*orders, code="refused")
    Alert.objects.filter(closed_at__isnull=True).update(opened_at=ago(20))


def test_the_worth_of_an_open_cause_is_that_of_its_open_orders(olga: Client) -> None:
    orders = failed_orders(3)
    for order_id, total in zip(orders, (1_000, 2_000, 4_000), strict=True):
        make_purchase(order_id, total=total)
    close_alerts(orders[2:], by="olga", resolution="resubmitted")
    text = olga.get("/console/handover.txt").content.decode()
    (now_open,) = [part for part in text.split("\n\n") if part.startswith("Open now")]
    assert "2 of 3 orders, €30.00 of €70.00, since " in now_open
    assert "2 of 3 orders, €30.00 of €70.00, since " in text_of(olga.get("/console/handover/"))


def test_a_cause_that_came_back_within_ten_minutes_has_one_beginning_in_the_hand_over(olga: Client) -> None:
    broken_for_three_minutes()
    began = f"since {Alert.objects.earliest('id').opened_at:%H:%M}, owner nobody"
    for shown in (
        text_of(olga.get("/console/handover/")),
        olga.get("/console/handover.txt").content.decode(),
    ):
        assert shown.count(began) == 1 and shown.count("refused (") + shown.count("· refused") == 1


def test_the_page_of_a_cause_that_came_back_within_ten_minutes_says_when_it_began(olga: Client) -> None:
    broken_for_three_minutes()
    page = text_of(olga.get(f"/console/alerts/{group_of('refused').pk}/"))
    assert "Its last alert was closed 3 minutes ago" in page
    assert "breaks of less than ten minutes do not count. Before that, it was not open" in page
    assert "It was not open before" not in page


def test_the_page_of_a_cause_lists_the_bulk_actions_on_its_orders_wherever_they_were_started(
    olga: Client,
) -> None:
    first, *others = failed_orders(3, code="refused")
    page = f"/console/alerts/{group_of('refused').pk}/"
    assert "No bulk action has been started from this page, or on an order of this cause." in text_of(
        olga.get(page)
    )
    single = bulk.resubmit_one(order_id=first, actor=OLGA)
    many = bulk.create(kind="resubmit", order_ids=others, selection="two orders", actor=OLGA)
    for action in (single, many):
        action.items.update(state="acted", acted_at=ago(30))
    close_alerts([first], by="olga", resolution="resubmitted")
    close_alerts(others, by="olga", resolution="resubmitted")
    Alert.objects.update(opened_at=ago(900))
    assert "3 orders were resubmitted by olga 0 seconds ago" in re.sub(
        r"\d+ seconds?", "0 seconds", text_of(olga.get(page))
    )
    Alert.objects.filter(order_id=first).update(resolution=EDITED_AND_RESUBMITTED)
    assert "3 orders were resubmitted, 1 of them edited, by olga" in text_of(olga.get(page))
    Alert.objects.update(resolution=EDITED_AND_RESUBMITTED)
    assert "3 orders were edited and resubmitted by olga" in text_of(olga.get(page))
    Alert.objects.update(resolution="resubmitted")
    Alert.objects.filter(order_id=first).update(closed_at=ago(700))
    answer = olga.get(page)
    assert f'href="/console/bulk/{many.pk}/"' in answer.content.decode()
    assert f'href="/console/bulk/{single.pk}/"' not in answer.content.decode()
    assert "3 orders were resubmitted by olga several times, most recently " in text_of(answer)
