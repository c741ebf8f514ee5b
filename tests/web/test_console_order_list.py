"""The console's list of orders: filters, pages, search, and the export."""

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from uuid_utils.compat import uuid7

from orders.business.order_ids import derived_order_id
from orders.console import order_views
from orders.console.forms.filters import OrderFilterForm
from orders.fields.order_numbers import spoken_number
from orders.models import ArchivedOrder, AuditEntry, Order, OrderProcess, SubmissionMessage
from orders.selectors.desk import archive_search, search
from orders.selectors.desk.filters import NAMES
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.paging import read_position
from tests.support.factories import ago, ahead, make_request, step_of
from tests.support.finished_orders import finished_order, retain
from tests.web.conftest import Desk
from tests.web.console_orders import an_order, in_error, open_alert

pytestmark = pytest.mark.django_db


def matches(**query: str) -> set[UUID]:
    """The orders that a query of the list finds."""
    at = ahead(0)
    return {
        order.order_id
        for order in search.page(
            OrderFilterForm(query).filter, after=None, limit=50, retry_limits=retry_limits(), now=at
        ).orders
    }


def test_each_filter_finds_exactly_its_orders() -> None:
    failed = in_error()
    compensating = an_order(
        {"reserve-stock": {"state": "failed", "outcome": "done", "compensation_failure_count": 6}},
        process_state="error",
        goal="compensate",
    )
    running = an_order({"reserve-stock": "running"}, process_state="processing", email="Bob@Example.com")
    waiting = an_order({"authorise-payment": {"waiting_since": ago(30)}}, process_state="pending", priority=8)
    retrying = an_order(
        {
            "reserve-stock": {
                "state": "not_started",
                "attempt": 1,
                "outcome": "unknown",
                "failure_count": 1,
                "not_before": ahead(300),
            }
        },
        process_state="pending",
        not_before=ahead(300),
    )
    declined = an_order(
        {"authorise-payment": {"state": "failed", "not_before": ahead(900)}},
        process_state="pending",
        not_before=ahead(900),
    )
    requested = an_order({"reserve-stock": "running"}, process_state="processing")
    make_request(step_of(requested, "reserve-stock"))
    done = an_order(
        {}, process_state="processed", finished_at=ago(1), order_id=UUID(int=uuid7().int - (3 << 102))
    )
    OrderProcess.objects.filter(pk=done.pk).update(created_at=ago(7200))
    expected: list[tuple[dict[str, str], set[OrderProcess]]] = [
        ({}, {failed, compensating, running, waiting, retrying, declined, requested, done}),
        ({"state": "error"}, {failed, compensating}),
        ({"state": "processed"}, {done}),
        ({"kind": "error"}, {failed}),
        ({"kind": "compensation failed"}, {compensating}),
        ({"kind": "running"}, {running}),
        ({"kind": "waiting for agent"}, {waiting, requested}),
        ({"kind": "retrying"}, {retrying}),
        ({"kind": "waiting for customer"}, {declined}),
        ({"kind": "processed"}, {done}),
        ({"step": "create-shipment"}, {failed}),
        ({"agent": "payments"}, {waiting, declined}),
        ({"waiting": "payments"}, {waiting}),
        ({"waiting": "1"}, {waiting, retrying, declined, requested}),
        ({"code": "no_route"}, {failed}),
        ({"priority": "8"}, {waiting}),
        ({"older": "1h"}, {done}),
        ({"older": "3h"}, set()),
        ({"q": "bob@example.COM"}, {running}),
        ({"q": str(running.pk)}, {running}),
        ({"q": str(running.pk)[-9:]}, {running}),
        ({"q": str(done.pk)[:13]}, {done}),
        ({"state": "error", "kind": "running"}, set()),
        ({"state": "nonsense"}, set()),
        ({"older": "soon"}, set()),
        ({"priority": "ten"}, set()),
        ({"q": "'; drop table"}, set()),
        ({"unknown": "x", "state": "error"}, {failed, compensating}),
    ]
    for query, orders in expected:
        assert matches(**query) == {order.pk for order in orders}, query
        order_filter = OrderFilterForm(query).filter
        ids = set(search.matching(order_filter, most=100, retry_limits=retry_limits(), now=ahead(0)))
        assert ids == {order.pk for order in orders}, query
        counted = search.count(order_filter, now=ahead(0))
        assert counted in (None, len(orders)), query


