"""The page of an order: what it says in every state, and what a customer can do there."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from orders.models import Event, Order, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.selectors import orders as order_selectors
from orders.vocabulary import Reason
from tests.support.factories import ahead
from tests.support.order_bodies import LONDON
from tests.support.roles import stored
from tests.web.helpers import run_submission
from tests.web.markup import Markup
from tests.web.shopping import FORM, STEPS, customer, declined, done, guest_page, note, shop_order

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
BEFORE = ("reserve-stock", "authorise-payment")
HOSTILE = "\"'><script>alert(1)</script>{{ 7 }}"
MARKS = r'track__step--(\w+)">\s*<span class="track__mark">'


@pytest.fixture(autouse=True)
def fresh_cache() -> None:
    cache.clear()


def words(client: Client, order: OrderProcess, part: str = "") -> str:
    """The page's text, without its tags."""
    response = client.get(guest_page(order) + part)
    assert response.status_code == 200
    text = response.content.decode()
    assert Markup(text).offences == []
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))


def marks(client: Client, order: OrderProcess) -> list[str]:
    """The states of the plain steps that are shown."""
    return re.findall(MARKS, client.get(guest_page(order)).content.decode())


STATES: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "fresh": ({}, "We’re working on it", ["done", "later", "later", "later", "later"]),
    "under way": (
        {"reserve-stock": "running", "authorise-payment": "completed"},
        "There’s nothing you need to do",
        ["done", "now", "later", "later", "later"],
    ),
    "payment again": (
        {"authorise-payment": {"state": "running", "attempt": 2}},
        "The payment service isn’t answering, so we’re asking again. You won’t be charged twice",
        ["done", "later", "retry", "later", "later", "later"],
    ),
    "stock again": (
        {"reserve-stock": {"state": "not_started", "attempt": 1}},
        "Our warehouse isn’t answering",
        ["done", "retry", "later", "later", "later", "later"],
    ),
    "carrier again": (
        {**dict.fromkeys(BEFORE, "completed"), "create-shipment": {"state": "running", "attempt": 3}},
        "The carrier isn’t answering",
        ["done", "done", "retry", "later", "later"],
    ),
    "mail again": (
        {**dict.fromkeys(STEPS[:4], "completed"), "send-confirmation": {"state": "running", "attempt": 2}},
        "We’re having trouble sending our confirmation email",
        ["done", "done", "done", "done", "retry"],
    ),
    "skipped": (
        {**dict.fromkeys(BEFORE, "completed"), "create-shipment": "skipped"},
        "Handing to the carrier : not needed",
        ["done", "done", "skipped", "later", "later"],
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_an_order_in_progress_is_described_in_plain_words(client: Client, name: str) -> None:
    steps, sentence, expected = STATES[name]
    order = shop_order(steps)
    assert sentence in words(client, order)
    assert marks(client, order) == expected


def test_a_call_that_failed_a_moment_ago_is_shown_as_a_retry_even_in_the_first_attempt(
    client: Client,
) -> None:
    order = shop_order({"authorise-payment": "running"})
    note(order, "call_failed", "authorise-payment", 1)
    assert "The payment service isn’t answering" in words(client, order)


def test_a_call_that_was_refused_a_moment_ago_is_not_called_unanswered(client: Client) -> None:
    order = shop_order({"authorise-payment": "running"})
    note(order, "call_failed", "authorise-payment", 1, is_final=True)
    assert "answering" not in words(client, order)


def test_a_declined_payment_says_what_to_do_and_until_when(client: Client) -> None:
    order = shop_order({**done("reserve-stock"), "authorise-payment": declined()}, not_before=ahead(3600))
    text = words(client, order)
    for sentence in ("Your card was declined", "Nothing has been charged", "Pay another way", "in 1 hour"):
        assert sentence in text.replace("in 59 minutes", "in 1 hour").replace("in 60 minutes", "in 1 hour")
    response = client.post(f"{guest_page(order)}pay/", {"payment_method": "card_slow"}, follow=True)
    assert "We have your new payment method" in response.content.decode()
    assert (
        StepState.objects.get(process=order, name="authorise-payment").request["payment_method"]
        == "card_slow"
    )
    text = words(client, order)
    assert "Pay another way" not in text
    assert "asking again" not in text  # the first try of another card is not a retry
    again = client.post(f"{guest_page(order)}pay/", {"payment_method": "card_ok"}, follow=True)
    assert "There’s nothing to pay" in again.content.decode()
    assert Event.objects.filter(kind="paid_again").count() == 1


@pytest.mark.parametrize("method", ["", "card_free", HOSTILE])
def test_an_unknown_payment_method_is_not_tried(client: Client, method: str) -> None:
    order = shop_order({"authorise-payment": declined()}, not_before=ahead(3600))
    response = client.post(f"{guest_page(order)}pay/", {"payment_method": method}, follow=True)
    assert "Choose how to pay" in response.content.decode()
    assert not Event.objects.exists()


def test_an_order_in_error_is_being_looked_into_and_help_is_offered(client: Client) -> None:
    error = {"code": "bad_answer", "message": HOSTILE}
    order = shop_order(
        {**done("reserve-stock"), "authorise-payment": {"state": "failed", "error": error}},
        process_state="error",
    )
    text = words(client, order)
    for sentence in ("We’re looking into it", "they’ll let you know", "Email "):
        assert sentence in text
    assert "alert(1)" not in text
    assert marks(client, order) == ["done", "done", "stop", "later", "later", "later"]


def test_a_finished_order_says_so_and_asks_for_nothing(client: Client) -> None:
    order = shop_order(done(*STEPS), process_state="processed", finished_at=timezone.now())
    text = words(client, order)
    assert "Your posters are on their way" in text
    assert "We’ve emailed you a confirmation" in text
    assert "Cancel the order" not in text
    assert "Sent Your posters" in text
    assert "Something wrong? Cancelling and returns" in text
    assert marks(client, order) == ["done"] * 5
    assert "http-equiv" not in client.get(guest_page(order)).content.decode()


REFUNDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({"authorise-payment": declined()}, Reason.CUSTOMER_DID_NOT_RESOLVE, "No money was charged"),
    "reserved": (
        {"authorise-payment": {"state": "compensated", "completed_at": timezone.now()}},
        Reason.CUSTOMER_CANCELLED,
        "€78.00 reserved on your card has been released",
    ),
    "charged": (
        {"capture-payment": {"state": "compensated", "completed_at": timezone.now()}},
        "an operator wanted it",
        "We’ve refunded €78.00",
    ),
    "uncertain": (
        {"capture-payment": {"state": "compensated", "outcome": "unknown"}},
        "an operator wanted it",
        "If €78.00 was taken",
    ),
}


