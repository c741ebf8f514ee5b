"""Nothing that is on a page of an order contradicts the rest of it, and the business's name stands in one place."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.conf import settings as project
from django.core.cache import cache
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone

from orders.models import OrderLine, OrderProcess
from orders.vocabulary import Reason
from tests.support.factories import ago, ahead
from tests.web.shopping import STEPS, customer, declined, done, guest_page, note, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    cache.clear()


def words(text: str) -> str:
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))


def part(page: str, name: str) -> str:
    """The text of the element of this class."""
    match = re.search(rf'class="{name}"[^>]*>(.*?)</(?:div|section|dl)>', page, re.DOTALL)
    assert match, name
    return words(match[1])


RUNNING = {"state": "running", "attempt": 1}
MONEY: dict[str, tuple[dict[str, Any], str]] = {
    "untouched": ({}, "No money was charged or reserved."),
    "declined": (
        {**done("reserve-stock"), "authorise-payment": declined()},
        "No money was charged or reserved.",
    ),
    "being reserved": (
        {"authorise-payment": RUNNING},
        "Nothing was charged. If €78.00 was reserved on your card, it will be released.",
    ),
    "reserved": (
        done("authorise-payment"),
        "Nothing was charged, and the €78.00 reserved on your card will be released.",
    ),
}


@pytest.mark.parametrize("name", MONEY)
def test_the_question_and_the_page_of_the_cancelled_order_say_the_same_of_this_orders_money(
    client: Client, name: str
) -> None:
    steps, sentence = MONEY[name]
    order = shop_order(steps, not_before=ahead(3_600))
    question = words(client.get(f"{guest_page(order)}cancel/").content.decode())
    assert f"We’ll stop your order, and cancel what we’ve done so far. {sentence}" in question
    page = client.post(f"{guest_page(order)}cancel/", follow=True).content.decode()
    assert sentence in words(page)


def test_what_a_toast_says_stays_true_however_far_the_order_has_come(client: Client) -> None:
    order = shop_order(done("reserve-stock"))
    client.post(f"{guest_page(order)}cancel/")
    OrderProcess.objects.update(process_state="compensated", finished_at=timezone.now())
    page = client.get(guest_page(order)).content.decode()
    assert "Your order was cancelled." in words(page)
    assert part(page, "toasts") == "You’ve cancelled this order."
    client.post(f"{guest_page(order)}cancel/")
    again = client.get(guest_page(order)).content.decode()
    assert part(again, "toasts") == "This order’s cancellation had already begun."
    paid = client.post(f"{guest_page(order)}pay/", {"payment_method": "card_ok"}, follow=True)
    assert part(paid.content.decode(), "toasts") == "It was too late to pay: the order had been cancelled."


def test_a_sum_is_written_in_one_way_on_the_page_of_an_order(client: Client) -> None:
    page = words(client.get(guest_page(shop_order())).content.decode())
    assert set(re.findall(r"€[\d.]+", page)) == {"€39.00", "€78.00"}


def test_the_ages_of_one_thing_are_the_same_and_times_ascend(client: Client) -> None:
    """A step may have ended before another that comes before it, and a machine's clock may be ahead."""
    steps = {
        "reserve-stock": {"state": "completed", "completed_at": ago(400)},
        "authorise-payment": {"state": "completed", "completed_at": ago(500)},
        "create-shipment": {"state": "completed", "completed_at": ago(450)},
    }
    order = shop_order(steps, age=300)
    page = client.get(guest_page(order)).content.decode()
    track = re.search(r'<ol class="track">.*?</ol>', page, re.DOTALL)
    assert track
    times = re.findall(r'datetime="([^"]+)"', track[0])
    assert times == sorted(times) and len(times) == 3
    (placed,) = re.findall(r"<dt>Placed</dt>\s*<dd>\s*(<time.*?</time>)", page)
    assert placed in track[0]


def test_what_was_reversed_stays_on_the_page_with_both_times(client: Client) -> None:
    steps = {
        name: {"state": "compensated", "completed_at": ago(90_000 - 10 * number)}
        for number, name in enumerate(STEPS)
    }
    order = shop_order(
        steps, age=90_100, goal="compensate", process_state="compensated", finished_at=timezone.now()
    )
    note(order, "compensation_requested", why=Reason.OPERATOR_REQUESTED)
    for name in reversed(STEPS):
        note(order, "step_compensated", name)
    note(order, "compensated")
    page = client.get(guest_page(order)).content.decode()
    yesterday = re.search(r"Placed (\d+ \w+)", words(page))
    assert yesterday, "after a day it is a date"
    for title in ("Paid", "Handed to the carrier"):
        assert f"{title} : reversed later {yesterday[1]} reversed later" in words(page)
    for title in ("€78.00 refunded", "Shipment cancelled", "Stock released"):
        assert f"{title} now" in words(page)
    assert "Your bank may take up to 10 days to show it." in words(page)


def test_one_poster_is_on_its_way_and_two_are_on_theirs(client: Client) -> None:
    order = shop_order(done(*STEPS), process_state="processed", finished_at=timezone.now())
    assert "Your posters are on their way." in words(client.get(guest_page(order)).content.decode())
    OrderLine.objects.update(quantity=1)
    assert "Your poster is on its way." in words(client.get(guest_page(order)).content.decode())


def test_the_business_has_one_name_everywhere(client: Client, settings: Any) -> None:
    settings.CONFIG = replace(project.CONFIG, shop_name="Lark & Sons")
    user, ada = customer()
    order = shop_order(customer=user)
    for page in ("/", "/cart/", f"/orders/{order.order_id}/", f"/orders/{order.order_id}/cancel/", "/x/"):
        text = ada.get(page).content.decode()
        assert "Lark &amp; Sons" in text and "Print Shop" not in text, page


def test_artists_are_called_made_up_only_in_a_demonstration(client: Client, settings: Any) -> None:
    for is_demonstration in (True, False):
        settings.IS_DEMONSTRATION = is_demonstration
        assert ("made up" in client.get("/").content.decode()) == is_demonstration


@pytest.mark.parametrize(
    "name", ["404.html", "429.html", "500.html", "errors/busy.html", "errors/too_often.html"]
)
def test_error_pages_lead_to_the_shop_only_where_there_is_one(name: str, settings: Any) -> None:
    context = {"minutes": 1, "seconds": 5}
    assert "Browse posters" in render_to_string(name, context)
    settings.ROOT_URLCONF = "tests.web.test_general_order_page"
    assert "Browse posters" not in render_to_string(name, context)
