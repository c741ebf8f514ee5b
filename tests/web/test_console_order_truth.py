"""What the console says of an order, its alert and its history is said once, in the same words, and is so."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.models import Alert, AlertGroup, Event, Order, SetAside
from orders.services.operators import alerts as alert_services
from tests.support.desk import OLGA
from tests.support.factories import ago, ahead
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error, open_alert

pytestmark = pytest.mark.django_db


def words_of(answer: Any) -> str:
    assert answer.status_code == 200
    return words_in(answer.content.decode())


def words_in(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def record(order_id: Any, kind: str, **fields: Any) -> Event:
    values = {"actor_kind": "scheduler", "actor_name": "scheduler:1", "detail": {}} | fields
    return Event.objects.create(order_id=order_id, kind=kind, **values)


def a_failed_refund() -> Any:
    """An order whose payment was charged, and whose refund was then refused."""
    error = {"code": "refused", "message": "the card has expired"}
    step = {"state": "failed", "attempt": 2, "outcome": "done", "error": error}
    order = an_order({"capture-payment": step}, process_state="error", goal="compensate")
    alert = open_alert(order.pk, code="refused", kind="compensation_failed")
    Alert.objects.filter(pk=alert.pk).update(message="the card has expired", step="capture-payment")
    AlertGroup.objects.filter(pk=alert.group_id).update(pattern="the card has expired")
    record(order.pk, "compensation_failed", step="capture-payment", attempt=2, detail={"error": error})
    detail = {"alert": "compensation_failed", "error": error}
    record(order.pk, "error", step="capture-payment", attempt=2, detail=detail)
    return order


def test_a_refund_that_failed_does_not_read_like_a_payment_that_failed(desk: Desk) -> None:
    order = a_failed_refund()
    client = desk("operator")
    page = client.get(f"/console/orders/{order.pk}/")
    words = words_of(page)
    assert "A cancellation failed for good" in words
    assert "Cancellation failed: the card has expired" in words
    assert "The reversal of capture-payment failed, the order went into Error" in words
    (row,) = re.findall(r'<tr id="step-capture-payment">.*?</tr>', page.content.decode(), re.DOTALL)
    assert "cancellation failed" in row
    group = Alert.objects.get().group_id
    for place in ("alerts/", f"alerts/{group}/", ""):
        words = words_of(client.get(f"/console/{place}")).translate({ord(mark): None for mark in "“”"})
        assert "Cancellation failed: the card has expired" in words


def test_the_page_of_an_order_knows_who_owns_its_cause_and_who_has_acknowledged_it(desk: Desk) -> None:
    order = in_error()
    client = desk("viewer")
    at = f"/console/orders/{order.pk}/"
    assert "Nobody owns it. Nobody has acknowledged it yet." in words_of(client.get(at))
    alert_services.acknowledge(group_id=Alert.objects.get().group_id, actor=OLGA)
    assert "Nobody owns it. Acknowledged by operator:olga" in words_of(client.get(at))


def test_an_error_is_printed_the_same_way_wherever_it_is_printed(desk: Desk) -> None:
    message = 'it said "no"'
    order = in_error(error={"code": "no_route", "message": message, "status": 422})
    Alert.objects.update(message=message)
    record(
        order.pk,
        "step_refused",
        step="create-shipment",
        detail={"error": {"code": "no_route", "message": message}},
    )
    page = desk("viewer").get(f"/console/orders/{order.pk}/").content.decode()
    assert page.count("no_route: it said &quot;no&quot;") == 2  # of the step, and in the history
    steps = page[page.index('id="steps"') : page.index('id="events"')]
    assert "\\&quot;" not in steps
    assert "&quot;status&quot;: 422" in steps


def test_moments_of_the_same_minute_can_be_told_apart_in_the_history(desk: Desk) -> None:
    order = in_error()
    for second in range(6):
        event = record(order.pk, "call_failed", step="create-shipment", detail={"try": second + 1})
        Event.objects.filter(pk=event.pk).update(at=f"2026-01-31T14:02:{second:02}Z")
    words = words_of(desk("viewer").get(f"/console/orders/{order.pk}/"))
    assert [f"14:02:{second:02}" for second in range(6) if f"14:02:{second:02}" in words] == [
        f"14:02:{second:02}" for second in range(6)
    ]


def test_the_list_says_of_an_order_that_has_ended_how_long_it_took(desk: Desk) -> None:
    order = an_order({}, process_state="processed", created_at=ago(7_000), finished_at=ago(6_998))
    client = desk("viewer")
    assert "took 2.0 s" in words_of(client.get("/console/orders/"))
    assert "took 2.0 s" in words_of(client.get(f"/console/orders/{order.pk}/"))
    (_, line) = (
        b"".join(client.get("/console/orders.csv").streaming_content)
        .decode()
        .removeprefix("\ufeff")
        .splitlines()
    )
    assert ",5,,2," in line  # the priority, no age, and how long it took


def test_the_list_and_the_page_count_an_orders_age_from_when_it_was_placed(desk: Desk) -> None:
    order = an_order({}, process_state="pending", created_at=ago(60))
    posted_at = ago(180)
    Order.objects.filter(pk=order.pk).update(placed_at=posted_at)
    record(order.pk, "received", detail={"posted_at": posted_at.isoformat()})
    client = desk("viewer")
    assert "3 min" in words_of(client.get("/console/orders/"))
    assert "Placed 3 minutes ago" in words_of(client.get(f"/console/orders/{order.pk}/"))


def test_a_wait_that_is_half_over_does_not_give_two_times_for_its_end(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    event = record(order.pk, "waiting", detail={"until": ahead(60).isoformat()})
    Event.objects.filter(pk=event.pk).update(at=ago(60))
    words = words_of(desk("viewer").get(f"/console/orders/{order.pk}/"))
    assert re.search(r"The order waits for (2 min|1 min 59 s) · due in \d+ (second|minute)", words)


def test_clients_are_named_by_their_accounts(desk: Desk) -> None:
    user = User.objects.create_user("grace")
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    record(order.pk, "received", detail={"by": f"user:{user.pk}"})
    client = desk("viewer")
    assert "Received from grace" in words_of(client.get(f"/console/orders/{order.pk}/"))
    SetAside.objects.create(
        order_id=order.pk, client=f"user:{user.pk}", body={}, reason="no", posted_at=ago(60)
    )
    words = words_of(client.get("/console/set-aside/"))
    assert "grace" in words and f"user:{user.pk}" not in words


def test_failures_are_only_counted_where_there_are_some_and_say_what_they_are(desk: Desk) -> None:
    client, order = desk("viewer"), in_error()
    assert "Counted failures" not in words_of(client.get(f"/console/orders/{order.pk}/"))
    order = an_order(
        {"reserve-stock": {"state": "running", "attempt": 3, "failure_count": 2}},
        process_state="processing",
        failure_count=2,
    )
    words = words_of(client.get(f"/console/orders/{order.pk}/"))
    assert "Counted failures 2 counts attempts without an answer, and reversals that failed" in words
    assert "Attempts Counted failures Request and response" in words


def test_beside_each_relative_time_of_where_it_stands_is_the_time_of_day(desk: Desk) -> None:
    step = {"state": "not_started", "attempt": 1, "failure_count": 1, "not_before": ahead(50)}
    order = an_order({"reserve-stock": step}, process_state="pending", not_before=ahead(50))
    words = words_of(desk("viewer").get(f"/console/orders/{order.pk}/"))
    both = r"retrying next in \d+ (second|minute)s? (\w+ \d+, \d+, )?\d\d:\d\d:\d\d · attempt 2 of 3"
    assert len(re.findall(both, words)) == 2  # the order and its step


def test_a_cancelled_order_promises_nothing_any_longer(desk: Desk) -> None:
    orders = {
        goal: an_order({}, process_state=state, goal=goal)
        for goal, state in (("complete", "pending"), ("compensate", "compensated"))
    }
    Order.objects.update(promised_by=ahead(480))
    pages = {
        goal: words_of(desk("viewer").get(f"/console/orders/{order.pk}/")) for goal, order in orders.items()
    }
    processed = an_order({}, process_state="processed", finished_at=ago(5))
    Order.objects.filter(pk=processed.pk).update(promised_by=ahead(480))
    words = words_of(desk("viewer").get(f"/console/orders/{processed.pk}/"))
    promise = r"Promise Done 8 min( \d+ s)? before the time promised, (\w+ \d+, )?\d\d:\d\d UTC Placed"
    assert re.search(promise, words) and "Promised for" not in words and "Due" not in words
    assert "Due in 8 minutes" in pages["complete"]
    assert "Due in" not in pages["compensate"] and "time promised" not in pages["compensate"]


def test_an_order_says_once_by_when_it_has_to_be_done(desk: Desk) -> None:
    step = {"state": "compensating", "attempt": 2, "outcome": "done", "complete_by": ahead(30)}
    process = {"process_state": "processing", "goal": "compensate", "complete_by": ahead(600)}
    top, steps = top_and_steps(desk, an_order({"reserve-stock": step}, **process))
    assert re.search(r"being cancelled It is being cancelled\..* Complete by in 10 minutes", top)
    assert "complete by:" not in top and "complete by: in 30 seconds" in steps
    at_risk = {"reserve-stock": {"state": "running", "attempt": 1, "complete_by": ahead(3)}}
    top, _ = top_and_steps(desk, an_order(at_risk, **{**process, "goal": "complete"}))
    assert re.search(r"at risk complete by: in \d seconds?", top) and "Complete by" not in top


def top_and_steps(desk: Desk, order: Any) -> tuple[str, str]:
    page = desk("viewer").get(f"/console/orders/{order.pk}/").content.decode()
    top, _, rest = page.partition('id="steps"')
    return words_in(top), words_in(rest)


def test_what_waits_for_an_agent_names_it(desk: Desk) -> None:
    waiting = {"reserve-stock": {"state": "not_started", "waiting_since": ago(60)}}
    order = an_order(waiting, process_state="pending")
    for page in ("/console/orders/", f"/console/orders/{order.pk}/"):
        words = words_of(desk("viewer").get(page))
        assert "waiting for warehouse began 1 minute ago" in words and "waiting for agent began" not in words


def test_a_cancellation_under_way_does_not_say_that_it_begins_later(desk: Desk) -> None:
    step = {"state": "compensating", "attempt": 2, "outcome": "done", "complete_by": ahead(3)}
    order = an_order({"reserve-stock": step}, process_state="processing", goal="compensate")
    words = words_of(desk("viewer").get(f"/console/orders/{order.pk}/"))
    assert "being cancelled, complete by: in" in words
    assert "being cancelled in" not in words


def test_a_cancellation_under_way_does_not_read_like_an_order_that_is_processed(desk: Desk) -> None:
    step = {
        "state": "compensating",
        "attempt": 2,
        "outcome": "done",
        "complete_by": ahead(30),
        "started_at": ago(1),
    }
    order = an_order(
        {"reserve-stock": step}, process_state="processing", goal="compensate", complete_by=ahead(600)
    )
    words = words_of(desk("viewer").get(f"/console/orders/{order.pk}/"))
    assert "It is being cancelled." in words and "It is being processed." not in words


def test_the_priorities_say_which_comes_first(desk: Desk) -> None:
    page = desk("operator").get(f"/console/orders/{in_error().pk}/").content.decode()
    options = re.findall(r'<option value="\d"[^>]*>([^<]*)</option>', page)
    assert options == ["0 (last)", "1", "2", "3", "4", "5 (usual)", "6", "7", "8", "9 (first)"]


def test_the_time_shown_is_in_the_url_and_the_chart_has_a_table(desk: Desk) -> None:
    order = in_error()
    for kind, seconds in (("step_started", 50), ("step_refused", 40)):
        event = record(order.pk, kind, step="create-shipment", attempt=1)
        Event.objects.filter(pk=event.pk).update(at=ago(seconds))
    client = desk("viewer")
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    assert "Zoom in ×2" in page and "What happened in the time shown, by step" in page
    assert "waiting for the next attempt" not in page
    shown = client.get(f"/console/orders/{order.pk}/?from=0&to=0.5").content.decode()
    assert "Later" in shown and "Zoom out ÷2" in shown
