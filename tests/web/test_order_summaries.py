"""Summaries of orders: in lists and for whoever knows the ids, and how much of an order is returned."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.api.representations import OrderSummaryOut
from orders.models import Event, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.selectors.order_lists import order_summaries
from orders.shop.models import Product
from tests.support.factories import ago, ahead
from tests.support.finished_orders import archive
from tests.web.helpers import ORDERS, assert_problem, mistakes, place, run_submission

pytestmark = pytest.mark.django_db

PARTS = {"lines", "steps"}
SUMMARY = {
    *("id", "number", "workflow", "subject", "title", "version", "state", "goal"),
    *("waiting_for", "waiting_until"),
    *("reference", "metadata"),
    *("failure_count", "complete_by", "placed_at", "updated_at", "total", "links"),
}


@pytest.fixture
def everywhere(ada: APIClient, bob: APIClient) -> Mapping[str, str]:
    """An order of ada in each place, one that waits for her, and one of bob, by where they are."""
    archived, waiting, compensated = (place(ada, subject=f"table {number}")["id"] for number in range(3))
    run_submission()
    OrderProcess.objects.filter(pk=archived).update(process_state="processed", finished_at=ago(60))
    archive(UUID(archived))
    StepState.objects.filter(process_id=waiting, name="authorise-payment").update(
        state="failed",
        outcome="refused",
        attempt=1,
        answered=1,
        error={"code": "card_declined", "message": "no", "waits_for": "customer"},
        not_before=ahead(600),
    )
    OrderProcess.objects.filter(pk=compensated).update(
        process_state="compensated", goal="compensate", finished_at=ago(1)
    )
    aside = place(ada)["id"]
    Product.objects.filter(sku="tidal-lines").update(sku="gone")
    run_submission()
    Product.objects.filter(sku="gone").update(sku="tidal-lines")
    assert SetAside.objects.get().order_id == UUID(aside)
    return {
        "queued": place(ada)["id"],
        "aside": aside,
        "compensated": compensated,
        "waiting": waiting,
        "archived": archived,
        "bob's": place(bob)["id"],
    }


def test_a_list_says_of_each_order_what_the_order_says_itself_wherever_it_is(
    ada: APIClient, everywhere: Mapping[str, str]
) -> None:
    summaries = {order["id"]: order for order in ada.get(ORDERS).json()["results"]}
    whole = {order["id"]: order for order in ada.get(ORDERS, {"expand": "lines,steps"}).json()["results"]}
    own = [order_id for where, order_id in everywhere.items() if where != "bob's"]
    assert list(summaries) == list(whole) == own
    for order_id in own:
        response = ada.get(f"{ORDERS}/{order_id}")
        order = response.json()
        assert bool(order.pop("correctable")) == (order_id == everywhere["waiting"])
        assert whole[order_id] == order
        assert summaries[order_id] == {name: order[name] for name in order if name not in PARTS}
        assert response["ETag"] == f'W/"{order["version"]}"'
        assert set(summaries[order_id]) == SUMMARY | ({"error"} if order_id == everywhere["aside"] else set())
    waiting = summaries[everywhere["waiting"]]
    assert (waiting["waiting_for"], waiting["links"].keys() >= {"payment"}) == ("customer", True)
    assert waiting["waiting_until"] is not None


def test_summaries_of_orders_are_found_by_their_ids_wherever_they_are(
    ada: APIClient, everywhere: Mapping[str, str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ids = {UUID(order_id) for order_id in everywhere.values()} | {UUID(int=1)}
    with django_assert_num_queries(1):
        summaries = order_summaries(ids, ada.user.pk)
    results = ada.get(ORDERS).json()["results"]
    assert [str(order_id) for order_id in summaries] == [order["id"] for order in results]
    assert [OrderSummaryOut.render(summary) for summary in summaries.values()] == results
    assert order_summaries([], ada.user.pk) == {}


def test_a_second_submission_of_an_order_counts_once(ada: APIClient, everywhere: Mapping[str, str]) -> None:
    order_id = everywhere["waiting"]
    place(ada)
    latest = SubmissionMessage.objects.order_by("-id")[0]
    latest.order_id = UUID(order_id)
    latest.save()
    results = [order["id"] for order in ada.get(ORDERS).json()["results"]]
    assert results.count(order_id) == 1
    assert order_summaries([UUID(order_id)], ada.user.pk)[UUID(order_id)].waiting_for == "customer"
    pending = ada.get(ORDERS, {"waiting_for": "customer"}).json()["results"]
    assert [order["id"] for order in pending] == [order_id]


@pytest.mark.parametrize("fields", ["id", "id,state,waiting_for", "version,version", "links,error"])
def test_only_the_members_that_are_named_are_returned(
    ada: APIClient, everywhere: Mapping[str, str], fields: str
) -> None:
    names = set(fields.split(","))
    results = ada.get(ORDERS, {"fields": fields}).json()["results"]
    assert len(results) == 5
    for order, where in zip(results, everywhere, strict=False):
        whole = ada.get(f"{ORDERS}/{everywhere[where]}").json()
        expected = {name: whole[name] for name in whole if name in names}
        assert order == expected
        response = ada.get(f"{ORDERS}/{everywhere[where]}", {"fields": fields})
        assert response.json() == expected
        assert response["ETag"] == f'W/"{whole["version"]}"'


def test_parts_are_returned_if_they_are_named_or_asked_for(ada: APIClient) -> None:
    place(ada)
    members = lambda url, query: set(ada.get(f"{ORDERS}{url}?{query}").json().get("results", [{}])[0])  # noqa: E731
    assert members("", "fields=id,steps") == {"id", "steps"}
    assert members("", "fields=id&expand=lines") == {"id", "lines"}
    assert members("", "expand=steps") == SUMMARY | {"steps"}
    assert members("", "expand=steps&expand=lines") == SUMMARY | PARTS


def test_an_order_brings_its_first_events_and_its_progress(ada: APIClient) -> None:
    order = place(ada)
    run_submission()
    url, links = order["links"]["self"], order["links"]
    Event.objects.bulk_create(
        Event(order_id=order["id"], kind="claimed", actor_kind="scheduler", actor_name="s")
        for _ in range(110)
    )
    whole = ada.get(url).json()
    expanded = ada.get(url, {"expand": "events,progress"}).json()
    assert expanded == whole | {
        "events": ada.get(links["events"], {"page_size": 100}).json() | {"next": expanded["events"]["next"]},
        "progress": ada.get(links["progress"]).json(),
    }
    assert len(ada.get(expanded["events"]["next"]).json()["results"]) == 11
    assert set(ada.get(url, {"fields": "id,events"}).json()) == {"id", "events"}
    assert set(ada.get(url, {"fields": "id", "expand": "progress"}).json()) == {"id", "progress"}


@pytest.mark.parametrize(
    ("url", "query", "where"),
    [
        ("", "fields=id,nonsense", "fields"),
        ("", "fields=events", "fields"),
        ("", "fields=", "fields"),
        ("", "fields=id,", "fields"),
        ("", "expand=events", "expand"),
        ("/{id}", "fields=nonsense", "fields"),
        ("/{id}", "expand=steps", "expand"),
        ("/{id}", "expand=events,events,x", "expand"),
        ("/{id}", "state=pending", "state"),
    ],
)
def test_an_unknown_member_is_a_problem_that_lists_those_that_there_are(
    ada: APIClient, url: str, query: str, where: str
) -> None:
    order = place(ada)
    response = ada.get(f"{ORDERS}{url}?{query}".replace("{id}", order["id"]))
    assert mistakes(response) == [where]


def test_the_problem_names_what_is_unknown_and_all_that_is_known(ada: APIClient) -> None:
    (error,) = assert_problem(ada.get(f"{ORDERS}?expand=x,steps"), "validation_failed")["errors"]
    assert (
        error["detail"] == "There is no 'x' here. Give one or more of lines, steps, with commas between them."
    )
    (error,) = assert_problem(ada.get(f"{ORDERS}?fields=nonsense"), "validation_failed")["errors"]
    assert all(f" {name}," in f" {error['detail']}" for name in SUMMARY | PARTS)


def test_the_next_page_asks_for_the_same(ada: APIClient) -> None:
    for _ in range(3):
        place(ada)
    page = ada.get(f"{ORDERS}?page_size=2&fields=id&fields=state&state=error&state=pending").json()
    following: Any = ada.get(page["next"]).json()
    assert [set(order) for order in following["results"]] == [{"id", "state"}]
    assert following["next"] is None
