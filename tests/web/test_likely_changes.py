"""`Retry-After` of an accepted order says when a change is likely, from what orders of its kind have lately taken."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from orders.models import Order, OrderProcess, SubmissionMessage
from orders.selectors import durations
from tests.support.factories import ago
from tests.support.order_bodies import order_body
from tests.web.helpers import ORDERS, change_state, place, run_submission

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def wait_of(client: APIClient, key: str = "") -> str | None:
    """The `Retry-After` of an order that this client places, from figures that are read anew."""
    cache.clear()
    response = client.post(ORDERS, order_body(), headers={"Idempotency-Key": key} if key else {})
    assert response.status_code == 202
    return response.headers.get("Retry-After")


def assert_close(wait: str | None, seconds: int, *, since: float) -> None:
    """Fails unless this is so many seconds, give or take what has passed since then (`time.monotonic()`) and half a
    second of rounding."""
    assert wait is not None
    assert abs(int(wait) - seconds) <= time.monotonic() - since + 0.5


def finish(client: APIClient, seconds: float, number: int = 20) -> None:
    """Stores this many orders that took so long."""
    for _ in range(number):
        place(client)
    run_submission()
    now = timezone.now()
    OrderProcess.objects.filter(process_state="pending").update(
        process_state="processed", created_at=now - timedelta(seconds=seconds), finished_at=now
    )


def test_with_nothing_known_it_is_a_second(ada: APIClient) -> None:
    assert wait_of(ada) == "1"
    finish(ada, 9, number=18)
    assert wait_of(ada) == "1", "too few have finished"


@pytest.mark.parametrize(("took", "wait"), [(0.2, 1), (9, 9), (172_800, 60)])
def test_it_is_as_long_as_orders_usually_take_but_a_minute_at_most(
    took: float, wait: int, ada: APIClient
) -> None:
    finish(ada, took)
    begun = time.monotonic()
    assert_close(wait_of(ada), wait, since=begun)


def test_what_waits_before_the_order_counts_as_well(ada: APIClient) -> None:
    finish(ada, 9)
    place(ada)
    begun = time.monotonic()
    SubmissionMessage.objects.update(posted_at=ago(20))
    assert_close(wait_of(ada), 29, since=begun)


def test_a_kind_that_is_held_up_does_not_concern_the_others(ada: APIClient) -> None:
    place(ada)
    SubmissionMessage.objects.update(posted_at=ago(900), body={"workflow": "another"})
    assert wait_of(ada) == "1"


def test_for_an_order_that_was_placed_before_it_is_the_rest_and_after_the_end_nothing(ada: APIClient) -> None:
    finish(ada, 30)
    order = place(ada, key="k")
    run_submission()
    begun = time.monotonic()
    Order.objects.filter(pk=order["id"]).update(placed_at=ago(10))
    assert_close(wait_of(ada, key="k"), 20, since=begun)
    change_state(order["id"], "processed")
    assert wait_of(ada, key="k") is None


def test_the_figures_are_not_read_for_each_order(ada: APIClient) -> None:
    place(ada)
    with CaptureQueriesContext(connection) as queries:
        place(ada)
    assert not [query for query in queries if "statement_timestamp() - min(posted_at)" in query["sql"]]
    assert not [query for query in queries if "finished_at" in query["sql"]]


def test_an_order_that_is_stored_is_accepted_whatever_happens_to_the_estimate(
    ada: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Any:
        raise OperationalError("the connection is lost")

    monkeypatch.setattr(durations, "_read_queued", fail)
    assert wait_of(ada) == "1"
    assert SubmissionMessage.objects.count() == 1
