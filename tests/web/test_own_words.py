"""A client's own words for its orders: a reference that no other order of its has, and metadata (S3, P1)."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from orders.engine.runtime.sql import database_now
from orders.models import ArchivedOrder, OrderProcess, SetAside, SubmissionKey, SubmissionMessage
from orders.retention import moving
from orders.services.operators import erasing_orders
from orders.shop.models import Product
from tests.support.factories import ago
from tests.support.finished_orders import archive
from tests.support.order_bodies import EMAIL, order_body
from tests.support.people import api_client
from tests.support.two_sessions import all_at_once
from tests.web.helpers import ORDERS, assert_problem, mistakes, place, run_submission

pytestmark = pytest.mark.django_db

METADATA = {"cost centre": "47/11", "note": "two\nlines, “quoted”", "nothing": "", "a.b]": "ünïcode ☂"}
WORDS: dict[str, Any] = {"reference": "invoice 1001", "metadata": METADATA}


def words_of(order: dict[str, Any]) -> dict[str, Any]:
    return {name: order[name] for name in WORDS}


def run_and_archive() -> None:
    run_submission()
    order_id = OrderProcess.objects.get().pk
    OrderProcess.objects.update(process_state="processed", finished_at=ago(60))
    archive(order_id)


def set_aside() -> None:
    Product.objects.update(currency="HUF")
    run_submission()
    Product.objects.update(currency="EUR")
    assert SetAside.objects.exists()


LIVES: dict[str, Callable[[], None]] = {
    "on the queue": lambda: None,
    "set aside": set_aside,
    "inserted": run_submission,
    "archived": run_and_archive,
}
everywhere = pytest.mark.parametrize("live", LIVES.values(), ids=LIVES.keys())


@everywhere
def test_they_come_back_as_they_were_sent_wherever_the_order_is(
    ada: APIClient, live: Callable[[], None]
) -> None:
    placed = place(ada, **WORDS)
    assert words_of(placed) == WORDS
    live()
    order = ada.get(placed["links"]["self"]).json()
    assert words_of(order) == WORDS
    assert order.pop("correctable") == []  # a list says nothing of that
    assert ada.get(ORDERS, {"expand": "lines,steps"}).json()["results"] == [order]


@everywhere
def test_orders_are_found_by_them_wherever_they_are(
    ada: APIClient, bob: APIClient, live: Callable[[], None]
) -> None:
    placed = place(ada, **WORDS)
    live()
    place(ada, reference="invoice 1002", metadata={"note": METADATA["note"]})
    place(ada)
    place(bob, **WORDS)

    def found(**query: str) -> list[str]:
        return [order["id"] for order in ada.get(ORDERS, query).json()["results"]]

    assert found(reference="invoice 1001") == [placed["id"]]
    assert found(reference="invoice 100") == []
    assert found(**{"metadata[cost centre]": "47/11"}) == [placed["id"]]
    assert found(**{"metadata[a.b]]": "ünïcode ☂", "metadata[nothing]": ""}) == [placed["id"]]
    assert found(**{"metadata[cost centre]": "47/11", "metadata[note]": "another"}) == []
    assert found(**{"metadata[note]": METADATA["note"], "reference": "invoice 1001"}) == [placed["id"]]
    assert len(found(**{"metadata[note]": METADATA["note"]})) == 2


def test_a_page_of_what_they_find_has_the_next_one(ada: APIClient) -> None:
    ids = [place(ada, metadata={"a&b": "c=d"})["id"] for _ in range(3)]
    place(ada)
    seen, url = [], f"{ORDERS}?page_size=2&metadata[a%26b]=c%3Dd"
    while url:
        page = ada.get(url).json()
        seen += [order["id"] for order in page["results"]]
        url = page["next"]
    assert seen == ids[::-1]


@pytest.mark.pattern("S3")
@everywhere
def test_a_second_order_with_a_reference_is_refused_and_names_the_first(
    ada: APIClient, live: Callable[[], None]
) -> None:
    placed = place(ada, key="k", **WORDS)
    live()
    for headers in ({}, {"Idempotency-Key": "l"}):
        for body in (order_body(**WORDS), order_body(priority=4, reference="invoice 1001")):
            refused = ada.post(ORDERS, body, headers=headers)
            problem = assert_problem(refused, "reference_taken")
            assert problem["order"] == {"id": placed["id"], "url": placed["links"]["self"]}
    again = ada.post(ORDERS, order_body(**WORDS), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again["Idempotent-Replayed"]) == (202, "true")
    assert again.json()["id"] == placed["id"]
    run_submission()
    rows = [table.objects.count() for table in (SubmissionMessage, SetAside, OrderProcess, ArchivedOrder)]
    assert sum(rows) == 1


def test_a_key_with_other_words_is_a_key_reused(ada: APIClient) -> None:
    place(ada, key="k", **WORDS)
    for changes in ({}, {"reference": "another"}, {"metadata": {}}, {"metadata": {"note": "another"}}):
        body = order_body(**({**WORDS, **changes} if changes else {}))
        assert_problem(ada.post(ORDERS, body, headers={"Idempotency-Key": "k"}), "idempotency_key_reused")


def test_a_reference_belongs_to_its_client(ada: APIClient, bob: APIClient) -> None:
    assert place(ada, **WORDS)["id"] != place(bob, **WORDS)["id"]


def test_an_order_that_can_no_longer_be_placed_is_still_named(ada: APIClient) -> None:
    placed = place(ada, reference="r")
    Product.objects.update(is_listed=False)
    problem = assert_problem(ada.post(ORDERS, order_body(reference="r")), "reference_taken")
    assert problem["order"]["id"] == placed["id"]
    assert mistakes(ada.post(ORDERS, order_body(reference="s"))) == ["/lines/0/sku", "/lines/1/sku"]


def test_an_order_without_a_reference_takes_none(ada: APIClient) -> None:
    place(ada, metadata=METADATA)
    record = SubmissionKey.objects.get()
    assert (record.key, record.reference_hash) == (None, None)
    message = SubmissionMessage.objects.get()
    assert "reference" not in message.body
    SubmissionMessage.objects.all().delete()
    place(ada)
    assert not {"reference", "metadata"} & SubmissionMessage.objects.get().body.keys()


def test_a_reference_is_free_once_its_order_is_gone_for_good(ada: APIClient) -> None:
    placed = place(ada, reference="r")
    run_and_archive()
    assert_problem(ada.post(ORDERS, order_body(reference="r")), "reference_taken")
    moving.delete_archived(before=database_now() + timedelta(days=1))
    assert not SubmissionKey.objects.exists()
    again = place(ada, reference="r")
    assert (again["id"], again["state"]) == (placed["id"], "pending")


@pytest.mark.pattern("F35")
def test_a_reference_whose_record_is_lost_places_no_second_order(ada: APIClient) -> None:
    placed = place(ada, reference="r")
    run_submission()
    SubmissionKey.objects.all().delete()
    problem = assert_problem(ada.post(ORDERS, order_body(reference="r")), "reference_taken")
    assert problem["order"]["id"] == placed["id"]
    assert (OrderProcess.objects.count(), SubmissionMessage.objects.count()) == (1, 0)


@pytest.mark.parametrize("live", [run_submission, run_and_archive], ids=["inserted", "archived"])
def test_they_are_erased_with_the_customer_and_the_reference_stays_taken(
    ada: APIClient, live: Callable[[], None]
) -> None:
    placed = place(ada, **WORDS)
    live()
    erasing_orders.erase_orders([UUID(placed["id"])], {"pattern": EMAIL, "short": "erased-1"})
    order = ada.get(placed["links"]["self"]).json()
    assert words_of(order) == {"reference": "", "metadata": {}}
    assert ada.get(ORDERS, {"reference": "invoice 1001"}).json()["results"] == []
    assert ada.get(f"{ORDERS}?metadata[cost centre]=47/11").json()["results"] == []
    problem = assert_problem(ada.post(ORDERS, order_body(**WORDS)), "reference_taken")
    assert problem["order"]["id"] == placed["id"]


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ({"reference": ""}, ["/reference"]),
        ({"reference": " "}, ["/reference"]),
        ({"reference": "x" * 121}, ["/reference"]),
        ({"reference": "a\nb"}, ["/reference"]),
        ({"reference": 7}, ["/reference"]),
        ({"reference": None}, ["/reference"]),
        ({"metadata": None}, ["/metadata"]),
        ({"metadata": [["a", "b"]]}, ["/metadata"]),
        ({"metadata": {str(number): "x" for number in range(21)}}, ["/metadata"]),
        ({"metadata": {"": "x", "a/b": 1, "c": {}}}, ["/metadata/", "/metadata/a~1b", "/metadata/c"]),
        ({"metadata": {"n" * 41: "x", "a\nb": "x"}}, [f"/metadata/{'n' * 41}", "/metadata/a\nb"]),
        (
            {"metadata": {"a": "x" * 501, "b": "\0", "c": "\ud800"}},
            ["/metadata/a", "/metadata/b", "/metadata/c"],
        ),
    ],
)
def test_words_that_are_not_allowed_are_refused_where_they_are(
    ada: APIClient, words: dict[str, Any], where: list[str]
) -> None:
    body = json.dumps(order_body(**words))  # half a surrogate pair can only be escaped
    assert mistakes(ada.post(ORDERS, body, content_type="application/json")) == where
    assert not SubmissionMessage.objects.exists()


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("reference=", "reference"),
        ("reference=a%0Ab", "reference"),
        ("reference=a&reference=b", "reference"),
        ("metadata=a", "metadata"),
        ("metadata[]=a", "metadata[]"),
        ("metadata[a]=b&metadata[a]=c", "metadata[a]"),
        (f"metadata[a]={'x' * 501}", "metadata[a]"),
        (f"metadata[{'a' * 41}]=b", f"metadata[{'a' * 41}]"),
        ("metadata[a=b", "metadata[a"),
        ("&".join(f"metadata[{number}]=a" for number in range(21)), "metadata"),
    ],
)
def test_a_query_that_is_not_allowed_is_refused(ada: APIClient, query: str, where: str) -> None:
    assert mistakes(ada.get(f"{ORDERS}?{query}")) == [where]


@pytest.mark.pattern("S3")
@pytest.mark.django_db(transaction=True)
def test_of_twenty_concurrent_orders_with_one_reference_exactly_one_is_placed(ada: APIClient) -> None:
    """Half of them have a key of their own."""

    def post(number: int) -> tuple[int, str]:
        headers = {"Idempotency-Key": f"k{number}"} if number % 2 else {}
        response = api_client(ada.token).post(ORDERS, order_body(reference="r"), headers=headers)
        body = response.json()
        return response.status_code, body["order"]["id"] if response.status_code == 409 else body["id"]

    answers = all_at_once(20, post)
    assert sorted(status for status, _ in answers) == [202, *[409] * 19]
    assert len({order_id for _, order_id in answers}) == 1
    assert SubmissionMessage.objects.count() == 1
