"""A guest's first email says what she has ordered, and one that she asks for later only leads to it."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from email.message import EmailMessage
from typing import Any

import pytest
from babel.dates import format_skeleton
from django.db import connection
from django.test import Client

from orders.emails.letter import Letter
from orders.engine.runtime.sql import database_now, run
from orders.fields.order_numbers import spoken_number
from orders.models import Event, Order, OrderLine, OrderProcess, OutgoingMessage, StepState
from orders.outbox import order_link_emails, queue
from orders.outbox.content import Email
from orders.outbox.delivery import deliver
from orders.outbox.order_link_emails import IS_NEW, LONGEST_HOLD
from orders.selectors.tracked_orders import guest_address, order_of_guest
from orders.services.customers import ask_for_link, place_order_as_guest
from orders.shop.delivery import working_day_after
from orders.shop.fulfilment import PAYMENT
from orders.shop.models import DeliveryTerms, Edition, Product
from orders.shop.placing import as_order
from orders.vocabulary import EventKind, MessageKind, MessageState
from tests.support.factories import make_purchase, new_order
from tests.support.mailbox import Mailbox, links, mailbox, text_of
from tests.support.order_bodies import EMAIL
from tests.web.shopping import STEPS, declined, done, guest_page, shop_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with mailbox(settings) as server:
        yield server


def first_email(box: Mailbox, order: OrderProcess) -> EmailMessage:
    """What is sent once an order has been inserted before its first email was."""
    post_first_email(order)
    (email,) = box.deliver()
    return email


def post_first_email(order: OrderProcess) -> None:
    arguments = {"language": "en", IS_NEW: True}
    queue.post(kind=MessageKind.ORDER_LINK, recipient=EMAIL, order_id=order.order_id, arguments=arguments)


def test_it_says_what_was_ordered_while_the_order_is_still_queued(box: Mailbox) -> None:
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)
    order = as_order(new_order("nap", quantity=2))
    placed = place_order_as_guest(order=order, email=EMAIL, idempotency_key="k", language="en")
    (email,) = box.deliver()
    number = spoken_number(placed.order_id)
    assert email["Subject"] == f"We have your order ({number})"
    for part in ("2 × Nap: €98.00", "Total: €98.00", number, "Lane 1", "2611 AB Delft", "Netherlands"):
        assert part in text_of(email)
    assert len(links(email)) == 1


def test_an_order_that_is_taken_from_the_queue_between_two_looks_is_found() -> None:
    """Its first email would be dropped as not needed, and the guest would never have the link."""
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)
    placed = place_order_as_guest(
        order=as_order(new_order("nap")), email=EMAIL, idempotency_key="k", language="en"
    )

    def insert_before_it_is_read(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SELECT") and "orders_submissionmessage" in sql:
            run("DELETE FROM orders_submissionmessage")
            make_purchase(placed.order_id)
        return execute(sql, *rest)

    with connection.execute_wrapper(insert_before_it_is_read):
        address = guest_address(placed.order_id)
    assert address is not None and address.email == EMAIL


def test_it_says_what_was_ordered_once_the_order_is_inserted(box: Mailbox) -> None:
    email = first_email(box, shop_order())
    assert email["Subject"].startswith("We have your order (")
    for part in ("2 × Tidal Lines: €78.00", "Total: €78.00", "2611 AB Delft"):
        assert part in text_of(email)


@pytest.mark.parametrize(
    ("process", "arrives"),
    [
        ({"age": 5}, True),
        ({"age": 3 * 24 * 3_600}, False),  # it is late, and nobody knows when it comes
        ({"age": 5, "steps": {"reserve-stock": "failed"}, "process_state": "error"}, False),
        ({"age": 5, "steps": {PAYMENT: declined()}, "process_state": "processing"}, False),
    ],
)
def test_it_says_when_the_order_should_arrive_as_the_page_does(
    box: Mailbox, client: Client, process: dict[str, Any], arrives: bool
) -> None:
    stored = shop_order(**process)
    order = Order.objects.get(pk=stored.order_id)
    order.data = {**order.data, "delivery": {"price": 0, "fewest_days": 2, "most_days": 4}}
    order.save()
    page = html.unescape(client.get(guest_page(stored)).content.decode())
    email = text_of(first_email(box, stored))
    (day,) = re.findall(r"Should arrive: (.+)", email) or [""]
    assert bool(day) is ("Should arrive" in page) is arrives
    assert day in page


def test_it_says_when_an_order_should_arrive_that_is_still_queued(box: Mailbox) -> None:
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)
    DeliveryTerms.objects.create(price=690, fewest_days=2, most_days=2)
    placed = place_order_as_guest(
        order=as_order(new_order("nap")), email=EMAIL, idempotency_key="k", language="en"
    )
    (email,) = box.deliver()
    tracked = order_of_guest(order_id=placed.order_id)
    assert tracked
    due = working_day_after(tracked.order.placed_at.astimezone(UTC).date(), 2)
    day = format_skeleton("MMMEd", due, locale="en_GB")
    number = spoken_number(placed.order_id)
    assert f"Order number: {number}\nShips to:" in text_of(email)
    assert f"Should arrive: {day}\n" in text_of(email)


def test_it_names_the_size_and_edition_of_each_poster_as_the_pages_do(box: Mailbox) -> None:
    poster = Product.objects.create(sku="tidal-lines", title="Tidal Lines", size="30x40", price=3900)
    Product.objects.create(
        sku="tidal-lines-60x80-signed",
        variant_of=poster,
        size="60x80",
        edition=Edition.SIGNED,
        title="Tidal Lines, 60 × 80 cm, signed",
        price=15200,
    )
    stored = shop_order()
    order = Order.objects.get(pk=stored.order_id)
    for sku, title in (("tidal-lines-60x80-signed", "Tidal Lines, 60 × 80 cm, signed"), ("gone", "Gone")):
        OrderLine.objects.create(order=order, sku=sku, title=title, quantity=1, unit_price=15200)
    text = text_of(first_email(box, stored))
    assert (
        "  2 × Tidal Lines: €78.00\n      30 × 40 cm · Open edition\n"
        "  1 × Tidal Lines: €152.00\n      60 × 80 cm · Signed and numbered\n"
        "  1 × Gone: €152.00\n  Total: €78.00\n"
    ) in text


def test_it_does_not_say_that_we_have_an_order_which_was_cancelled_meanwhile(box: Mailbox) -> None:
    email = first_email(box, shop_order(goal="compensate", process_state="processing"))
    assert email["Subject"].startswith("Your order at ")
    assert "We have" not in text_of(email)


def test_it_is_sent_if_the_email_of_the_order_itself_had_to_go_without_the_link(box: Mailbox) -> None:
    order = shop_order(done(*STEPS), process_state="processed")
    StepState.objects.filter(process=order, name="send-confirmation").update(result={"has_link": False})
    email = first_email(box, order)
    assert len(links(email)) == 1
    assert email["Subject"].startswith("Your order at ")  # she has read that it is on its way
    assert "We have" not in text_of(email)


CONFIRMATION = "send-confirmation"
NOTICE_SENT = (
    done(*STEPS),
    {"send-confirmation": "compensated"},
    {"send-confirmation": {"state": "compensating", "outcome": "done"}},
)


@pytest.mark.parametrize("steps", NOTICE_SENT)
def test_it_is_not_sent_once_the_order_has_sent_an_email_with_the_link_itself(
    steps: dict[str, Any], box: Mailbox
) -> None:
    goal = "complete" if steps == done(*STEPS) else "compensate"
    order = shop_order(steps, goal=goal, process_state="processed" if goal == "complete" else "processing")
    post_first_email(order)
    assert box.deliver() == []
    message = OutgoingMessage.objects.get()
    assert message.state == MessageState.SKIPPED
    assert not Event.objects.filter(kind=EventKind.LINK_MAILED).exists()
    ask_for_link(order_id=order.order_id, email=EMAIL, language="en")
    (email,) = box.deliver()  # whoever asks for it gets it nevertheless, and at once
    assert email["Subject"].startswith("Your order at ")


UNKNOWN: dict[str, dict[str, Any]] = {
    "being sent": {"state": "running"},
    "sent again soon": {"state": "not_started", "outcome": "unknown", "attempt": 1, "failure_count": 1},
}


@pytest.mark.parametrize("step", UNKNOWN.values(), ids=UNKNOWN)
def test_it_waits_while_the_order_may_be_sending_its_own_email_and_never_follows_it(
    step: dict[str, Any], box: Mailbox
) -> None:
    order = shop_order(done(*STEPS[:-1]) | {CONFIRMATION: step}, process_state="processing")
    post_first_email(order)
    assert box.deliver() == []
    message = OutgoingMessage.objects.get()
    assert message.state == MessageState.QUEUED
    assert message.due_at is not None and message.due_at > database_now()
    assert message.error == "waits until the order’s own email is sent, or fails"
    StepState.objects.filter(process=order, name=CONFIRMATION).update(
        state="completed",
        outcome="done",
        attempt=1,
        answered=1,
        complete_by=None,
        completed_at=database_now(),
    )
    assert look_again(box) == []
    assert OutgoingMessage.objects.get().state == MessageState.SKIPPED


@pytest.mark.parametrize(
    ("steps", "subject"),
    [({}, "Your order at Print Shop"), ({CONFIRMATION: {"state": "running"}}, None)],
    ids=["cancelled", "its own email is being sent"],
)
def test_what_happens_to_the_order_while_it_is_composed_counts(
    steps: dict[str, Any], subject: str | None, box: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = shop_order()
    post_first_email(order)
    compose_letter = order_link_emails.email_of

    def compose_slowly(letter: Letter, *, recipient: str) -> Email:
        OrderProcess.objects.filter(pk=order.pk).update(goal="complete" if steps else "compensate")
        for name, fields in steps.items():
            step = {"attempt": 1, "outcome": "unknown", "complete_by": database_now(), **fields}
            StepState.objects.filter(process=order, name=name).update(**step)
        return compose_letter(letter, recipient=recipient)

    monkeypatch.setattr(order_link_emails, "email_of", compose_slowly)
    assert [email["Subject"] for email in box.deliver()] == ([subject] if subject else [])


@pytest.mark.parametrize("outcome", ["refused", "unknown"])
def test_the_link_is_sent_once_the_orders_own_email_has_failed(outcome: str, box: Mailbox) -> None:
    order = shop_order(done(*STEPS[:-1]) | {CONFIRMATION: {"state": "running"}}, process_state="processing")
    post_first_email(order)
    assert box.deliver() == []
    error = {"code": "smtp_550", "message": "no"}
    StepState.objects.filter(process=order, name=CONFIRMATION).update(
        state="failed", outcome=outcome, attempt=1, answered=1, complete_by=None, error=error
    )
    OrderProcess.objects.update(process_state="error", locked_by=None)
    (email,) = look_again(box)
    assert len(links(email)) == 1
    is_known = outcome == "refused"
    # What may have arrived says that the order is on its way.
    assert email["Subject"].startswith("We have your order (" if is_known else "Your order at ")


def test_the_link_is_sent_if_it_stays_unknown_whether_the_orders_own_email_was_sent(box: Mailbox) -> None:
    order = shop_order(done(*STEPS[:-1]) | {CONFIRMATION: {"state": "running"}}, process_state="processing")
    post_first_email(order)
    OutgoingMessage.objects.update(created_at=database_now() - LONGEST_HOLD)
    (email,) = box.deliver()
    assert len(links(email)) == 1
    assert email["Subject"].startswith("Your order at ")


def test_it_waits_while_the_cancellation_is_being_told(box: Mailbox) -> None:
    steps = {CONFIRMATION: {"state": "compensating", "outcome": "none"}}
    order = shop_order(steps, goal="compensate", process_state="processing")
    post_first_email(order)
    assert box.deliver() == []
    assert OutgoingMessage.objects.get().state == MessageState.QUEUED


def test_a_link_that_is_asked_for_waits_for_no_other_email(box: Mailbox) -> None:
    order = shop_order(done(*STEPS[:-1]) | {CONFIRMATION: {"state": "running"}}, process_state="processing")
    ask_for_link(order_id=order.order_id, email=EMAIL, language="en")
    assert len(links(*box.deliver())) == 1


def look_again(box: Mailbox) -> list[EmailMessage]:
    """What the outbox sends once a message's wait is over."""
    OutgoingMessage.objects.filter(state=MessageState.QUEUED).update(due_at=database_now())
    return box.deliver()


