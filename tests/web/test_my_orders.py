"""A customer sees her own orders, all of them, in plain words, at a fixed cost; and nobody else's."""

import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.fields.money import Money
from orders.models import OrderProcess, StepState
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from orders.selectors.paging import Position
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.placing import place_order
from orders.wording.customers.situations import listed_status
from tests.support.factories import ahead, new_order
from tests.support.order_bodies import EMAIL
from tests.support.people import PASSWORD
from tests.web.helpers import change_state, run_submission

PATH = "/account/orders/"
SKUS = ("tidal-lines", "first-sun", "polar-noon", "quiet-summit", "harbour-at-two", "desert-memory")


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue."""
    load_catalogue()


@pytest.fixture
def ada(client: Client) -> User:
    """A customer, who is signed in."""
    user = User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    client.force_login(user)
    return user


def place(client: str, *skus: str) -> UUID:
    """Places an order for a client, and returns its ID."""
    order = new_order(*(skus or SKUS[:1]), quantity=2)
    return place_order(client=client, order=order).order_id


def shown(page: Any) -> list[UUID]:
    """The orders on a page."""
    assert page.status_code == 200
    return [row["my_order"].order.id for row in page.context["orders"]]


def test_orders_are_listed_newest_first_including_queued_orders(client: Client, ada: User) -> None:
    first = place(f"user:{ada.pk}")
    run_submission()
    second = place(f"user:{ada.pk}", "first-sun")
    page = client.get(PATH)
    assert shown(page) == [second, first]
    text = page.content.decode()
    assert f'href="/orders/{first}/"' in text
    assert "Tidal Lines" in text
    assert "€78.00" in text
    assert "2 prints" in text
    assert "/posters/tidal-lines.svg?v=" in text
    assert shown(client.get("/account/")) == [second, first]


def test_the_orders_of_others_and_of_guests_are_not_listed(client: Client, ada: User) -> None:
    bob = User.objects.create_user("bob@example.com")
    for stranger in (f"user:{bob.pk}", "guest", f"user:{ada.pk}0"):
        place(stranger)
    assert shown(client.get(PATH)) == []
    run_submission()
    assert OrderProcess.objects.count() >= 2
    assert shown(client.get(PATH)) == []
    assert "No orders yet" in client.get(PATH).content.decode()


def test_starting_a_page_at_another_customers_order_reveals_nothing(client: Client, ada: User) -> None:
    own = place(f"user:{ada.pk}")
    others = place("guest")
    for mark in (others, Position(ahead(1), others)):
        assert shown(client.get(PATH, {"before": str(mark)})) == [own]


def test_pages_follow_one_another_until_all_orders_were_seen_once(client: Client, ada: User) -> None:
    placed = [place(f"user:{ada.pk}") for _ in range(23)]
    run_submission()
    placed += [place(f"user:{ada.pk}") for _ in range(2)]
    seen: list[UUID] = []
    link = ""
    for _ in range(3):
        page = client.get(PATH + link)
        seen += shown(page)
        link = "".join(re.findall(r'<a rel="next" href="([^"]+)"', page.content.decode()))
    assert link == ""
    assert seen == placed[::-1]


@pytest.mark.parametrize(
    "before",
    ["", "x", "0", "[]", "99999999-9999-9999-9999-999999999999", "9" * 18 + "-" + "9" * 32],
)
def test_a_mangled_url_still_shows_a_page(client: Client, ada: User, before: str) -> None:
    own = place(f"user:{ada.pk}")
    assert shown(client.get(PATH, {"before": before})) == [own]


def test_a_page_takes_a_fixed_number_of_statements(client: Client, ada: User) -> None:
    costs = []
    for _ in range(2):
        for _ in range(5):
            place(f"user:{ada.pk}", *SKUS)
        run_submission()
        place(f"user:{ada.pk}", *SKUS)
        with CaptureQueriesContext(connection) as queries:
            client.get(PATH)
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 11


def test_an_order_of_many_posters_shows_four_and_says_how_many_more(client: Client, ada: User) -> None:
    place(f"user:{ada.pk}", *SKUS)
    (row,) = client.get(PATH).context["orders"]
    assert (len(row["my_order"].pictures), row["my_order"].more, row["my_order"].pieces) == (4, 2, 12)


@pytest.mark.parametrize(
    ("state", "words"),
    [("processed", "Sent"), ("error", "We’re looking into it"), ("processing", "In progress")],
)
def test_the_state_is_shown_in_plain_words(client: Client, ada: User, state: str, words: str) -> None:
    order = place(f"user:{ada.pk}")
    run_submission()
    if state == "processed":
        StepState.objects.update(state="completed", outcome="done", attempt=1, answered=1)
    change_state(order, state)
    assert words in client.get(PATH).content.decode()


def step(state: str = "running", attempts: int = 1, **fields: Any) -> CustomerStep:
    """A step of an order."""
    moments = dict.fromkeys(("complete_by", "started_at", "completed_at", "not_before"))
    return CustomerStep(
        **{"name": "s", "state": state, "attempts": attempts, "error": None, **moments, **fields}
    )


def order(state: str, *steps: CustomerStep, goal: str = "complete") -> CustomerOrder:
    """An order in a state."""
    now = datetime(2026, 11, 20, tzinfo=UTC)
    return CustomerOrder(
        id=UUID(int=0), workflow="fulfil-order", subject="", title="", version="1", state=state, goal=goal,
        placed_at=now, updated_at=now,
        total=Money(amount=1, currency="EUR"), lines=(), steps=steps, workflow_version=1,
    )  # fmt: skip


LATER = datetime(2030, 1, 1, tzinfo=UTC)
DECLINED = {"code": "card_declined", "waits_for": "customer"}


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (order("pending"), "Received"),
        (order("pending", step("not_started", 0)), "Received"),
        (order("pending", step("completed"), step("not_started", 0)), "In progress"),
        (order("processing", step()), "In progress"),
        (order("processing", step("completed", 3), step()), "In progress"),
        (order("processing", step(attempts=3)), "Trying again"),
        (
            order("pending", step("failed", not_before=LATER, error={"code": "http_503"})),
            "Trying again",
        ),
        (order("pending", step("failed", not_before=LATER, error=DECLINED)), "Waiting for you"),
        (
            order("pending", step("failed", name="authorise-payment", not_before=LATER, error=DECLINED)),
            "Waiting for your payment",
        ),
        (order("processed", step("completed", 4)), "Sent"),
        (order("error", step("failed")), "We’re looking into it"),
        (order("error", step("failed"), goal="compensate"), "We’re looking into it"),
        (order("processing", step("compensating", 2), goal="compensate"), "Being cancelled"),
        (order("pending", step(), step("not_started", 0), goal="compensate"), "Being cancelled"),
        (
            order("pending", step("compensated"), step(name="send-confirmation"), goal="compensate"),
            "Cancelled",
        ),
        (order("compensated", step("compensated"), goal="compensate"), "Cancelled"),
    ],
)
def test_no_order_looks_better_than_it_is(view: CustomerOrder, words: str) -> None:
    assert listed_status(view).word == words
