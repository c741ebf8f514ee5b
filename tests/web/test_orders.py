"""Reading one order, a list of orders, and an order's events."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from orders.models import Event, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.shop.models import Product
from tests.support.factories import ago
from tests.support.finished_orders import archive
from tests.support.order_bodies import TOTAL, order_body
from tests.web.helpers import ORDERS, assert_problem, change_state, mistakes, place, run_submission

pytestmark = pytest.mark.django_db

NOWHERE = "01936b1e-6f0c-7c2e-9f3a-3d8f0f6f2b11"
STEPS = ["reserve-stock", "authorise-payment", "create-shipment", "capture-payment", "send-confirmation"]


def inserted(client: APIClient, **changes: Any) -> dict[str, Any]:
    """Places an order, has it inserted, and returns its representation."""
    placed = place(client, **changes)
    run_submission()
    response = client.get(placed["links"]["self"])
    assert response.status_code == 200
    return response.json()


def test_an_inserted_order_has_its_steps_in_the_order_of_the_workflow(ada: APIClient) -> None:
    order = inserted(ada)
    assert [step["name"] for step in order["steps"]] == STEPS
    assert order["steps"][0] == {
        "name": "reserve-stock",
        "state": "not_started",
        "attempts": 0,
        "complete_by": None,
        "started_at": None,
        "completed_at": None,
    }


def test_inserting_an_order_changes_only_its_steps_and_when_it_was_updated(ada: APIClient) -> None:
    placed = place(ada)
    run_submission()
    order = ada.get(placed["links"]["self"]).json()
    changed = {name for name in placed if placed[name] != order[name]}
    assert changed == {"steps", "updated_at", "version"}


def test_a_step_shows_its_attempts_error_and_next_retry(ada: APIClient) -> None:
    order = inserted(ada)
    StepState.objects.filter(process_id=order["id"], name="authorise-payment").update(
        state="failed",
        attempt=2,
        outcome="refused",
        error={"code": "declined", "message": "no", "waits_for": "customer", "trace": "internal"},
        not_before=datetime(2030, 1, 1, tzinfo=UTC),
    )
    step = ada.get(f"{ORDERS}/{order['id']}").json()["steps"][1]
    assert (step["state"], step["attempts"], step["not_before"]) == ("failed", 2, "2030-01-01T00:00:00Z")
    assert step["error"] == {"code": "declined", "message": "no", "waits_for": "customer"}


def test_updated_at_is_the_time_of_the_last_event(ada: APIClient) -> None:
    order = inserted(ada)
    event = Event.objects.create(
        order_id=order["id"], kind="claimed", actor_kind="scheduler", actor_name="scheduler:test"
    )
    event.refresh_from_db()
    updated_at = ada.get(f"{ORDERS}/{order['id']}").json()["updated_at"]
    assert datetime.fromisoformat(updated_at) == event.at


@pytest.mark.pattern("S3")
def test_an_order_whose_submission_was_set_aside_is_in_error_with_the_reason(ada: APIClient) -> None:
    placed = place(ada)
    Product.objects.filter(sku="tidal-lines").delete()
    run_submission()
    order = ada.get(placed["links"]["self"]).json()
    assert order["state"] == "error"
    assert order["error"] == {"code": "set_aside", "message": "unknown product 'tidal-lines'."}
    assert (order["total"]["amount"], len(order["lines"]), order["steps"]) == (TOTAL, 2, [])
    results = ada.get(ORDERS, {"state": "error", "expand": "steps,lines"}).json()["results"]
    assert order.pop("correctable") == []  # a list says nothing of that
    assert results == [order]
    assert ada.get(ORDERS, {"state": "pending"}).json()["results"] == []


def test_a_version_that_the_client_has_is_not_sent_again(ada: APIClient) -> None:
    order = inserted(ada)
    url = f"{ORDERS}/{order['id']}"
    etag = ada.get(url)["ETag"]
    for etags in (etag, etag.removeprefix("W/"), f'"other", {etag}', "*"):
        response = ada.get(url, headers={"If-None-Match": etags})
        assert (response.status_code, response.content, response["ETag"]) == (304, b"", etag)
    for unknown in ('"other"', "", "nonsense"):
        assert ada.get(url, headers={"If-None-Match": unknown}).status_code == 200


def test_each_new_event_and_state_changes_the_etag(ada: APIClient) -> None:
    order = inserted(ada)
    url = f"{ORDERS}/{order['id']}"
    etags = {ada.get(url)["ETag"]}
    Event.objects.create(
        order_id=order["id"], kind="claimed", actor_kind="scheduler", actor_name="scheduler:test"
    )
    etags.add(ada.get(url)["ETag"])
    change_state(order["id"], "processing")
    etags.add(ada.get(url)["ETag"])
    assert len(etags) == 3


@pytest.mark.parametrize("is_inserted", [False, True], ids=["queued", "inserted"])
def test_another_clients_order_is_not_found(ada: APIClient, bob: APIClient, is_inserted: bool) -> None:
    order = place(ada)
    if is_inserted:
        run_submission()
    for url in order["links"].values():
        assert_problem(bob.get(url), "not_found")
    assert bob.get(ORDERS).json()["results"] == []
    assert len(ada.get(ORDERS).json()["results"]) == 1


def test_another_clients_set_aside_order_is_not_found(ada: APIClient, bob: APIClient) -> None:
    order = place(ada)
    Product.objects.filter(sku="tidal-lines").delete()
    run_submission()
    assert_problem(bob.get(order["links"]["self"]), "not_found")
    assert bob.get(ORDERS).json()["results"] == []


@pytest.mark.parametrize("order_id", [NOWHERE, NOWHERE.upper(), "1", f"{NOWHERE}/"])
def test_an_unknown_order_is_not_found(ada: APIClient, order_id: str) -> None:
    assert_problem(ada.get(f"{ORDERS}/{order_id}"), "not_found")


def test_pages_list_every_order_once_newest_first(ada: APIClient) -> None:
    placed = [place(ada)["id"] for _ in range(3)]
    run_submission()
    placed += [place(ada)["id"] for _ in range(2)]
    seen, url = [], f"{ORDERS}?page_size=2"
    while url:
        page = ada.get(url).json()
        seen += [order["id"] for order in page["results"]]
        url = page["next"]
    assert seen == placed[::-1]


def test_orders_can_be_filtered_by_state_and_time(ada: APIClient) -> None:
    first = inserted(ada)
    change_state(first["id"], "processed")
    second = inserted(ada)
    third = place(ada)
    ids = lambda **query: [order["id"] for order in ada.get(ORDERS, query).json()["results"]]  # noqa: E731
    assert ids(state="processed") == [first["id"]]
    assert ids(state="pending") == [third["id"], second["id"]]
    assert ids(state="error") == []
    assert ids(placed_after=first["placed_at"]) == [third["id"], second["id"]]
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert ids(placed_after=tomorrow.isoformat()) == []


def test_an_offset_whose_plus_sign_became_a_space_is_accepted(ada: APIClient) -> None:
    order = place(ada)
    results = ada.get(f"{ORDERS}?placed_after=2026-01-01T00:00:00+00:00").json()["results"]
    assert [result["id"] for result in results] == [order["id"]]


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("state=lost", "state"),
        ("state=", "state"),
        ("placed_after=yesterday", "placed_after"),
        ("placed_after=2026-01-01T00:00:00", "placed_after"),
        ("placed_after=0001-01-01T00:00:00%2B14:00", "placed_after"),
        ("cursor=1", "cursor"),
        ("page_size=1000", "page_size"),
        ("subject=a%0Ab", "subject"),
        ("customer=2", "customer"),
    ],
)
def test_an_invalid_query_is_refused(ada: APIClient, query: str, where: str) -> None:
    assert mistakes(ada.get(f"{ORDERS}?{query}")) == [where]


def test_orders_about_a_subject_are_listed_page_by_page_wherever_they_are(
    ada: APIClient, bob: APIClient
) -> None:
    archived, *_ = ids = [place(ada, subject=subject)["id"] for subject in ("mine", "other", "mine")]
    place(bob, subject="mine")
    run_submission()
    OrderProcess.objects.filter(pk=archived).update(process_state="processed", finished_at=ago(60))
    archive(UUID(archived))
    aside = place(ada, subject="mine")["id"]
    Product.objects.filter(sku="tidal-lines").update(sku="gone")
    run_submission()
    Product.objects.filter(sku="gone").update(sku="tidal-lines")
    queued = place(ada, subject="mine")["id"]
    assert SetAside.objects.get().order_id == UUID(aside)
    seen, url = [], f"{ORDERS}?page_size=2&subject=mine"
    while url:
        page = ada.get(url).json()
        seen += [order["id"] for order in page["results"]]
        url = page["next"]
    assert seen == [queued, aside, ids[2], archived]
    assert ada.get(f"{ORDERS}?subject=min").json()["results"] == []


def test_a_page_takes_the_same_number_of_queries_whatever_its_size(
    ada: APIClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(2):
        inserted(ada)
    place(ada)
    with django_assert_num_queries(2):  # the token and the page
        assert len(ada.get(ORDERS).json()["results"]) == 3
    for _ in range(6):
        inserted(ada)
    place(ada)
    with django_assert_num_queries(2):
        assert len(ada.get(ORDERS, {"expand": "lines,steps"}).json()["results"]) == 10


def test_an_orders_events_leave_out_internal_details(ada: APIClient) -> None:
    order = inserted(ada)
    Event.objects.create(
        order_id=order["id"],
        kind="step_failed",
        step="create-shipment",
        attempt=2,
        actor_kind="agents",
        actor_name="agents:host-7:123",
        detail={"error": {"code": "no_route", "message": "no"}, "instance": "agents:host-7:123"},
    )
    page = ada.get(order["links"]["events"]).json()
    received, failed = page["results"]
    assert (received["kind"], received["step"], received["attempt"]) == ("received", "", 0)
    assert failed | {"id": 0, "at": ""} == {
        "id": 0,
        "at": "",
        "kind": "step_failed",
        "step": "create-shipment",
        "attempt": 2,
        "error": {"code": "no_route", "message": "no"},
    }
    assert "host-7" not in str(page)


def test_the_event_of_a_failed_call_says_what_went_wrong(ada: APIClient) -> None:
    order = inserted(ada)
    fault = {"code": "http_503", "message": "the carrier is closed"}
    for detail in (
        {**fault, "try": 1, "seconds": 0.2, "answer": {"tin": "T7"}},
        {"try": 2},
        {"error": fault, "try": 3},
    ):
        Event.objects.create(
            order_id=order["id"],
            kind="call_failed",
            step="create-shipment",
            attempt=1,
            actor_kind="agents",
            actor_name="agents:host-7:123",
            detail=detail,
        )
    _received, *events = ada.get(order["links"]["events"]).json()["results"]
    assert [event.get("error") for event in events] == [fault, None, None]


def test_events_are_listed_page_by_page(ada: APIClient) -> None:
    order = inserted(ada)
    for kind in ("claimed", "step_started", "step_completed"):
        Event.objects.create(
            order_id=order["id"], kind=kind, actor_kind="scheduler", actor_name="scheduler:test"
        )
    first = ada.get(order["links"]["events"], {"page_size": 3}).json()
    second = ada.get(first["next"]).json()
    assert [event["kind"] for event in first["results"]] == ["received", "claimed", "step_started"]
    assert ([event["kind"] for event in second["results"]], second["next"]) == (["step_completed"], None)


def test_an_order_that_is_not_inserted_yet_has_no_events(ada: APIClient) -> None:
    order = place(ada)
    assert ada.get(order["links"]["events"]).json() == {"results": [], "next": None}


def test_a_malformed_submission_can_still_be_read(ada: APIClient) -> None:
    client = f"user:{ada.user.pk}"
    for number, body in enumerate(
        ["text", [], 7, {"lines": [1, {}], "total": 5, "currency": "EUR"}, {"lines": 5}]
    ):
        order_id = f"01936b1e-6f0c-7c2e-9f3a-3d8f0f6f2b{number:02}"
        SubmissionMessage.objects.create(order_id=order_id, client=client, body=body)
        assert ada.get(f"{ORDERS}/{order_id}").json()["lines"] == []
        aside = f"01936b1e-6f0c-7c2e-9f3a-3d8f0f6f3b{number:02}"
        SetAside.objects.create(
            order_id=aside,
            client=client,
            body=body,
            reason="inserting it failed: IntegrityError: secret",
            posted_at=datetime.now(UTC),
        )
        assert ada.get(f"{ORDERS}/{aside}").json()["error"]["message"] == "inserting it failed"
    assert len(ada.get(ORDERS).json()["results"]) == 10


def test_a_finished_order_shows_its_final_state(ada: APIClient) -> None:
    order = inserted(ada)
    OrderProcess.objects.filter(order_id=order["id"]).update(
        process_state="compensated", goal="compensate", failure_count=4
    )
    read = ada.get(f"{ORDERS}/{order['id']}").json()
    assert (read["state"], read["goal"], read["failure_count"]) == ("compensated", "compensate", 4)


def test_everything_that_belongs_to_a_client_needs_a_token(anybody: APIClient) -> None:
    for url in (
        ORDERS,
        f"{ORDERS}/{NOWHERE}",
        f"{ORDERS}/{NOWHERE}/events",
        "/api/v1/response-queues/q/messages",
    ):
        response = anybody.get(url)
        assert_problem(response, "not_authenticated")
        assert response["WWW-Authenticate"] == "Token"
    assert_problem(anybody.post(ORDERS, order_body()), "not_authenticated")
    assert_problem(anybody.delete("/api/v1/response-queues/q/messages/1"), "not_authenticated")