@pytest.mark.parametrize("state", ["not_started", "failed", "skipped"])
def test_it_is_sent_while_no_other_email_has_had_the_link(state: str, box: Mailbox) -> None:
    steps = done(*STEPS[:-1]) | {STEPS[-1]: state}
    email = first_email(box, shop_order(steps, process_state="processing"))
    assert email["Subject"].startswith("We have your order (")


def test_a_link_that_is_asked_for_only_leads_to_the_order(box: Mailbox) -> None:
    ask_for_link(order_id=shop_order().order_id, email=EMAIL, language="en")
    (email,) = box.deliver()
    assert email["Subject"].startswith("Your order at ")
    assert "Here is your order" in text_of(email) and "Tidal Lines" not in text_of(email)


@pytest.mark.parametrize(
    ("shop_email", "reply_to"),
    [
        ("", None),
        ("hello@prints.example", "hello@prints.example"),
        ("hello@prints.example, help@prints.example", "hello@prints.example"),
        ("Nyomdák <hello@prints.example>", "Nyomdák <hello@prints.example>"),
    ],
)
def test_replies_to_emails_go_where_customers_write_to(
    shop_email: str, reply_to: str | None, box: Mailbox, settings: Any
) -> None:
    settings.CONFIG = replace(settings.CONFIG, shop_email=shop_email)
    email = first_email(box, shop_order())
    assert email["Reply-To"] == reply_to
    assert email["From"] == settings.CONFIG.email_from


def test_operators_answer_an_alert_to_its_sender(box: Mailbox, settings: Any) -> None:
    settings.CONFIG = replace(
        settings.CONFIG, shop_email="hello@prints.example", alert_email="ops@prints.example"
    )
    handover = Email(recipient="ops@prints.example", subject="Alert", body="It is down.")
    deliver(handover, message_id="m@prints.example")
    assert box.emails[-1]["Reply-To"] is None