def every_page(*, between: Callable[[], object] = lambda: None, **query: str) -> list[UUID]:
    """The orders on all pages of a query's list, page by page, with something happening in between."""
    seen: list[UUID] = []
    after, archived_after = "", ""
    while True:
        page = archive_search.page(
            OrderFilterForm(query).filter,
            after=read_position(after),
            archived_after=read_position(archived_after),
            limit=3,
            retry_limits=retry_limits(),
            now=ahead(0),
        )
        seen += [order.order_id for order in page.orders]
        if page.after is None and page.archived_after is None:
            return seen
        after, archived_after = str(page.after or ""), str(page.archived_after or "")
        between()


@pytest.mark.pattern("F35")
@pytest.mark.parametrize("ages", [[50, 40, 30, 20, 10, 5, 1], [9] * 7, [5, 5, 5, 3, 3, 3, 3]])
def test_pages_follow_one_another_by_age_without_gap_or_overlap(ages: list[int]) -> None:
    """The ids say nothing about age, and orders that were inserted together have the same age."""
    orders = [
        an_order(
            {"reserve-stock": "running"}, process_state="processing", order_id=uuid4(), created_at=ago(age)
        )
        for age in ages
    ]
    moment = ago(0)
    for order, age in zip(orders, ages, strict=True):
        order.created_at = moment - timedelta(seconds=age)
        order.save()
    newest_first = sorted(orders, key=lambda order: (order.created_at, order.pk), reverse=True)
    for query in ({}, {"kind": "running"}, {"agent": "warehouse"}, {"state": "processing"}, {"older": "1s"}):
        assert every_page(**query) == [order.pk for order in newest_first], query


def test_orders_that_change_their_state_between_two_pages_are_listed_once() -> None:
    orders = [
        an_order({"reserve-stock": "running"}, process_state="processing", created_at=ago(age))
        for age in range(7)
    ]

    def finish() -> None:
        OrderProcess.objects.update(process_state="processed", locked_by=None, finished_at=ago(0))

    assert every_page(between=finish) == [order.pk for order in orders]


def test_orders_that_are_archived_between_two_pages_of_a_search_are_listed_once() -> None:
    email = {"purchase": {"email": "ada@example.org"}}
    orders = [finished_order(days=89, **email) for _ in range(4)]
    orders += [finished_order(days=91 + number, **email) for number in range(4)]
    expected = sorted(
        OrderProcess.objects.all(), key=lambda order: (order.created_at, order.pk), reverse=True
    )
    assert every_page(q="ada@example.org", between=retain) == [order.pk for order in expected]
    assert ArchivedOrder.objects.count() == 4
    assert every_page(q="ada@example.org") == [order.pk for order in expected]


def test_the_links_below_the_list_lead_to_its_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_views, "PAGE", 3)
    orders = [
        an_order({"reserve-stock": "running"}, process_state="processing", created_at=ago(age)).pk
        for age in range(7)
    ]
    client, seen, link = desk("viewer"), [], "?state=processing"
    while link:
        page = client.get(f"/console/orders/{link}")
        seen += [row.order_id for row in page.context["orders"]]
        link = "".join(re.findall(r'rel="next" href="([^"]+)"', page.content.decode())).replace("&amp;", "&")
    assert seen == orders


