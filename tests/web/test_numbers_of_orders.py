"""People find an order by its number, on every face, and hear of a mistake in it instead of "not found"."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from rest_framework.test import APIClient
from uuid_utils.compat import uuid7

from orders.fields.order_numbers import MISTAKEN, spoken_number
from orders.models import OrderProcess, OutgoingMessage, SetAside, SubmissionMessage
from tests.support.factories import ago, ahead, make_order, make_purchase, register
from tests.support.finished_orders import archive
from tests.support.order_bodies import EMAIL
from tests.web.conftest import Desk
from tests.web.console_orders import an_order
from tests.web.helpers import ORDERS, assert_problem, mistakes, place, run_submission
from tests.web.queried_orders import described
from tests.web.shopping import customer, guest_page, shop_order

pytestmark = pytest.mark.django_db


def mistaken(number: str) -> str:
    """The number with its first two characters swapped, or changed if these are the same."""
    first = number[1] if number[1] != number[0] else "2" if number[0] != "2" else "3"
    return first + number[0] + number[2:] if number[1] != number[0] else first + number[1:]


# --- the API


@pytest.mark.parametrize("key", [None, "k"])
def test_an_order_has_its_number_from_the_moment_it_is_placed(ada: APIClient, key: str | None) -> None:
    placed = place(ada, key=key)
    number = spoken_number(UUID(placed["id"]))
    run_submission()
    row = ada.get(ORDERS).json()["results"][0]
    (change,) = [
        change for change in ada.get("/api/v1/changes").json()["results"] if change["kind"] == "received"
    ]
    got = ada.get(f"{ORDERS}/{placed['id']}").json()
    assert placed["number"] == row["number"] == change["order"]["number"] == got["number"] == number


def stay(_order_id: UUID) -> None: ...


def insert(_order_id: UUID) -> None:
    run_submission()


def finish(order_id: UUID) -> None:
    run_submission()
    OrderProcess.objects.filter(pk=order_id).update(process_state="processed", finished_at=ago(60))
    archive(order_id)


@pytest.mark.parametrize("move", [stay, insert, finish])
@pytest.mark.parametrize("write", [str, str.lower, lambda number: number.replace("-", "")])
def test_a_client_finds_an_order_of_its_own_by_number_wherever_it_is(
    ada: APIClient, bob: APIClient, move: Callable[[UUID], None], write: Callable[[str], str]
) -> None:
    order_id, _ = UUID(place(ada)["id"]), place(ada)
    move(order_id)
    number = write(spoken_number(order_id))
    assert [order["id"] for order in ada.get(ORDERS, {"number": number}).json()["results"]] == [str(order_id)]
    assert bob.get(ORDERS, {"number": number}).json()["results"] == []


def test_a_number_that_no_order_has_finds_none_and_one_with_a_mistake_is_refused(ada: APIClient) -> None:
    number = spoken_number(UUID(place(ada)["id"]))
    assert ada.get(ORDERS, {"number": spoken_number(uuid7())}).json() == {"results": [], "next": None}
    assert mistakes(ada.get(ORDERS, {"number": mistaken(number)})) == ["number"]
    assert MISTAKEN in ada.get(ORDERS, {"number": mistaken(number)}).content.decode()
    assert mistakes(ada.get(ORDERS, {"number": "7KXM"})) == ["number"]


# --- customers


@pytest.mark.parametrize("rest", ["", "/cancel"])
def test_a_url_with_a_number_leads_to_the_list_that_finds_it(anybody: APIClient, rest: str) -> None:
    for number in ("7KXM-93DJ", "7kxm93dj"):
        problem = assert_problem(anybody.get(f"{ORDERS}/{number}{rest}"), "not_found")
        assert problem["detail"] == (
            f"An order’s url has its ID. Find it with `GET /api/v1/orders?number={number}`."
        )
    problem = assert_problem(anybody.get(f"{ORDERS}/7KXM-93DJ9{rest}"), "not_found")
    assert problem["detail"].startswith("There is no such url. ")


def test_a_customers_pages_show_the_number_and_not_the_id(catalogue: None, client: Client) -> None:
    user, browser = customer()
    order, guests = shop_order({}, customer=user), shop_order({})
    for page in (f"/orders/{order.order_id}/", f"/orders/{order.order_id}/cancel/", "/account/orders/"):
        text = browser.get(page).content.decode()
        assert spoken_number(order.order_id) in text, page
        assert f"<code>{order.order_id}</code>" not in text
    assert spoken_number(guests.order_id) in client.get(guest_page(guests)).content.decode()


def ask(client: Client, number: str) -> str:
    return client.post("/orders/find/", {"number": number, "email": EMAIL}).content.decode()


@pytest.mark.parametrize("write", [str, lambda number: f" {number.lower().replace('-', ' ')} "])
def test_a_guest_finds_her_order_by_number_and_email(client: Client, write: Callable[[str], str]) -> None:
    order = shop_order()
    register(order.order_id)
    assert "Check your email" in ask(client, write(spoken_number(order.order_id)))
    assert [message.order_id for message in OutgoingMessage.objects.all()] == [order.order_id]


def test_a_number_that_no_order_has_gets_a_guest_the_same_answer(client: Client) -> None:
    assert "Check your email" in ask(client, spoken_number(uuid7()))
    assert OutgoingMessage.objects.get().order_id == UUID(int=0)


def test_a_guest_hears_of_a_mistake_in_her_number(client: Client) -> None:
    text = ask(client, mistaken(spoken_number(uuid7())))
    assert "That number has a mistake in it." in text
    assert not OutgoingMessage.objects.exists()


# --- operators


def found(desk: Desk, words: str) -> Any:
    return desk("viewer").get("/console/orders/", {"q": words})


@pytest.mark.parametrize(
    "write", [str, str.lower, lambda number: number.replace("-", ""), "number:{}".format]
)
def test_the_search_finds_an_order_by_its_number(desk: Desk, write: Callable[[str], str]) -> None:
    order, other = an_order({}), an_order({})
    register(order.pk, other.pk)
    orders = found(desk, write(spoken_number(order.pk))).context["orders"]
    assert [row.order_id for row in orders] == [order.pk]


@pytest.mark.parametrize("is_aside", [False, True])
def test_a_submission_is_found_by_its_number(desk: Desk, is_aside: bool) -> None:
    order_id = uuid7()
    register(order_id)
    if is_aside:
        SetAside.objects.create(order_id=order_id, client="guest", body={}, reason="no", posted_at=ago(60))
    else:
        SubmissionMessage.objects.create(order_id=order_id, client="guest", body={})
    assert found(desk, spoken_number(order_id))["Location"] == f"/console/orders/{order_id}/"


def test_an_operator_hears_of_a_mistake_in_a_number(desk: Desk) -> None:
    number = mistaken(spoken_number(uuid7()))
    for words in (number, number.lower(), number.replace("-", " "), f"number:{number}"):
        assert MISTAKEN in found(desk, words).content.decode(), words
    assert MISTAKEN not in found(desk, spoken_number(uuid7())).content.decode()


def test_the_palette_names_a_mistake_in_a_number_as_the_search_does(desk: Desk) -> None:
    number = mistaken(spoken_number(uuid7()))
    for words, is_mistaken in ((number.lower(), True), (spoken_number(uuid7()), False), ("deep sea", False)):
        results = desk("viewer").get("/console/find/", {"q": words})
        assert results.status_code == 200
        assert (MISTAKEN in results.content.decode()) == is_mistaken, words


def test_words_that_look_like_a_number_are_still_looked_for(desk: Desk) -> None:
    order = an_order({})
    described(order, subject="deep-blue")
    orders = found(desk, "deep-blue").context["orders"]
    assert [row.order_id for row in orders] == [order.pk]


def test_the_console_shows_the_number_beside_the_id(desk: Desk) -> None:
    order = make_order({})
    make_purchase(order.order_id)
    number = spoken_number(order.order_id)
    for page in ("/console/orders/", f"/console/orders/{order.order_id}/"):
        assert number in desk("viewer").get(page).content.decode(), page
    csv = b"".join(desk("viewer").get("/console/orders.csv").streaming_content).decode()
    head, row = csv.splitlines()
    assert (head.split(",")[1], row.split(",")[1]) == ("number", number)


def test_operators_programs_get_the_number_too(operator: APIClient) -> None:
    order = make_order({}, not_before=ahead(60))
    make_purchase(order.order_id)
    number = spoken_number(order.order_id)
    register(order.order_id)
    (row,) = operator.get("/api/v1/orders/search", {"q": number}).json()["results"]
    assert (row["id"], row["number"]) == (str(order.order_id), number)
    assert operator.get(f"{ORDERS}/{order.order_id}/details").json()["number"] == number
