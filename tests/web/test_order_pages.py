"""A customer's list of orders, page by page: each order once, by the time it was placed, wherever it is."""

from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from orders.models import Order, OrderProcess, SubmissionMessage
from orders.shop.models import Product
from tests.support.factories import ago
from tests.support.finished_orders import retain
from tests.web.helpers import ORDERS, assert_problem, place, run_submission

pytestmark = pytest.mark.django_db


def every_page(ada: APIClient, *, between: Callable[[], object] = lambda: None) -> list[str]:
    """The orders on all pages of the list, page by page, with something happening in between."""
    seen, url = [], f"{ORDERS}?page_size=2"
    while url:
        page = ada.get(url).json()
        seen += [order["id"] for order in page["results"]]
        url = page["next"]
        between()
    return seen


@pytest.mark.pattern("F35")
def test_orders_with_keys_are_listed_by_the_time_they_were_placed_and_not_by_their_ids(
    ada: APIClient,
) -> None:
    """Wherever they are: in the archive, in the orders database, set aside or in the queue."""
    placed = [place(ada, key=f"key {number}")["id"] for number in range(8)]
    assert placed != sorted(placed)
    run_submission()
    finished = {"process_state": "processed", "finished_at": ago(100 * 86_400)}
    OrderProcess.objects.filter(pk__in=placed[:3]).update(**finished)
    assert retain()["finished orders"] == 3
    Product.objects.create(sku="polar-noon", title="Polar Noon", artist="Ada", price=100)
    aside = place(ada, key="aside", lines=[{"sku": "polar-noon", "quantity": 1}])["id"]
    Product.objects.filter(sku="polar-noon").delete()
    run_submission()
    queued = [place(ada, key=f"queued {number}")["id"] for number in range(3)]
    assert every_page(ada) == [*placed, aside, *queued][::-1]


def test_orders_placed_at_the_same_moment_are_each_listed_once(ada: APIClient) -> None:
    placed = {place(ada, key=f"key {number}")["id"] for number in range(7)}
    run_submission()
    Order.objects.update(placed_at=ago(60))
    seen = every_page(ada)
    assert (len(seen), set(seen)) == (7, placed)


def test_an_order_that_is_inserted_between_two_pages_is_listed_once(ada: APIClient) -> None:
    placed = [place(ada, key=f"key {number}")["id"] for number in range(5)]
    assert every_page(ada, between=run_submission) == placed[::-1]


@pytest.mark.parametrize("placed_at", ["never", "infinity", "2026-02-30T00:00:00Z", 7, None, ["x"]])
def test_a_submission_that_names_no_time_is_listed_by_when_it_was_posted(
    ada: APIClient, placed_at: object
) -> None:
    first, second, third = (place(ada)["id"] for _ in range(3))
    message = SubmissionMessage.objects.get(order_id=second)
    message.body["placed_at"] = placed_at
    message.save()
    assert every_page(ada) == [third, second, first]
    SubmissionMessage.objects.filter(order_id=second).update(body="no order at all")
    assert every_page(ada) == [third, second, first]


def test_a_cursor_of_an_earlier_release_is_refused_with_a_clear_message(ada: APIClient) -> None:
    problem = assert_problem(ada.get(ORDERS, {"cursor": place(ada)["id"]}), "validation_failed")
    (error,) = problem["errors"]
    assert error == {
        "parameter": "cursor",
        "detail": "This is not a valid cursor for this list. Start without one, and follow `next`.",
    }