@pytest.mark.parametrize("name", REFUNDS)
def test_a_cancelled_order_says_why_and_what_happened_to_the_money(client: Client, name: str) -> None:
    steps, why, sentence = REFUNDS[name]
    order = shop_order(steps, goal="compensate", process_state="compensated", finished_at=timezone.now())
    note(order, "compensation_requested", why=why)
    note(order, "compensated")
    text = words(client, order)
    assert "Your order was cancelled" in text
    assert sentence in text
    because = {
        Reason.CUSTOMER_CANCELLED: "You cancelled it",
        Reason.CUSTOMER_DID_NOT_RESOLVE: "we didn’t get another payment in time",
    }
    assert because.get(why, "We couldn’t fulfil it") in text
    is_certain = name in ("reserved", "charged")
    assert marks(client, order) == ["done", *["reversed"] * is_certain, *["done"] * 3]


def test_an_order_being_cancelled_promises_the_refund_and_a_stuck_order_promises_help(
    client: Client,
) -> None:
    steps = {"authorise-payment": {"state": "compensating", "completed_at": timezone.now()}}
    order = shop_order(steps, goal="compensate")
    assert "€78.00 reserved on your card will be released" in words(client, order)
    assert marks(client, order) == ["done", "done", "done", "now", "later"]
    OrderProcess.objects.update(process_state="error")
    assert "We’re finishing your cancellation by hand" in words(client, order)
    assert "Email " in words(client, order)
    assert marks(client, order) == ["done", "done", "done", "now", "later"]
    StepState.objects.filter(state="compensating").update(state="failed", complete_by=None)
    assert marks(client, order) == ["done", "done", "done", "stop", "later"]


def test_after_the_promise_has_passed_the_page_says_so_and_names_a_way_to_get_help(client: Client) -> None:
    assert "longer than we promised" not in words(client, shop_order(age=599))
    late = words(client, shop_order(age=601))
    assert "longer than we promised" in late
    assert "Email " in late
    waiting = shop_order({"authorise-payment": declined()}, age=3000, not_before=ahead(60))
    assert "longer than we promised" not in words(client, waiting)


def test_the_usual_time_comes_from_finished_orders(client: Client) -> None:
    order = shop_order()
    assert "Nine out of ten" not in words(client, order)
    cache.clear()
    now = timezone.now()
    for _ in range(20):
        finished = shop_order(process_state="processed")
        OrderProcess.objects.filter(pk=finished.pk).update(
            created_at=now - timedelta(minutes=3), finished_at=now
        )
    assert "Nine out of ten orders are done in about 3 minutes" in words(client, order)


