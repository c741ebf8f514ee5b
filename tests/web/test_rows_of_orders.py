"""What a row of the console's list of orders says: whose the order is, since when, and what it has been through."""

import re
from typing import Any

import pytest
from django.test import Client

from orders.models import Alert, BulkAction, BulkItem, OrderProcess
from orders.selectors.desk.order_cause import EDITED_AND_RESUBMITTED
from orders.services.audit import Actor
from orders.services.operators import bulk
from tests.support.factories import ago
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error, open_alert

pytestmark = pytest.mark.django_db


def row_of(client: Client, order: Any) -> str:
    page = client.get("/console/orders/").content.decode()
    row = page.partition(f'id="row-{order.pk}"')[2].partition("</tr>")[0].partition(">")[2]
    return " ".join(re.sub(r"<[^>]+>", " ", row).split())


def close_alerts() -> None:
    Alert.objects.update(closed_at=ago(0), closed_by="olga", resolution="resubmitted")


def test_a_row_names_the_customer_and_when_the_order_was_placed(desk: Desk) -> None:
    order = an_order({}, process_state="processed", finished_at=ago(1), email="grace@example.org")
    assert re.search(r"grace@example\.org .*processed .*\d\d:\d\d UTC took ", row_of(desk("viewer"), order))


def test_a_row_says_that_its_order_was_in_error_and_that_it_was_tried_again(desk: Desk) -> None:
    client = desk("viewer")
    steps = {"reserve-stock": {"state": "completed", "attempt": 3}, "authorise-payment": "completed"}
    order = an_order(steps, process_state="processed", finished_at=ago(1))
    assert "processed tried again" in row_of(client, order)
    open_alert(order.pk)
    close_alerts()
    assert "processed was in Error tried again" in row_of(client, order)


def test_an_order_without_trouble_or_in_its_first_error_was_in_none_before(desk: Desk) -> None:
    client, failed = desk("viewer"), in_error()
    calm = an_order({"reserve-stock": "completed"}, process_state="processed", finished_at=ago(1))
    for order in (failed, calm):
        assert "was in Error" not in row_of(client, order) and "tried again" not in row_of(client, order)


def test_what_reverses_a_step_is_no_attempt_of_it(desk: Desk) -> None:
    steps = {"reserve-stock": {"state": "compensated", "attempt": 2, "outcome": "done"}}
    cancelled = an_order(steps, process_state="compensated", goal="compensate", finished_at=ago(1))
    reversing = {
        "reserve-stock": {"state": "compensating", "attempt": 3, "outcome": "done", "complete_by": ago(-30)}
    }
    under_way = an_order(reversing, process_state="processing", goal="compensate")
    for order in (cancelled, under_way):
        assert "attempt" not in row_of(desk("viewer"), order)
    assert "reserve-stock" in row_of(desk("viewer"), under_way)


def test_the_last_act_on_an_order_says_what_it_was_and_whose(desk: Desk) -> None:
    order = in_error()
    bulk.resubmit_one(order_id=order.pk, actor=Actor(name="olga"), reason="")
    close_alerts()
    order.process_state, order.finished_at = "processed", ago(1)
    order.save()
    BulkItem.objects.update(state="done", result="processed")
    assert row_of(desk("viewer"), order).endswith("resubmitted by olga")
    BulkItem.objects.update(state="nothing", result="it was not in Error")
    assert row_of(desk("viewer"), order).endswith("resubmitted by olga: it was not in Error")


def test_a_row_says_that_its_order_was_edited_before_it_was_tried_again(desk: Desk) -> None:
    order = in_error()
    Alert.objects.update(closed_at=ago(5), closed_by="olga", resolution=EDITED_AND_RESUBMITTED)
    order.process_state, order.finished_at = "processed", ago(1)
    order.save()
    assert row_of(desk("viewer"), order).endswith("edited and resubmitted by olga")
    open_alert(order.pk)
    Alert.objects.filter(closed_at=None).update(closed_at=ago(2), closed_by="olga", resolution="resubmitted")
    assert "edited" not in row_of(desk("viewer"), order)


def test_a_page_says_what_came_of_the_last_act_only_while_that_is_true(desk: Desk) -> None:
    order, at = in_error(), "/console/orders/{}/"
    bulk.resubmit_one(order_id=order.pk, actor=Actor(name="olga"), reason="")
    BulkAction.objects.update(starts_at=ago(9))

    def said(state: str, result: str, process_state: str) -> str:
        BulkItem.objects.update(state=state, result=result)
        finished = None if process_state == "error" else ago(1)
        goal = "compensate" if process_state == "compensated" else "complete"
        OrderProcess.objects.update(process_state=process_state, finished_at=finished, goal=goal)
        page = desk("viewer").get(at.format(order.pk)).content.decode()
        words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
        return words[words.index("Resubmitted by olga") :][:50]

    assert said("done", "processed", "processed").startswith("Resubmitted by olga: now processed ")
    assert said("failed", "refused: no", "error").startswith("Resubmitted by olga: refused: no ")
    assert not said("done", "processed", "compensated").startswith("Resubmitted by olga:")
    assert not said("failed", "refused: no", "compensated").startswith("Resubmitted by olga:")
    BulkAction.objects.update(state="undone", ended_at=ago(1))
    page = desk("viewer").get(at.format(order.pk)).content.decode()
    assert "Resubmitted by" not in page