def test_a_link_of_an_earlier_release_shows_the_first_page(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing")
    page = desk("viewer").get("/console/orders/", {"after": str(order.pk)})
    assert str(order.pk) in page.content.decode()


def test_the_first_digits_of_a_derived_id_find_its_order() -> None:
    derived, other = (
        an_order({}, order_id=derived_order_id(client="guest", key=key)).pk for key in ("k", "l")
    )
    assert every_page(q=str(derived)[:8]) == [derived]
    assert every_page(q=str(other)[-6:]) == [other]


def test_the_list_takes_a_limited_number_of_queries_and_explains_why_it_is_empty(
    desk: Desk, django_assert_max_num_queries: Any
) -> None:
    client = desk("operator")
    assert "No orders yet." in client.get("/console/orders/").content.decode()
    for _ in range(12):
        in_error()
    none = client.get("/console/orders/?state=pending").content.decode()
    assert "No order matches." in none
    assert "a complete email, an order ID, or at least 4 digits" in none
    refused = client.get("/console/orders/?older=soon").content.decode()
    assert "Enter an age as a number" in refused and "Nothing was searched" in refused
    with django_assert_max_num_queries(22):
        answer = client.get("/console/orders/?state=error")
    page = answer.content.decode()
    assert page.count("<tr data-row") == 12 and "12 orders" in page
    assert "/console/bulk/new/?state=error" in page


def test_the_full_id_of_a_submission_leads_to_its_page(desk: Desk) -> None:
    order_id = uuid7()
    SubmissionMessage.objects.create(order_id=order_id, client="guest", body={})
    answer = desk("viewer").get(f"/console/orders/?q={order_id}", follow=True)
    assert answer.redirect_chain == [(f"/console/orders/{order_id}/", 302)]
    assert "Put on the submission queue" in answer.content.decode()
    assert desk("viewer").get(f"/console/orders/{uuid7()}/").status_code == 404


def test_the_exported_orders_run_no_formula_and_the_export_is_in_the_audit_log(desk: Desk) -> None:
    order = an_order({"reserve-stock": "running"}, process_state="processing", email="=cmd|' /C calc'!A0")
    open_alert(order.pk, code="@SUM(1)")
    an_order({}, process_state="processed", finished_at=ago(1))
    answer = desk("viewer").get("/console/orders.csv?state=processing")
    assert answer.headers["Content-Type"].startswith("text/csv")
    text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    (head, row) = csv.reader(io.StringIO(text))
    assert dict(zip(head, row, strict=True)) | {"age_seconds": ""} == {
        "order": str(order.pk),
        "number": spoken_number(order.pk),
        "state": "processing",
        "standing": "running",
        "goal": "complete",
        "step": "reserve-stock",
        "failures": "0",
        "priority": "5",
        "age_seconds": "",
        "took_seconds": "",
        "total": "39.00",
        "currency": "EUR",
        "email": "'=cmd|' /C calc'!A0",
        "alert_code": "'@SUM(1)",
        "archived": "no",
        "workflow": "fulfil-order",
        "title": "",
        "subject": "",
    }
    entry = AuditEntry.objects.get(act="export")
    assert entry.result == "exported orders in state processing"


@pytest.mark.parametrize("path", ["/console/orders/", "/console/orders.csv", "/console/bulk/new/"])
def test_a_filter_that_nobody_offers_is_reported_and_breaks_nothing(path: str, desk: Desk) -> None:
    client = desk("operator")
    for name in NAMES:
        for value in ("https://evil.example/\r\nx: y", "💥" * 500, "[]"):
            assert client.get(path, {name: value}).status_code in (200, 302, 400), (name, value)


def test_the_sum_of_all_that_match_stands_beside_their_number(desk: Desk) -> None:
    in_error()
    pounds = in_error()
    Order.objects.filter(pk=pounds.pk).update(currency="GBP", total=1_250)
    an_order({})
    page = " ".join(desk("viewer").get("/console/orders/", {"q": "state:error"}).content.decode().split())
    assert "2 orders worth €39.00 and £12.50" in page
