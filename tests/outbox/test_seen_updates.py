"""Customers are not told by email what they have seen on the page, and are reminded of what waits for them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from orders.business.updates import OrderUpdate
from orders.models import (
    Order,
    OrderProcess,
    OutgoingMessage,
    StepState,
)
from orders.services.order_updates import post_updates
from orders.shop.fulfilment import PAYMENT
from orders.shop.workflows import FulfilOrder
from orders.vocabulary import EventKind
from tests.outbox.updates import (
    a_declined_order,
    a_late_order,
    a_stopped_order,
    an_order,
    happens,
    sees,
    skipped,
    time_passes,
    waited,
)
from tests.support.factories import ago
from tests.support.mailbox import Mailbox, text_of
from tests.support.two_sessions import NewSession
from tests.web.shopping import declined, guest_page, shop_order

pytestmark = pytest.mark.django_db


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
    assert "We’ll wait for you until" in text_of(email) and "If you do nothing" not in text_of(email)
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


# Races.


def errors_of(act: Callable[[], Any]) -> list[str]:
    """The errors with which PostgreSQL answers the statements of an act: those that it logs."""
    errors = []

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        try:
            return execute(sql, params, many, context)
        except DatabaseError as error:
            errors.append(str(error))
            raise

    with connection.execute_wrapper(watch):
        act()
    return errors


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make", [a_declined_order, a_stopped_order])
@pytest.mark.parametrize(("first", "second"), [("reader", "page"), ("page", "reader"), ("page", "page")])
def test_a_page_and_the_reader_that_find_the_same_at_once_post_it_once_without_an_error(
    new_session: NewSession, make: Callable[[], OrderProcess], first: str, second: str
) -> None:
    """Either may come second, and then waits for the first one's row."""
    post_updates()  # the reader begins
    order = make()
    acts = {"reader": post_updates, "page": lambda: sees(order)}
    earlier, later = new_session(), new_session()
    earlier.begin()
    assert earlier.do(lambda: errors_of(acts[first])) == []
    waiting = later.start(lambda: errors_of(acts[second]))
    later.await_wait()
    earlier.commit()
    assert waiting.result(timeout=60) == []
    (message,) = OutgoingMessage.objects.all()
    outcome = (message.state, message.arguments.get("is_reminder", False))
    assert outcome == (("queued", True) if make is a_declined_order else ("skipped", False))
