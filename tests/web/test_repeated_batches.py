"""Batches of orders that come again: each order is placed once, and what was placed stands."""

import pytest
from rest_framework.test import APIClient

from orders.business import BadOrderError
from orders.models import Order, SubmissionKey, SubmissionMessage
from orders.shop.models import Product
from orders.shop.workflows import FulfilOrder
from tests.support.order_bodies import order_body
from tests.support.people import api_client
from tests.support.two_sessions import all_at_once
from tests.web.batches import item, outcomes, post
from tests.web.helpers import ORDERS, place, run_submission


@pytest.mark.pattern("S3", "F3", "F4")
def test_a_key_that_comes_again_in_a_batch_is_treated_as_in_one_post_after_the_other(ada: APIClient) -> None:
    results = post(
        ada,
        item("a", email="nobody"),
        item("b", lines=[{"sku": "sold-out", "quantity": 1}]),
        *(item("a"), item("b"), item("a"), item("b", priority=6)),
        item("b", lines=[{"sku": "sold-out", "quantity": 1}]),
    )
    assert outcomes(results) == [
        *((400, "validation_failed"), (400, "validation_failed")),
        *((202, False), (202, False), (202, True), (422, "idempotency_key_reused")),
        (422, "idempotency_key_reused"),
    ]
    assert results[2]["order_id"] == results[4]["order_id"]
    assert SubmissionMessage.objects.count() == 2


@pytest.mark.pattern("S3")
def test_a_reference_is_taken_by_the_first_of_a_batch_and_by_what_was_placed_before(ada: APIClient) -> None:
    before = place(ada, reference="before")
    results = post(
        ada,
        item("a", reference="twice", metadata={"cart": "7"}),
        item("b", reference="twice"),
        item("c", reference="before"),
        item("d", reference="once"),
    )
    assert outcomes(results) == [
        (202, False),
        (409, "reference_taken"),
        (409, "reference_taken"),
        (202, False),
    ]
    first, second, third, _ = results
    assert second["problem"]["order"] == {"id": first["order_id"], "url": first["links"]["self"]}
    assert third["problem"]["order"]["id"] == before["id"]
    assert ada.get(first["links"]["self"]).json()["metadata"] == {"cart": "7"}
    again = post(
        ada,
        item("a", reference="twice", metadata={"cart": "7"}),
        item("d", reference="once"),
        item("b", reference="b"),
    )
    assert outcomes(again) == [(202, True), (202, True), (202, False)]


def test_a_batch_that_is_repeated_is_replayed_wherever_its_orders_are(ada: APIClient) -> None:
    items = [item(f"k{number}") for number in range(5)]
    first = post(ada, *items)
    assert outcomes(post(ada, *items)) == [(202, True)] * 5
    run_submission()
    again = post(ada, *items, item("new"))
    assert outcomes(again) == [(202, True)] * 5 + [(202, False)]
    assert [result["order_id"] for result in again[:5]] == [result["order_id"] for result in first]
    assert (Order.objects.count(), SubmissionMessage.objects.count()) == (5, 1)


@pytest.mark.pattern("S3")
def test_a_key_is_the_same_in_a_batch_and_in_a_single_post(ada: APIClient, bob: APIClient) -> None:
    single = place(ada, key="a")
    results = post(ada, item("a"), item("a", priority=6), item("b"))
    assert outcomes(results) == [(202, True), (422, "idempotency_key_reused"), (202, False)]
    assert results[0]["order_id"] == single["id"]
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "b"})
    assert (again.json()["id"], again["Idempotent-Replayed"]) == (results[2]["order_id"], "true")
    assert outcomes(post(bob, item("a"))) == [(202, False)]


@pytest.mark.pattern("F35")
def test_orders_that_are_there_although_the_records_of_their_keys_are_lost_are_replayed(
    ada: APIClient,
) -> None:
    items = [item("a"), item("b")]
    first = post(ada, *items)
    run_submission()
    SubmissionKey.objects.all().delete()
    again = post(ada, *items)
    assert [result["order_id"] for result in again] == [result["order_id"] for result in first]
    assert not SubmissionMessage.objects.exists()


def test_what_was_placed_stands_although_it_could_not_be_placed_today(ada: APIClient) -> None:
    post(ada, item("a"))
    Product.objects.filter(sku="first-sun").update(is_listed=False)
    results = post(ada, item("a"), item("b"), item("a", priority=6))
    assert outcomes(results) == [
        *((202, True), (400, "validation_failed"), (422, "idempotency_key_reused")),
    ]


@pytest.mark.parametrize("error", [BadOrderError("no"), RuntimeError("a fault of the kind")])
def test_what_was_placed_stands_although_its_kind_has_a_fault_today(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    (first,) = post(ada, item("a"))

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(FulfilOrder, "describe", fail)
    monkeypatch.setattr(FulfilOrder, "describe_all", fail)
    again, new = post(ada, item("a"), item("b"))
    assert (again["order_id"], again["replayed"]) == (first["order_id"], True)
    status = 400 if isinstance(error, BadOrderError) else 500
    assert new["status"] == status
    single = ada.post(ORDERS, item("a")["order"], headers={"Idempotency-Key": "a"})
    assert (single.json()["id"], single["Idempotent-Replayed"]) == (first["order_id"], "true")
    assert ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "new"}).status_code == status


@pytest.mark.pattern("S3", "F3")
@pytest.mark.django_db(transaction=True)
def test_the_same_batch_many_times_at_once_beside_single_posts_places_each_order_once(ada: APIClient) -> None:
    items = [item(f"k{number}") for number in range(40)]

    def act(number: int) -> list[tuple[str, bool]]:
        client = api_client(ada.token)
        if number % 2:
            own = items[::-1] if number % 4 == 1 else items
            return [(result["order_id"], result["replayed"]) for result in post(client, *own)]
        answers = [
            client.post(ORDERS, order_body(), headers={"Idempotency-Key": f"k{n}"})
            for n in range(number, 40, 8)
        ]
        return [(answer.json()["id"], "Idempotent-Replayed" in answer) for answer in answers]

    answers = [answer for part in all_at_once(8, act) for answer in part]
    assert len({order_id for order_id, _ in answers}) == 40
    assert sum(not replayed for _, replayed in answers) == 40
    assert SubmissionMessage.objects.count() == 40


# What it costs.
