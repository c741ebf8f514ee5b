"""A reader never misses an order while it is inserted, set aside or replayed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from rest_framework.test import APIClient

from orders.models import Event, OrderProcess, SetAside, SubmissionMessage
from orders.services.customers import cancel
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


def set_aside(order_id: str, *, is_fixed: bool) -> None:
    with removed_product(is_fixed=is_fixed):
        run_submission()
    assert str(SetAside.objects.get().order_id) == order_id


@contextmanager
def removed_product(*, is_fixed: bool) -> Iterator[None]:
    product = Product.objects.get(sku="tidal-lines")
    product.delete()
    yield
    if is_fixed:
        product.save()


def replayed(_: str) -> None:
    replay_submission(set_aside_id=SetAside.objects.get(replayed_at=None).pk, by="ada")


def cancelled(order_id: str) -> None:
    cancel(order_id=UUID(order_id), by="guest")


@pytest.mark.parametrize("move", ["inserted", "set aside", "replayed", "cancelled"])
def test_a_list_never_misses_an_order_that_moves_between_any_two_statements(
    ada: APIClient, move: str
) -> None:
    order_id = place(ada)["id"]
    if move in ("replayed", "cancelled"):
        set_aside(order_id, is_fixed=True)
    moves: dict[str, Callable[[str], None]] = {
        "inserted": lambda _: run_submission(),
        "set aside": partial(set_aside, is_fixed=False),
        "replayed": replayed,
        "cancelled": cancelled,
    }
    moments = 0
    while was_listed_while(ada, order_id, moves[move], statement=moments):
        moments += 1
    assert moments == 2  # the token, and the list


def was_listed_while(
    client: APIClient, order_id: str, move: Callable[[str], None], *, statement: int
) -> bool:
    """Lists the orders, and has one move just before a statement. Returns whether there was such a statement. Undoes
    the move."""
    seen: list[str] = []
    moved: list[int] = []

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if moved and moved[-1] == 0:  # a statement of the move
            return execute(sql, params, many, context)
        if len(seen) == statement and not moved:
            moved.append(0)
            move(order_id)
            moved.append(1)
        seen.append(sql)
        return execute(sql, params, many, context)

    with transaction.atomic():
        with connection.execute_wrapper(watch):
            order_ids = [order["id"] for order in client.get("/api/v1/orders").json()["results"]]
        assert order_ids == [order_id], f"moved before {seen[statement:][:1]}"
        transaction.set_rollback(True)
    return bool(moved)
