"""The hand-over of a bad night: each cause once, by the clock, with what was really done about it."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client

from orders.engine.alerts import close_alerts, close_outage, open_outage
from orders.engine.runtime.sql import database_now
from orders.models import Alert, BulkAction
from orders.selectors.desk.causes import Ending
from orders.selectors.desk.order_cause import EDITED_AND_RESUBMITTED
from orders.services.operators import bulk as bulk_services
from orders.services.operators import order_acts
from orders.services.order_changes import compensate_order, resubmit_order
from orders.wording.endings import author_of
from orders.wording.moments import minute, span
from tests.support.desk import OLGA, fail, failed_orders
from tests.support.factories import ago, make_order
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
PAGE, TEXT, API = "/console/handover/", "/console/handover.txt", "/api/v1/handover"


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


def both(client: Client) -> tuple[str, str]:
    """The page and the text."""
    return text_of(client.get(PAGE)), client.get(TEXT).content.decode()


def ended(order_ids: list[UUID], *, began: float, seconds: float) -> None:
    Alert.objects.filter(order_id__in=order_ids).update(opened_at=ago(began), closed_at=ago(began - seconds))


def test_a_cause_that_is_over_is_one_entry_with_its_times_by_the_clock(olga: Client) -> None:
    open_outage("van", code="http_503", message="it is down")
    close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
    began = ago(0) - timedelta(minutes=90)
    Alert.objects.update(opened_at=began, closed_at=began + timedelta(minutes=8))
    today = database_now().date()
    line = (
        f"{span(began, began + timedelta(minutes=8), today=today)} (8 min): the remote service answers again"
    )
    for shown in both(olga):
        assert line in shown
        assert shown.count("Van was down") == 1 and "it is down" not in shown
        assert " ago" not in shown.partition("Ended")[2].partition("Waiting for people")[0]
        assert "circuit breaker" not in shown


def test_a_cause_that_came_back_is_only_among_the_open_ones(olga: Client) -> None:
    for seconds in (7_000, 5_000):
        open_outage("van", code="http_503", message="it is down")
        close_outage("van", by="the circuit breaker", resolution="the remote service answers again")
        newest = Alert.objects.order_by("-id").values("id")[:1]
        Alert.objects.filter(id__in=newest).update(opened_at=ago(seconds), closed_at=ago(seconds - 300))
    open_outage("van", code="http_503", message="it is down")
    page, text = both(olga)
    assert page.count("it is down") == text.count("it is down") == 1
    assert text.count("before, ") == page.count("Before, ") == 2
    assert "Ended: nothing" in text and "No cause ended in this period." in page
    body = api_client(token_of(person("viewer"))).get(API).json()
    assert len(body["times"]) == 3 and len(body["began"]) == 3 and len(body["ended"]) == 2


def test_how_a_cause_ended_counts_what_was_done_last_to_each_order(olga: Client) -> None:
    orders = [make_order({"mix": "failed"}, process_state="error") for _ in range(4)]
    ids = [order.order_id for order in orders]
    fail(*ids, code="refused", message="no flour")
    for order_id in ids[:2]:
        resubmit_order(order_id=order_id, by="olga")
    compensate_order(order_id=ids[2], by="olga")
    close_alerts(ids[3:], by="olga", resolution=EDITED_AND_RESUBMITTED)
    ended(ids, began=3_000, seconds=60)
    words = ": 2 resubmitted, 1 cancelled and 1 edited and resubmitted by olga"
    page, text = both(olga)
    assert words in page and words in text
    (time,) = api_client(token_of(person("viewer"))).get(API).json()["ended"]
    assert time["endings"][0] == {"resolution": "resubmitted", "by": "olga", "orders": 2}
    assert Ending(**time["endings"][1]) == Ending("cancelled", "olga", 1)


def test_tonights_finished_bulk_actions_and_changes_of_priority_are_handed_over(olga: Client) -> None:
    order_ids = failed_orders(2, code="dns")
    action = bulk_services.create(kind="resubmit", order_ids=order_ids, selection="two orders", actor=OLGA)
    action.items.update(state="done", acted_at=ago(60), ended_at=ago(30))
    BulkAction.objects.update(state="finished", created_at=ago(90), ended_at=ago(30))
    single = bulk_services.resubmit_one(order_id=failed_orders(1, code="dns")[0], actor=OLGA)
    order = make_order({"mix": "running"}, process_state="processing")
    order_acts.set_priority(order_id=order.order_id, priority=8, actor=OLGA, reason="a wedding")
    order_acts.set_priority(order_id=order.order_id, priority=8, actor=OLGA)
    today, created = database_now().date(), BulkAction.objects.get(pk=action.pk).created_at
    done = f"Resubmit 2 orders, by {OLGA.name} at {minute(created, today=today)}: finished, 2 went well"
    for shown in both(olga):
        assert done in shown
        assert f"from {order.priority} to 8 by {OLGA.name} at " in shown and "(a wedding)" in shown
        assert "Resubmit 1 order" not in shown
    body = api_client(token_of(person("viewer"))).get(API).json()
    assert [each["id"] for each in body["ended_bulk_actions"]] == [action.pk]
    assert single.pk not in [each["id"] for each in body["bulk_actions"]]
    (change,) = body["priority_changes"]
    assert (change["after"], change["reason"]) == (8, "a wedding")


def test_no_page_says_that_nobody_has_left_a_note_beside_notes(olga: Client) -> None:
    assert "Nobody has left a note" in text_of(olga.get(PAGE))
    olga.post(f"{PAGE}note/", {"text": "All is well."})
    page = text_of(olga.get(PAGE))
    assert "All is well." in page and "Nobody has left a note" not in page


@pytest.mark.parametrize(
    ("closed_by", "author"),
    [
        ("the circuit breaker", ""),
        ("scheduler:host-4", ""),
        ("olga", "olga"),
        ("operator:ada", "operator:ada"),
    ],
)
def test_the_system_is_not_named_as_who_ended_a_cause(closed_by: str, author: str) -> None:
    assert author_of(closed_by) == author
