"""One Idempotency-Key means one order, however often and however concurrently it is sent (S3, P1)."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders import retention
from orders.business.order_ids import derived_order_id
from orders.engine.runtime.sql import database_now
from orders.models import (
    ArchivedOrder,
    Order,
    OrderProcess,
    SetAside,
    SubmissionKey,
    SubmissionMessage,
)
from orders.retention import moving, records
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import erasing_orders, erasure
from orders.shop.models import Product
from tests.support.order_bodies import EMAIL, order_body
from tests.support.people import api_client
from tests.web.helpers import ORDERS, assert_problem, in_threads, place, run_submission

TWENTY = 20


@pytest.mark.django_db
def test_the_same_key_and_body_return_the_same_order(ada: APIClient) -> None:
    first = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again["Idempotent-Replayed"]) == (202, "true")
    assert (again.json(), again["Location"]) == (first.json(), first["Location"])
    assert SubmissionMessage.objects.count() == 1


@pytest.mark.django_db
def test_a_replay_shows_the_orders_current_progress(ada: APIClient) -> None:
    placed = place(ada, key="k")
    run_submission()
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again["Idempotent-Replayed"]) == (202, "true")
    assert again.json()["id"] == placed["id"]
    assert len(again.json()["steps"]) == 5
    assert not SubmissionMessage.objects.exists()


@pytest.mark.pattern("F35")
@pytest.mark.django_db
def test_a_key_whose_record_is_lost_returns_the_order_that_is_there(ada: APIClient, bob: APIClient) -> None:
    placed = place(ada, key="k")
    run_submission()
    SubmissionKey.objects.all().delete()
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["id"]) == (202, placed["id"])
    assert len(again.json()["steps"]) == 5
    run_submission()
    assert (Order.objects.count(), SubmissionMessage.objects.count()) == (1, 0)
    assert place(bob, key="k")["id"] != placed["id"]


def finish(state: str = "processed") -> None:
    run_submission()
    at = database_now() - timedelta(days=100)
    goal = "compensate" if state == "compensated" else "complete"
    OrderProcess.objects.update(process_state=state, goal=goal, finished_at=at)


def set_aside() -> None:
    Product.objects.update(currency="HUF")
    run_submission()
    Product.objects.update(currency="EUR")
    assert SetAside.objects.exists()


def archive() -> None:
    finish()
    assert retention.archive_orders()["finished orders"] == 1


def erase() -> None:
    archive()
    SubmissionKey.objects.update(key=f"erased {SubmissionKey.objects.get().order_id}")  # it named her
    erasing_orders.erase_orders([ArchivedOrder.objects.get().pk], {"pattern": EMAIL, "short": "erased-1"})


LIVES: dict[str, tuple[Callable[[], None], str]] = {
    "on the queue": (lambda: None, "pending"),
    "set aside": (set_aside, "error"),
    "under way": (run_submission, "pending"),
    "finished": (finish, "processed"),
    "cancelled": (lambda: finish("compensated"), "compensated"),
    "archived": (archive, "processed"),
    "erased": (erase, "processed"),
}


@pytest.mark.pattern("S3")
@pytest.mark.django_db
@pytest.mark.parametrize(("live", "state"), LIVES.values(), ids=LIVES.keys())
def test_a_key_finds_its_order_as_it_is_now_for_as_long_as_that_can_be_found(
    ada: APIClient, live: Callable[[], None], state: str
) -> None:
    """However old it is: what is too old goes by the rules of retention, and no rule is about keys."""
    placed = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    live()
    for rule in records.RULES.values():
        if rule.table != "orders_apitoken":
            records.delete_old(rule, before=database_now() + timedelta(days=3_650))
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again["Idempotent-Replayed"]) == (202, "true")
    assert (again.json()["id"], again.json()["state"]) == (placed.json()["id"], state)
    assert again.json() == ada.get(placed["Location"]).json()
    run_submission()
    rows = [table.objects.count() for table in (SubmissionMessage, SetAside, OrderProcess, ArchivedOrder)]
    assert sum(rows) == 1


@pytest.mark.django_db
def test_a_key_is_free_once_its_order_is_gone_for_good(ada: APIClient) -> None:
    placed = place(ada, key="k")
    archive()
    moving.delete_archived(before=database_now() + timedelta(days=1))
    assert not SubmissionKey.objects.exists()
    assert_problem(ada.get(f"{ORDERS}/{placed['id']}"), "not_found")
    again = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert "Idempotent-Replayed" not in again
    assert (again.json()["id"], again.json()["state"]) == (placed["id"], "pending")


@pytest.mark.django_db
def test_the_keys_of_an_erased_customer_place_nothing(ada: APIClient) -> None:
    User.objects.filter(pk=ada.user.pk).update(email=EMAIL)
    place(ada, key="k")
    finish()
    result = erasure.erase(email=EMAIL, actor=Actor(name="olga"), seconds=60)
    assert result.status is ResultStatus.DONE
    refused = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    assert refused.status_code == 401
    assert (OrderProcess.objects.count(), SubmissionMessage.objects.count()) == (1, 0)


@pytest.mark.django_db
def test_an_id_that_somebody_has_worked_out_opens_nothing(ada: APIClient, bob: APIClient) -> None:
    placed = place(ada, key="order-1")
    worked_out = derived_order_id(client=f"user:{ada.user.pk}", key="order-1")
    assert placed["id"] == str(worked_out)
    stranger = Client()
    stranger.force_login(bob.user)
    for _ in range(2):  # on the queue, and inserted
        for path in ("", "/events"):
            assert_problem(bob.get(f"{ORDERS}/{worked_out}{path}"), "not_found")
        assert_problem(bob.post(f"{ORDERS}/{worked_out}/cancel"), "not_found")
        for visitor in (stranger, Client()):
            assert visitor.get(f"/orders/{worked_out}/").status_code == 404
            assert visitor.get(f"/o/{worked_out.hex}/").status_code == 404
        run_submission()


@pytest.mark.django_db
def test_a_body_that_differs_only_in_form_counts_as_the_same(ada: APIClient) -> None:
    body = order_body(priority=5)
    first = ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
    again = ada.post(ORDERS, dict(reversed(body.items())), headers={"Idempotency-Key": "k"})
    assert again.json()["id"] == first.json()["id"]


@pytest.mark.pattern("F4")
@pytest.mark.django_db
def test_the_same_key_with_another_body_is_refused(ada: APIClient) -> None:
    place(ada, key="k")
    response = ada.post(ORDERS, order_body(priority=6), headers={"Idempotency-Key": "k"})
    assert_problem(response, "idempotency_key_reused")
    assert SubmissionMessage.objects.count() == 1


@pytest.mark.django_db
def test_a_refused_body_does_not_use_up_its_key(ada: APIClient) -> None:
    ada.post(ORDERS, order_body(priority=66), headers={"Idempotency-Key": "k"})
    assert "Idempotent-Replayed" not in ada.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})


@pytest.mark.django_db
def test_two_clients_may_use_the_same_key(ada: APIClient, bob: APIClient) -> None:
    assert place(ada, key="k")["id"] != place(bob, key="k")["id"]


@pytest.mark.django_db
def test_without_a_key_every_request_is_a_new_order(ada: APIClient) -> None:
    assert place(ada)["id"] != place(ada)["id"]


@pytest.mark.pattern("S3", "F3")
@pytest.mark.django_db(transaction=True)
def test_twenty_concurrent_requests_with_one_key_place_one_order(ada: APIClient) -> None:
    barrier = threading.Barrier(TWENTY, timeout=10)

    def post(_: int) -> tuple[int, str, bool]:
        client = api_client(ada.token)
        barrier.wait()
        response = client.post(ORDERS, order_body(), headers={"Idempotency-Key": "k"})
        return response.status_code, response.json()["id"], "Idempotent-Replayed" in response

    answers = [future.result(timeout=60) for future in in_threads(TWENTY, post)]
    assert {status for status, _, _ in answers} == {202}
    assert len({order_id for _, order_id, _ in answers}) == 1
    assert [replayed for _, _, replayed in answers].count(False) == 1
    run_submission()
    assert Order.objects.count() == 1