def test_the_page_exists_before_the_order_is_inserted(client: Client) -> None:
    client.post("/cart/add/", {"sku": "tidal-lines"})
    key = re.findall(r'name="seen_total" value="(\d+)"', client.get("/checkout/").content.decode())[0]
    address = client.post("/checkout/", FORM | {"seen_total": key}).headers["Location"]
    text = client.get(address).content.decode()
    assert "Thank you. We have your order." in text
    assert "Tidal Lines" in text
    message = SubmissionMessage.objects.get()
    SetAside.objects.create(
        order_id=message.order_id, client="guest", body=HOSTILE, reason="no", posted_at=timezone.now()
    )
    message.delete()
    assert "We’re looking into it" in client.get(address).content.decode()
    assert "Yes, cancel the order" in client.get(f"{address}cancel/").content.decode()


def test_an_order_is_cancelled_on_its_page_before_it_is_inserted(client: Client) -> None:
    client.post("/cart/add/", {"sku": "tidal-lines"})
    key = re.findall(r'name="seen_total" value="(\d+)"', client.get("/checkout/").content.decode())[0]
    address = client.post("/checkout/", FORM | {"seen_total": key}).headers["Location"]
    assert f'href="{address}cancel/"' in client.get(address).content.decode()
    assert "Yes, cancel the order" in client.get(f"{address}cancel/").content.decode()
    page = client.post(f"{address}cancel/", follow=True).content.decode()
    assert "We’re cancelling your order." in page
    assert "You cancelled it" in page
    assert f'href="{address}cancel/"' not in page
    assert (
        "This order’s cancellation had already begun."
        in client.post(f"{address}cancel/", follow=True).content.decode()
    )
    run_submission()
    assert OrderProcess.objects.get().goal == "compensate"


def test_text_of_customers_and_agents_is_shown_harmlessly(client: Client) -> None:
    order = shop_order(title=HOSTILE, email=f"{HOSTILE}@x.y"[:200])
    Order.objects.update(ship_to=dict.fromkeys(LONDON, HOSTILE))
    text = client.get(guest_page(order)).content.decode()
    assert "<script>alert" not in text
    assert Markup(text).offences == []


def test_the_page_names_the_point_of_no_return_and_cancelling_asks_first(client: Client) -> None:
    order = shop_order(done("reserve-stock"))
    until_then = "We take the payment once the carrier has your parcel; until then you can cancel."
    assert until_then in words(client, order)
    question = words(client, order, "cancel/")
    assert "Yes, cancel the order" in question
    assert "until then you can cancel" not in question
    assert stored(order).goal == "complete"
    response = client.post(f"{guest_page(order)}cancel/", follow=True)
    assert "We’re cancelling your order" in response.content.decode()
    assert stored(order).goal == "compensate"
    again = client.post(f"{guest_page(order)}cancel/", follow=True)
    assert "had already begun" in again.content.decode()


def test_after_the_point_of_no_return_cancelling_is_refused(client: Client) -> None:
    order = shop_order({**done(*STEPS[:3]), "capture-payment": "running"})
    assert "Cancel the order" not in words(client, order)
    assert "can’t cancel this order now" in words(client, order, "cancel/")
    assert "too late to cancel" in client.post(f"{guest_page(order)}cancel/", follow=True).content.decode()
    assert stored(order).goal == "complete"


def test_the_fragment_is_part_of_the_page_and_has_the_orders_version() -> None:
    user, ada = customer()
    order = shop_order(customer=user)
    note(order, "received")
    fragment = ada.get(f"/orders/{order.order_id}/progress/").content.decode().strip()
    assert fragment.startswith('<section id="progress"')
    assert f'data-version="{order_selectors.order_version(order.order_id)}"' in fragment
    assert f'data-events="/events/orders/{order.order_id}/"' in fragment
    assert 'id="progress"' in ada.get(f"/orders/{order.order_id}/").content.decode()


@pytest.mark.parametrize(("steps", "of_parcel"), [({}, 0), (done(*STEPS), 1)])
def test_a_page_takes_the_same_statements_however_much_has_happened(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, steps: dict[str, Any], of_parcel: int
) -> None:
    order = shop_order(steps)
    for number in range(30):
        note(order, "call_failed", "reserve-stock", number)
    page = guest_page(order)
    client.get(page)
    with django_assert_num_queries(4 + of_parcel):  # order, all that is seen of it, what happened, pictures
        client.get(page)
    with django_assert_num_queries(3 + of_parcel):
        client.get(f"{page}progress/")


def test_a_second_declined_card_has_its_own_words(client: Client) -> None:
    order = shop_order({**done("reserve-stock"), "authorise-payment": declined()}, not_before=ahead(3600))
    note(order, "paid_again", "authorise-payment")
    assert "declined too" in words(client, order)
