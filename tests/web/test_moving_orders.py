"""A reader never misses an order while it is inserted, set aside or replayed."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from orders.models import Event, OrderProcess, SetAside, SubmissionMessage
from orders.services.order_changes import replay_submission
from orders.shop.models import Product
from tests.support.people import api_client
from tests.web.helpers import in_threads, place, run_submission

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("S2")
@pytest.mark.django_db(transaction=True)
def test_a_reader_never_sees_404_while_submission_inserts_the_order(ada: APIClient) -> None:
    orders = [place(ada) for _ in range(5)]
    reading, done = threading.Barrier(len(orders) + 1, timeout=10), threading.Event()

    def read(index: int) -> list[tuple[int, int]]:
        client = api_client(ada.token)
        url, answers = orders[index]["links"]["self"], []
        reading.wait()
        while not answers or not done.is_set() or answers[-1][1] == 0:
            response = client.get(url)
            answers.append((response.status_code, len(response.json().get("steps", []))))
            assert len(answers) < 5_000
        return answers

    readers = in_threads(len(orders), read)
    reading.wait()
    run_submission()
    done.set()
    for reader in readers:
        assert {status for status, _ in reader.result(timeout=60)} == {200}


Move = Callable[[], None]


@pytest.fixture
def between_queries(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Move], None]:
    """Makes something happen once, just before a table is queried."""

    def arrange(manager: Any, move: Move, method: str = "filter") -> None:
        ask, has_moved = getattr(manager, method), []

        def ask_later(*args: Any, **kwargs: Any) -> Any:
            if not has_moved:
                has_moved.append(True)
                move()
            return ask(*args, **kwargs)

        monkeypatch.setattr(manager, method, ask_later)

    return arrange


def test_an_order_inserted_between_two_queries_is_found(
    ada: APIClient, between_queries: Callable[[Any, Move], None]
) -> None:
    order = place(ada)
    between_queries(SubmissionMessage.objects, run_submission)
    assert len(ada.get(order["links"]["self"]).json()["steps"]) == 5


def test_an_order_set_aside_between_two_queries_is_found(
    ada: APIClient, between_queries: Callable[[Any, Move], None]
) -> None:
    order = place(ada)
    Product.objects.filter(sku="tidal-lines").delete()
    between_queries(SubmissionMessage.objects, run_submission)
    assert ada.get(order["links"]["self"]).json()["state"] == "error"


def test_an_order_replayed_between_two_queries_is_found(
    ada: APIClient, between_queries: Callable[[Any, Move], None]
) -> None:
    order = place(ada)
    product = Product.objects.get(sku="tidal-lines")
    product.delete()
    run_submission()
    product.save()
    set_aside_id = SetAside.objects.get().pk
    between_queries(
        SetAside.objects,
        lambda: replay_submission(set_aside_id=set_aside_id, by="operator:test") and None,
    )
    assert ada.get(order["links"]["self"]).json()["state"] == "pending"


@pytest.mark.django_db(transaction=True)
def test_the_version_of_an_order_is_that_of_the_data_that_come_with_it(ada: APIClient) -> None:
    order = place(ada)
    run_submission()
    changes, done = 200, threading.Event()

    def change(_: int) -> None:
        try:
            for number in range(changes):
                with transaction.atomic():
                    OrderProcess.objects.filter(order_id=order["id"]).update(failure_count=number)
                    Event.objects.create(
                        order_id=order["id"],
                        kind="claimed",
                        actor_kind="scheduler",
                        actor_name="scheduler:test",
                        detail={"failure_count": number},
                    )
        finally:
            done.set()

    (writer,) = in_threads(1, change)
    read = set()
    while not done.is_set():
        response = ada.get(order["links"]["self"])
        read.add((response["ETag"], response.json()["failure_count"]))
    writer.result(timeout=60)
    written = {
        f'W/"{event.pk}-pending"': event.detail["failure_count"]
        for event in Event.objects.filter(order_id=order["id"], kind="claimed")
    }
    assert len(written) == changes
    assert [pair for pair in read if written.get(pair[0], 0) != pair[1]] == []


@pytest.mark.django_db(transaction=True)
def test_a_list_never_misses_an_order_inserted_meanwhile(
    ada: APIClient, between_queries: Callable[[Any, Move], None]
) -> None:
    order = place(ada)
    between_queries(SetAside.objects, run_submission, "raw")
    assert [order["id"] for order in ada.get("/api/v1/orders").json()["results"]] == [order["id"]]
