"""Customers are told by email what becomes of their orders: once, in the page's words, and not what they have seen."""

import re
from collections.abc import Iterator
from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from django.db.models import F
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
    OrderProcess,
    OrderUpdateReader,
    OutgoingMessage,
    StepState,
    SubmissionMessage,
)
from orders.outbox.order_update_emails import MOST
from orders.services import order_updates, placing
from orders.services.order_updates import HOLD, post_updates
from orders.shop.fulfilment import PAYMENT
from orders.shop.models import Product
from orders.shop.placing import place_order
from orders.shop.workflows import FulfilOrder
from orders.vocabulary import ActorKind, EventKind
from tests.support.factories import ago, new_order
from tests.support.mailbox import Mailbox, mailbox, text_of
from tests.support.order_bodies import BODY, EMAIL
from tests.support.two_sessions import all_at_once
from tests.web.shopping import customer, declined, done, guest_page, note, shop_order

pytestmark = pytest.mark.django_db
DECLINED_WORDS = "Choose another way to pay, and we’ll go on with your order."


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    OrderUpdateReader.objects.create(position=0, event_id=0, looked_for_late_at=timezone.now())
    with mailbox(settings) as server:
        yield server


def an_order(steps: Any = None, **fields: Any) -> OrderProcess:
    """An order of a customer who is told what becomes of it."""
    order = shop_order(steps, **fields)
    Order.objects.filter(pk=order.order_id).update(tells_customer=True)
    return order


def happens(order: OrderProcess, kind: EventKind, step: str = "", attempt: int = 0, **detail: Any) -> None:
    """Records an event of an order, as one that was written and settled a while ago."""
    position = Event.objects.count() + 1
    note(order, kind, step, attempt, **detail)
    Event.objects.filter(position=None).update(position=position)


def a_declined_order(**fields: Any) -> OrderProcess:
    order = an_order({PAYMENT: declined()}, **fields)
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 1)
    return order


def a_stopped_order() -> OrderProcess:
    order = an_order({"reserve-stock": "failed"}, process_state="error")
    happens(order, EventKind.ERROR, "reserve-stock", 1)
    return order


def a_late_order() -> OrderProcess:
    order = an_order({"reserve-stock": "running"}, process_state="processing", age=100_000)
    OrderUpdateReader.objects.update(looked_for_late_at=ago(60))
    return order


def waited(box: Mailbox) -> list[EmailMessage]:
    """The emails that arrive once the messages have been posted and have waited."""
    post_updates()
    OutgoingMessage.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - HOLD)
    return box.deliver()


def sees(order: OrderProcess) -> None:
    """The customer sees the order's page in a browser without scripts."""
    assert Client().get(f"{guest_page(order)}seen/").status_code == 204


def time_passes(order: OrderProcess, *, minutes: int) -> None:
    """Moves what is to happen this much nearer."""
    time = timedelta(minutes=minutes)
    StepState.objects.filter(process=order, not_before__isnull=False).update(
        not_before=F("not_before") - time
    )
    OutgoingMessage.objects.filter(due_at__isnull=False).update(due_at=F("due_at") - time)


def skipped() -> list[tuple[str, str]]:
    return list(OutgoingMessage.objects.values_list("state", "error"))


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
    (link,) = [line for line in text_of(email).splitlines() if line.startswith("http://testserver/o/")]
    assert Client().get(link.removeprefix("http://testserver")).status_code == 200
    (picture,) = [part for part in email.walk() if part.get_content_type() == "image/png"]
    assert f"cid:{picture['Content-ID'].strip('<>')}" in html.get_content()
    assert picture.get_content().startswith(b"\x89PNG")


def test_each_decline_is_told_once_however_often_anybody_looks(box: Mailbox) -> None:
    order = a_declined_order()
    assert len(waited(box)) == 1 and waited(box) == []
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 2)
    assert len(waited(box)) == 1


@pytest.mark.django_db(transaction=True)
def test_two_readers_at_once_post_everything_once_and_nothing_from_before_the_first_look() -> None:
    actor = Actor(ActorKind.SCHEDULER, "test")
    orders = [an_order({PAYMENT: declined()}) for _ in range(4)]
    events = [
        EventRow(order.order_id, EventKind.STEP_DECLINED, actor, PAYMENT, 1, customer_id=0)
        for order in orders
    ]
    record_events(events[:1])
    post_updates()
    record_events(events[1:])
    all_at_once(4, lambda _: post_updates())
    assert OutgoingMessage.objects.count() == 3


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


@pytest.mark.parametrize(
    ("page", "headers", "status"), [("seen/", {}, 204), ("progress/", {"Page-Visible": "yes"}, 200)]
)
def test_what_she_sees_on_the_page_is_not_emailed_as_well(
    box: Mailbox, page: str, headers: dict[str, str], status: int
) -> None:
    order = a_stopped_order()
    post_updates()
    assert Client(headers=headers).get(f"{guest_page(order)}{page}").status_code == status
    assert skipped() == [("skipped", "Its customer has seen it on the order’s page.")]
    assert waited(box) == []


