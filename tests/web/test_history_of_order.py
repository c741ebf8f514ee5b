"""The history on the console's page of an order: attempts folded, with what was sent and answered."""

import re
from typing import Any

import pytest

from orders.models import Event
from tests.support.factories import ago
from tests.web.conftest import Desk
from tests.web.console_orders import in_error

pytestmark = pytest.mark.django_db

EXCHANGE = {
    "method": "POST",
    "path": "/create",
    "status": 422,
    "sent": {"Authorization": "(masked)", "Accept": "application/json"},
    "answered": {"Retry-After": "30"},
    "masked": ["Authorization"],
}


def record(order_id: Any, kind: str, seconds: float, attempt: int, **detail: Any) -> None:
    event = Event.objects.create(
        order_id=order_id,
        kind=kind,
        step="create-shipment",
        attempt=attempt,
        actor_kind="scheduler",
        actor_name="scheduler:1",
        detail=detail,
    )
    Event.objects.filter(pk=event.pk).update(at=ago(seconds))


def two_attempts() -> Any:
    """An order in Error whose second attempt was refused."""
    order = in_error(attempt=2)
    record(order.pk, "step_started", 90, 1, key=f"{order.pk}/create-shipment/1")
    record(order.pk, "step_timed_out", 60, 1, ruling="retry", failures=1)
    record(order.pk, "step_started", 50, 2, key=f"{order.pk}/create-shipment/1")
    record(order.pk, "call_failed", 49, 2, code="no_route", message="no", exchange=EXCHANGE, **{"try": 1})
    record(order.pk, "step_refused", 48, 2, error={"code": "no_route", "message": "no"})
    return order


def test_the_newest_attempt_is_open_and_the_others_are_folded(desk: Desk) -> None:
    page = desk("viewer").get(f"/console/orders/{two_attempts().pk}/").content.decode()
    folds = re.findall(r'<details class="attempt"\s+id="attempt-create-shipment-(\d)"\s+(open)?>', page)
    assert folds == [("2", "open"), ("1", "")]


def test_a_failed_call_shows_its_status_and_headers_without_secrets(desk: Desk) -> None:
    page = desk("viewer").get(f"/console/orders/{two_attempts().pk}/").content.decode()
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "A call for step create-shipment failed: no_route: no · HTTP 422" in words
    assert "Request POST /create Accept application/json Authorization (masked)" in words
    assert "Answer HTTP 422 Retry-After 30" in words


def test_the_row_of_a_step_says_how_often_its_service_was_asked_and_how_that_ended(desk: Desk) -> None:
    words = words_of(desk("viewer").get(f"/console/orders/{two_attempts().pk}/").content.decode())
    first = "Asked 2 times: 1 without an answer, then refused. Both calls carried the same key, so carrier"
    assert f"{first} does it at most once. no_route" in words, (
        "the number of attempts does not stand beside it"
    )
    assert "no answer" in words[words.index("Calls") : words.index("Request", words.index("Calls"))]


def test_moments_have_the_time_of_day_and_those_of_another_day_the_date(desk: Desk) -> None:
    order = in_error()
    Event.objects.create(order_id=order.pk, kind="claimed", actor_kind="scheduler", actor_name="s")
    Event.objects.update(at="2026-01-31T14:02:05Z")
    page = desk("viewer").get(f"/console/orders/{order.pk}/").content.decode()
    assert '<time datetime="2026-01-31T14:02:05+00:00" data-exact>Jan 31, 2026, 14:02:05</time>' in page


def test_two_attempts_are_compared_without_javascript(desk: Desk) -> None:
    order, client = two_attempts(), desk("viewer")
    page = client.get(f"/console/orders/{order.pk}/").content.decode()
    assert "Two attempts compared" not in page
    (url,) = re.findall(r'href="(\?step=create-shipment&amp;attempt=2&amp;with=1)#compare"', page)
    compared = client.get(f"/console/orders/{order.pk}/{url.replace('&amp;', '&')}").content.decode()
    table = compared[compared.index('id="compare"') : compared.index('id="events"')]
    words = " ".join(re.sub(r"<[^>]+>", " ", table).split())
    assert "create-shipment, attempt 1 create-shipment, attempt 2" in words
    assert "Outcome differs no answer failed" in words
    assert "Answer differs – HTTP 422" in words


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_call_that_succeeded_shows_its_status_and_headers(desk: Desk) -> None:
    order = two_attempts()
    answered = {"method": "POST", "path": "/create", "status": 201, "answered": {"x-request-id": "r-17"}}
    record(order.pk, "step_completed", 10, 3, calls=1, exchange=answered)
    words = words_of(desk("viewer").get(f"/console/orders/{order.pk}/").content.decode())
    assert "Step create-shipment completed · HTTP 201" in words
    assert "Request POST /create Answer HTTP 201 x-request-id r-17" in words


def alert_part(desk: Desk, order: Any) -> str:
    """The words of the notice about an order's alert."""
    page = desk("viewer").get(f"/console/orders/{order.pk}/").content.decode()
    return words_of(page[page.index("notice--bad") : page.index("What to know about")])


def test_the_failing_step_says_what_was_answered_and_has_the_whole_answer(desk: Desk) -> None:
    order = in_error(attempt=2)
    failed = {"code": "no_route", "message": "we do not go there", **{"try": 1}}
    record(order.pk, "call_failed", 99, 1, exchange={**EXCHANGE, "status": 500, "body": "earlier"}, **failed)
    body = '{"code": "no_route", "where": ["<b>", 7]}'
    record(order.pk, "call_failed", 49, 2, exchange={**EXCHANGE, "body": body}, **failed)
    words = alert_part(desk, order)
    assert "no_route · create-shipment (carrier)" in words
    assert "carrier answered HTTP 422 : &lt;script&gt;alert(1)&lt;/script&gt; Whole answer" in words
    assert "Whole answer Answer HTTP 422" in words
    assert "&quot;where&quot;: [ &quot;&lt;b&gt;&quot;, 7 ] } Retry-After 30" in words
    assert "earlier" not in words


def test_an_alert_with_another_code_than_the_last_answer_names_both(desk: Desk) -> None:
    order = in_error(attempt=2)
    record(order.pk, "call_failed", 49, 2, code="busy", message="later", exchange=EXCHANGE, **{"try": 1})
    words = alert_part(desk, order)
    assert re.search(r"carrier last answered \d+ seconds ago \S+ ?: HTTP 422 , busy : later", words)


def test_a_failure_without_an_answer_says_nothing_of_one(desk: Desk) -> None:
    order = in_error(attempt=2)
    record(order.pk, "call_failed", 49, 2, code="no_route", message="no", **{"try": 1})
    words = alert_part(desk, order)
    assert "answered" not in words and "Whole answer" not in words
