"""Customers are told by email what becomes of their orders: once, and in the words of the page."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from orders.api.requests import order_in
from orders.business.intake import OrderIntake
from orders.business.updates import OrderUpdate
from orders.engine.intakes import Submission
from orders.engine.rows import Actor, EventRow
from orders.engine.state_store import record_events
from orders.fields.order_numbers import spoken_number
from orders.models import (
    Event,
    Order,
    OrderUpdateReader,
    OutgoingMessage,
    StepState,
    SubmissionMessage,
)
from orders.outbox.order_update_emails import MOST
from orders.services import order_updates, placing
from orders.services.order_updates import post_updates
from orders.shop.fulfilment import PAYMENT
from orders.shop.models import Product
from orders.shop.placing import place_order
from orders.shop.workflows import FulfilOrder
from orders.vocabulary import ActorKind, EventKind
from tests.outbox.updates import (
    a_declined_order,
    a_late_order,
    a_stopped_order,
    an_order,
    happens,
    skipped,
    waited,
)
from tests.support.factories import ago, new_order
from tests.support.mailbox import Mailbox, text_of
from tests.support.order_bodies import BODY, EMAIL
from tests.support.two_sessions import all_at_once
from tests.web.shopping import customer, declined, done, guest_page, shop_order

pytestmark = pytest.mark.django_db
DECLINED_WORDS = "Choose another way to pay, and we’ll go on with your order."


def test_a_declined_payment_is_told_in_the_words_of_the_page_with_the_way_to_it(box: Mailbox) -> None:
    Product.objects.create(
        sku="tidal-lines", title="Tidal Lines", artist="Ada", price=3900, design={"seed": 7}
    )
    order = a_declined_order()
    assert post_updates() == 1
    assert box.deliver() == [], "it waits for her to see it on the page"
    (email,) = waited(box)
    assert (email["To"], email["Subject"]) == (
        EMAIL,
        f"Your card was declined ({spoken_number(order.order_id)})",
    )
    page = Client().get(guest_page(order)).content.decode()
    html = email.get_body(("html",))
    assert html is not None
    for part in (text_of(email), html.get_content(), page):
        assert "Your card was declined." in part and DECLINED_WORDS in part and "€78.00" in part
    assert "2 × Tidal Lines: €78.00" in text_of(email)
    assert "Ships to:\n  Ada\n  Lane 1\n" in text_of(email)
    (link,) = [line for line in text_of(email).splitlines() if line.startswith("http://testserver/o/")]
    assert Client().get(link.removeprefix("http://testserver")).status_code == 200
    (picture,) = [part for part in email.walk() if part.get_content_type() == "image/png"]
    assert f"cid:{picture['Content-ID'].strip('<>')}" in html.get_content()
    assert picture.get_content().startswith(b"\x89PNG")


def test_what_has_sold_out_altogether_is_cancelled_if_she_does_nothing(box: Mailbox) -> None:
    detail = {"lines": [{"sku": "tidal-lines", "left": 0}]}
    error = {"code": "sold_out", "message": "no", "waits_for": "customer", "detail": detail}
    order = an_order({"reserve-stock": declined(error=error)})
    happens(order, EventKind.STEP_DECLINED, "reserve-stock", 1)
    (email,) = waited(box)
    text = text_of(email)
    assert email["Subject"] == f"Your posters have sold out ({spoken_number(order.order_id)})"
    assert re.search(r"^If you do nothing, we’ll cancel it for you on .*\d.*\.$", text, re.MULTILINE), text
    assert "We’ll wait for you" not in text
    assert text.count("sold out") == 1, "the headline says it"


def test_each_decline_is_told_once_however_often_anybody_looks(box: Mailbox) -> None:
    order = a_declined_order()
    assert len(waited(box)) == 1 and waited(box) == []
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 2)
    assert len(waited(box)) == 1


@pytest.mark.django_db(transaction=True)
def test_two_readers_at_once_post_everything_once_and_nothing_from_long_before_the_first_look() -> None:
    actor = Actor(ActorKind.SCHEDULER, "test")
    orders = [an_order({PAYMENT: declined()}) for _ in range(4)]
    events = [
        EventRow(order.order_id, EventKind.STEP_DECLINED, actor, PAYMENT, 1, customer_id=0)
        for order in orders
    ]
    record_events(events[:1])
    Event.objects.update(at=ago(601))
    record_events(events[1:2])
    assert post_updates() == 0
    record_events(events[2:])
    all_at_once(4, lambda _: post_updates())
    recipients = OutgoingMessage.objects.order_by("order_id").values_list("order_id", flat=True)
    assert list(recipients) == sorted(order.order_id for order in orders[1:])


def test_what_has_passed_before_it_is_sent_is_not_told(box: Mailbox) -> None:
    order = a_declined_order()
    post_updates()
    StepState.objects.filter(process=order, name=PAYMENT).update(state="not_started", error=None)
    assert waited(box) == []
    assert skipped() == [("skipped", "")]


def test_an_account_is_led_to_its_own_page(box: Mailbox) -> None:
    ada, _ = customer()
    order = a_declined_order(customer=ada)
    (email,) = waited(box)
    assert f"http://testserver/orders/{order.order_id}/\n" in text_of(email)


@pytest.mark.parametrize(("email", "is_linked"), [("Ada@example.com", True), ("hers@example.org", False)])
def test_of_a_clients_order_only_the_email_to_the_client_itself_has_a_link(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch, email: str, is_linked: bool
) -> None:
    monkeypatch.setattr(FulfilOrder, "tells_customers_of_clients", True)
    ada, _ = customer()
    a_declined_order(customer=ada, email=email)
    (message,) = waited(box)
    assert message["To"] == email
    assert ("Go to your order" in text_of(message)) == ("http" in text_of(message)) == is_linked


def test_the_customer_of_a_rest_client_is_not_told(box: Mailbox) -> None:
    order = shop_order({PAYMENT: declined()})
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 1)
    assert waited(box) == []


def test_a_kind_says_what_its_customers_are_told(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FulfilOrder, "updates", {OrderUpdate.STOPPED})
    a_declined_order()
    a_late_order()
    a_stopped_order()
    (email,) = waited(box)
    assert "looking into a problem" in email["Subject"]


def test_a_customer_who_was_erased_is_not_told(box: Mailbox) -> None:
    a_declined_order()
    post_updates()
    OutgoingMessage.objects.update(arguments={}, recipient="erased")
    assert waited(box) == []
    assert skipped() == [("skipped", "")]


def test_no_order_fills_a_mailbox(box: Mailbox) -> None:
    order = a_declined_order()
    for attempt in range(2, MOST + 3):
        happens(order, EventKind.STEP_DECLINED, PAYMENT, attempt)
    assert len(waited(box)) == MOST


def test_an_order_that_is_late_is_told_once_and_in_the_words_of_the_page(box: Mailbox) -> None:
    a_late_order()
    (email,) = waited(box)
    assert email["Subject"].startswith("Your order is taking longer than we promised (")
    assert "longer than we promised, and we’re sorry" in text_of(email)
    assert "Would you rather talk to a person?" in text_of(email)
    OrderUpdateReader.objects.update(looked_for_late_at=ago(60))
    assert waited(box) == []


def test_an_order_that_stops_again_is_told_once(box: Mailbox) -> None:
    order = a_stopped_order()
    assert len(waited(box)) == 1
    happens(order, EventKind.ERROR, "reserve-stock", 2)
    assert waited(box) == []


def test_a_cancellation_is_told_unless_the_workflow_has_sent_its_notice(box: Mailbox) -> None:
    for state, emails in (("compensated", 0), ("skipped", 1)):
        steps = {**done("reserve-stock"), "send-confirmation": state}
        order = an_order(steps, process_state="compensated", goal="compensate")
        happens(order, EventKind.COMPENSATED)
        arrived = waited(box)
        assert len(arrived) == emails
    assert arrived[0]["Subject"].startswith("Your order was cancelled (")


def test_an_email_is_in_the_language_of_its_order(box: Mailbox) -> None:
    order = a_declined_order()
    purchase = Order.objects.get(pk=order.order_id)
    purchase.data = {**purchase.data, "language": "hu"}
    purchase.save(update_fields=["data"])
    (email,) = waited(box)
    html = email.get_body(("html",))
    assert html is not None and '<html lang="hu">' in html.get_content()
    assert "78,00\xa0EUR" in text_of(email)


def test_what_is_found_while_a_message_is_posted_is_all_or_nothing(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_declined_order()
    with monkeypatch.context() as broken:
        broken.setattr(order_updates.queue, "post", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            post_updates()
    assert len(waited(box)) == 1
    assert timezone.now() >= OrderUpdateReader.objects.get().looked_for_late_at


@pytest.mark.parametrize("for_clients", [False, True])
def test_orders_of_the_shops_own_pages_are_told_and_those_of_rest_clients_if_their_kind_says_so(
    monkeypatch: pytest.MonkeyPatch, for_clients: bool
) -> None:
    monkeypatch.setattr(FulfilOrder, "tells_customers_of_clients", for_clients)
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="Ada", price=3900)
    place_order(client="guest", order=new_order("tidal-lines"))
    body = {**BODY, "lines": BODY["lines"][:1], "language": "hu"}
    placing.place_order(client="guest", order=order_in(body, account_id=1))
    bodies = SubmissionMessage.objects.order_by("id")
    OrderIntake()(
        [
            Submission(order_id=row.order_id, client=row.client, body=row.body, posted_at=row.posted_at)
            for row in bodies
        ]
    )
    stored = [Order.objects.get(pk=row.order_id) for row in bodies]
    assert [order.tells_customer for order in stored] == [True, for_clients]
    assert all("tells_customer" not in order.data for order in stored)
    assert [order.data.get("language") for order in stored] == [None, "hu"]