def test_a_browser_without_scripts_says_that_it_shows_the_page_where_there_is_something_to_tell(
    box: Mailbox,
) -> None:
    order = a_stopped_order()
    page = Client().get(guest_page(order)).content.decode()
    picture = re.search(r'<noscript>\s*<img src="([^"]+)" alt="" width="1" height="1">\s*</noscript>', page)
    assert picture is not None and " data-tells" in page
    post_updates()
    assert len(waited(box)) == 1, "the page alone has not been seen"
    assert Client().get(picture[1]).status_code == 204
    quiet = Client().get(guest_page(an_order())).content.decode()
    assert "seen/" not in quiet and "data-tells" not in quiet


def test_a_page_that_is_quicker_than_the_reader_counts_too(box: Mailbox) -> None:
    for order in (a_stopped_order(), a_late_order()):
        for _ in range(2):
            sees(order)
    assert OutgoingMessage.objects.count() == 2
    assert waited(box) == []


@pytest.mark.parametrize("is_page_quicker", [False, True])
def test_she_is_reminded_halfway_of_what_still_waits_for_her_though_she_has_seen_it(
    box: Mailbox, is_page_quicker: bool
) -> None:
    order = a_declined_order()  # which waits for an hour
    if not is_page_quicker:
        post_updates()
    sees(order)
    assert waited(box) == []
    time_passes(order, minutes=20)
    sees(order)  # which puts it off no further
    assert waited(box) == []
    time_passes(order, minutes=10)
    (email,) = waited(box)
    assert email["Subject"].startswith("Your card was declined (")
    assert "We’ll wait for you until" in text_of(email)
    sees(order)
    time_passes(order, minutes=20)
    assert waited(box) == []


def test_she_is_not_reminded_of_what_she_has_resolved(box: Mailbox) -> None:
    order = a_declined_order()
    sees(order)
    StepState.objects.filter(process=order, name=PAYMENT).update(
        state="not_started", error=None, not_before=None
    )
    time_passes(order, minutes=40)
    assert waited(box) == []
    assert skipped() == [("skipped", "")]


@pytest.mark.parametrize("sees_second", [False, True])
def test_a_second_decline_is_told_once_though_she_was_to_be_reminded_of_the_first(
    box: Mailbox, sees_second: bool
) -> None:
    order = a_declined_order()
    sees(order)
    StepState.objects.filter(process=order, name=PAYMENT).update(attempt=2, answered=2)
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 2)
    if sees_second:
        sees(order)
    at_once = waited(box)
    time_passes(order, minutes=40)
    assert (len(at_once), len(waited(box))) == ((0, 1) if sees_second else (1, 0))


def test_a_reminder_that_the_page_has_posted_is_in_the_language_of_its_order(box: Mailbox) -> None:
    order = a_declined_order()
    purchase = Order.objects.get(pk=order.order_id)
    purchase.data = {**purchase.data, "language": "hu"}
    purchase.save(update_fields=["data"])
    sees(order)
    time_passes(order, minutes=30)
    (email,) = waited(box)
    html = email.get_body(("html",))
    assert html is not None and '<html lang="hu">' in html.get_content()


def test_what_waits_for_her_no_longer_is_skipped_when_seen(box: Mailbox) -> None:
    order = an_order({PAYMENT: declined(not_before=ago(1))})
    happens(order, EventKind.STEP_DECLINED, PAYMENT, 1)
    sees(order)
    assert skipped() == [("skipped", "Its customer has seen it on the order’s page.")]


def test_nobody_is_reminded_of_what_a_kind_does_not_tell(
    box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FulfilOrder, "updates", {OrderUpdate.STOPPED})
    sees(a_declined_order())
    assert OutgoingMessage.objects.count() == 0


@pytest.mark.parametrize(
    ("method", "page", "headers"),
    [
        ("get", "", {}),
        ("get", "progress/", {}),
        ("head", "seen/", {}),
        ("head", "progress/", {"Page-Visible": "yes"}),
        ("get", "seen/", {"Sec-Purpose": "prefetch;prerender"}),
        ("get", "progress/", {"Page-Visible": "yes", "Sec-Purpose": "prefetch"}),
    ],
)
def test_a_hidden_tab_and_a_prefetch_have_not_seen_it(
    box: Mailbox, method: str, page: str, headers: dict[str, str]
) -> None:
    order = a_declined_order()
    post_updates()
    getattr(Client(headers=headers), method)(f"{guest_page(order)}{page}")
    assert len(waited(box)) == 1


def test_seeing_one_thing_leaves_another_to_be_told(box: Mailbox) -> None:
    order = a_declined_order()
    sees(order)
    OrderProcess.objects.filter(pk=order.pk).update(process_state="error")
    happens(order, EventKind.ERROR, PAYMENT, 1)
    (email,) = waited(box)
    assert "looking into a problem" in email["Subject"]


def test_an_old_order_and_one_whose_customer_is_not_told_write_nothing_when_seen(box: Mailbox) -> None:
    of_client = shop_order({PAYMENT: declined()})
    old = an_order({PAYMENT: declined()}, age=100_000)
    Order.objects.filter(pk=old.order_id).update(inserted_at=ago(100_000))
    for order in (of_client, old):
        sees(order)
    assert OutgoingMessage.objects.count() == 0


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
