"""The operators' REST API: everybody's orders with the console's filters, and all about one of them."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.business import ResultType
from orders.engine.channels import submissions
from orders.models import OrderProcess, SetAside
from orders.selectors.desk import compensation
from orders.services.audit import Actor
from orders.services.operators import bulk
from orders.vocabulary import TokenScope
from tests.support.businesses import Oven, business
from tests.support.factories import ago, ahead, step_of
from tests.support.finished_orders import archive, finished_order
from tests.support.order_bodies import DELFT
from tests.support.people import api_client, person, token_of
from tests.support.submissions import BODY, a_role
from tests.support.weighed_cakes import WeighedCakes, doubtful_cake
from tests.web.conftest import Limits
from tests.web.console_orders import BEFORE_SHIPMENT, an_order, in_error
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db

API = "/api/v1"
SEARCH, COMPENSATIONS, SET_ASIDE = f"{API}/orders/search", f"{API}/compensations", f"{API}/set-aside"


@pytest.fixture
def viewer() -> APIClient:
    return api_client(token_of(person("viewer")))


def ids(answer: Any) -> list[UUID]:
    """The orders of a page."""
    return [UUID(row["id"]) for row in answer.json()["results"]]


def all_pages(client: APIClient, path: str) -> list[list[Any]]:
    """The results of each page, from the first to the last."""
    pages = []
    while path:
        page = client.get(path).json()
        pages.append(page["results"])
        path = page["next"]
    return pages


def retrying(seconds: float = 900, **process: Any) -> OrderProcess:
    step = {"state": "not_started", "attempt": 1, "outcome": "unknown", "failure_count": 1}
    return an_order(
        {"reserve-stock": step | {"not_before": ahead(seconds)}}, not_before=ahead(900), **process
    )


@pytest.mark.parametrize("path", [SEARCH, COMPENSATIONS, SET_ASIDE, f"{API}/orders/{UUID(int=1)}/details"])
def test_a_viewer_may_read_and_a_customer_may_not(viewer: APIClient, path: str) -> None:
    assert viewer.get(path).status_code in (200, 404)
    assert_problem(api_client(token_of(person("customer"))).get(path), "permission_denied")
    assert_problem(APIClient().get(path), "not_authenticated")
    others = api_client(token_of(person("admin"), *(set(TokenScope) - {TokenScope.OPERATE})))
    assert assert_problem(others.get(path), "scope_missing")["needed_scope"] == "operate"


def test_each_filter_finds_exactly_its_orders(viewer: APIClient) -> None:
    failed, waiting = in_error(), retrying(email="Bob@Example.com", priority=8)
    running = an_order({"reserve-stock": "running"}, process_state="processing", created_at=ago(7_200))
    for query, orders in (
        ({}, [waiting, failed, running]),
        ({"state": "error"}, [failed]),
        ({"standing": "retrying"}, [waiting]),
        ({"standing": "error", "code": "no_route"}, [failed]),
        ({"code": "other"}, []),
        ({"step": "reserve-stock"}, [waiting, running]),
        ({"agent": "carrier", "workflow": "fulfil-order"}, [failed]),
        ({"workflow": "bake-cake"}, []),
        ({"waiting": "1"}, [waiting]),
        ({"waiting": "warehouse"}, []),
        ({"older": "1h"}, [running]),
        ({"priority": "8"}, [waiting]),
        ({"q": " bob@example.com "}, [waiting]),
        ({"q": str(failed.pk)}, [failed]),
        ({"q": "city=Nowhere"}, []),
    ):
        assert set(ids(viewer.get(SEARCH, query))) == {order.pk for order in orders}, query


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        *(("state=done", "state"), ("standing=waiting+for+agent", "standing"), ("older=soon", "older")),
        *(("older=2+h", "older"), ("priority=10", "priority"), ("q=%01", "q"), ("kind=error", "kind")),
        *(("cursor=5", "cursor"), ("cursor=archived-", "cursor"), ("page_size=101", "page_size")),
    ],
)
def test_what_no_order_can_match_is_refused(viewer: APIClient, query: str, parameter: str) -> None:
    assert mistakes(viewer.get(f"{SEARCH}?{query}")) == [parameter]


def test_a_row_says_where_an_order_stands_and_what_was_requested(viewer: APIClient) -> None:
    failed = in_error()
    bulk.resubmit_one(order_id=failed.pk, actor=Actor(name="olga"), reason="")
    (row,) = viewer.get(SEARCH).json()["results"]
    assert (row["state"], row["standing"]["kind"], row["code"]) == ("error", "error", "no_route")
    assert [(step["name"], step["agent"]) for step in row["steps"]] == [("create-shipment", "carrier")]
    assert (row["total"], row["is_archived"]) == ({"amount": 3900, "currency": "EUR"}, False)
    assert (row["act"]["by"], row["act"]["kind"], row["act"]["state"]) == ("olga", "resubmit", "waiting")
    assert row["act"]["until"] is not None
    assert viewer.get(row["links"]["details"]).json()["alert"]["group"] == row["group"]
    assert viewer.get(f"{API}/alerts?group={row['group']}").json()["results"][0]["order_id"] == row["id"]


def test_the_pages_lead_through_the_archive(viewer: APIClient) -> None:
    stored = [finished_order(days=days) for days in (1, 2, 3)]
    archived = [finished_order(days=days) for days in (101, 102, 103)]
    for order_id in archived:
        archive(order_id, days=0)
    for size in (1, 2, 3, 4):
        pages = all_pages(viewer, f"{SEARCH}?state=processed&page_size={size}")
        assert [UUID(row["id"]) for page in pages for row in page] == [*stored, *archived], size
        assert [row["is_archived"] for page in pages for row in page] == [False] * 3 + [True] * 3
        assert max(map(len, pages)) == size


def test_a_search_is_counted_as_the_consoles_is(viewer: APIClient, only: Limits) -> None:
    only(search__account=1)
    assert [viewer.get(SEARCH, {"q": "a poster"}).status_code for _ in range(2)] == [200, 429]
    assert viewer.get(SEARCH).status_code == 200


def test_what_is_being_compensated_is_listed_by_its_state(viewer: APIClient) -> None:
    failed = an_order(
        {"reserve-stock": {"state": "failed", "outcome": "done", "compensation_failure_count": 6}},
        process_state="error",
        goal="compensate",
    )
    pending = an_order(BEFORE_SHIPMENT, goal="compensate")
    in_error(), an_order(BEFORE_SHIPMENT), finished_order(state="compensated")
    assert ids(viewer.get(COMPENSATIONS)) == [pending.pk, failed.pk]
    assert ids(viewer.get(f"{COMPENSATIONS}?state=error")) == [failed.pk]
    assert ids(viewer.get(f"{COMPENSATIONS}?state=pending,processing")) == [pending.pk]
    (row,) = viewer.get(f"{COMPENSATIONS}?state=error").json()["results"]
    assert (row["standing"]["kind"], row["standing"]["compensating"]) == ("compensation_failed", True)
    assert mistakes(viewer.get(f"{COMPENSATIONS}?state=processed")) == ["state"]


@pytest.mark.parametrize("looked_at", [2, 3, 10_000])
def test_a_page_of_compensations_looks_at_so_many_orders_and_none_is_missed(
    viewer: APIClient, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(compensation, "LOOKED_AT", looked_at)
    at, orders = ago(60), []
    for number in range(12):  # some at the same time, every third of them not compensating
        state = {"process_state": "error"} if number % 2 else {}
        goal = "complete" if number % 3 == 0 else "compensate"
        orders.append(an_order({}, goal=goal, created_at=at if number < 6 else ago(50 - number), **state))
    expected = [order for order in orders if order.goal == "compensate"]
    expected.sort(key=lambda order: (order.created_at, order.pk), reverse=True)
    for size in (1, 3, 100):
        pages = all_pages(viewer, f"{COMPENSATIONS}?page_size={size}")
        assert [row["id"] for page in pages for row in page] == [str(order.pk) for order in expected]


def test_what_was_set_aside_is_listed_oldest_first(viewer: APIClient) -> None:
    for number in range(3):
        submissions.post(order_id=uuid7(), client="guest", body={"lines": number})
    a_role().run_once()
    rows = list(SetAside.objects.order_by("pk"))
    pages = all_pages(viewer, f"{SET_ASIDE}?page_size=2")
    assert [[row["number"] for row in page] for page in pages] == [[rows[0].pk, rows[1].pk], [rows[2].pk]]
    first = pages[0][0]
    assert (first["order_id"], first["body"], first["client"]) == (
        str(rows[0].order_id),
        {"lines": 0},
        "guest",
    )
    SetAside.objects.update(replayed_at=ago(1))
    assert viewer.get(SET_ASIDE).json() == {"results": [], "next": None}


def details(client: APIClient, order_id: UUID) -> dict[str, Any]:
    answer = client.get(f"{API}/orders/{order_id}/details")
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    return body


def test_the_details_of_an_order_say_what_may_be_done(viewer: APIClient) -> None:
    order = in_error()
    body = details(viewer, order.pk)
    assert (body["process"]["state"], body["process"]["standing"]["kind"]) == ("error", "error")
    assert body["acts"] == [
        *("resubmit_order", "set_order_priority", "pause_order", "edit_order"),
        "compensate_order",
    ]
    OrderProcess.objects.filter(pk=order.pk).update(paused_at=ago(60))
    assert "resume_order" in details(viewer, order.pk)["acts"]
    assert "pause_order" not in details(viewer, order.pk)["acts"]
    assert (body["alert"]["code"], body["queued"], body["set_aside"]) == ("no_route", None, None)
    step = next(step for step in body["steps"] if step["name"] == "create-shipment")
    assert step["id"] == step_of(order, "create-shipment").pk
    assert (step["request"]["ship_to"], step["error"]["code"]) == (DELFT, "no_route")
    assert step["acts"] == ["edit_step"]
    (field,) = step["editable"]
    assert (field["name"], field["type"]) == ("ship_to", "address")
    assert {part["name"] for part in field["parts"]} == {*DELFT, "line2", "state", "phone"}
    waiting = retrying()
    assert details(viewer, waiting.pk)["acts"][0] == "retry_order"
    ended = finished_order(days=1, purchase={"email": "zelda@customer.example"})
    assert details(viewer, ended)["acts"] == ["compensate_order", "erase_customer"]


@pytest.fixture
def bakery(settings: Any) -> Iterator[None]:
    with business(settings, kinds=[WeighedCakes], agents=[Oven()]):
        yield


def test_the_details_of_a_step_say_what_its_result_must_hold(viewer: APIClient, bakery: None) -> None:
    step = details(viewer, doubtful_cake().pk)["steps"][0]
    assert step["acts"] == ["skip_step", "settle_step"] and step["outcome"] == "unknown"
    assert [(field["name"], field["type"]) for field in step["result_fields"]] == [
        *(("tin", ResultType.TEXT), ("grams", ResultType.NUMBER), ("layers", ResultType.JSON))
    ]


def queued() -> UUID:
    order_id = uuid7()
    submissions.post(order_id=order_id, client="guest", body=BODY)
    return order_id


def put_aside() -> UUID:
    order_id = uuid7()
    submissions.post(order_id=order_id, client="guest", body={})
    a_role().run_once()
    return order_id


def archived() -> UUID:
    order_id = finished_order()
    archive(order_id)
    return order_id


@pytest.mark.parametrize(
    ("make", "place", "acts"),
    [
        (queued, "queued", ["compensate_order"]),
        (put_aside, "set_aside", ["compensate_order", "replay_submission"]),
        (archived, "process", ["erase_customer"]),
    ],
)
def test_an_order_has_details_wherever_it_is(
    viewer: APIClient, make: Callable[[], UUID], place: str, acts: list[str]
) -> None:
    order_id = make()
    body = details(viewer, order_id)
    assert body["id"] == str(order_id)
    assert [name for name in ("process", "queued", "set_aside") if body[name]] == [place]
    assert (body["acts"], body["is_archived"]) == (acts, place == "process")
    assert_problem(viewer.get(f"{API}/orders/{uuid7()}/details"), "not_found")


def test_a_page_costs_as_many_statements_however_many_orders_it_has(viewer: APIClient) -> None:
    counts = []
    viewer.get(SEARCH)  # which notes the use of the token
    for number in (2, 6):
        for _ in range(number):
            an_order(BEFORE_SHIPMENT, goal="compensate")
        with CaptureQueriesContext(connection) as queries:
            viewer.get(SEARCH), viewer.get(COMPENSATIONS)
        counts.append(len(queries))
    assert counts[0] == counts[1]
