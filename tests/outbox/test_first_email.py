"""A guest's first email says what she has ordered, and one that she asks for later only leads to it."""

from collections.abc import Iterator
from email.message import EmailMessage
from typing import Any

import pytest

from orders.fields.order_numbers import spoken_number
from orders.models import OrderProcess
from orders.outbox import queue
from orders.outbox.order_link_emails import IS_NEW
from orders.services.customers import ask_for_link, place_order_as_guest
from orders.shop.models import Product
from orders.shop.placing import as_order
from orders.vocabulary import MessageKind
from tests.support.factories import new_order
from tests.support.mailbox import Mailbox, links, mailbox, text_of
from tests.support.order_bodies import EMAIL
from tests.web.shopping import shop_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with mailbox(settings) as server:
        yield server


def first_email(box: Mailbox, order: OrderProcess) -> EmailMessage:
    """What is sent once an order has been inserted before its first email was."""
    arguments = {"language": "en", IS_NEW: True}
    queue.post(kind=MessageKind.ORDER_LINK, recipient=EMAIL, order_id=order.order_id, arguments=arguments)
    (email,) = box.deliver()
    return email


def test_it_says_what_was_ordered_while_the_order_is_still_queued(box: Mailbox) -> None:
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)
    order = as_order(new_order("nap", quantity=2))
    placed = place_order_as_guest(order=order, email=EMAIL, idempotency_key="k", language="en")
    (email,) = box.deliver()
    number = spoken_number(placed.order_id)
    assert email["Subject"] == f"We have your order ({number})"
    for part in ("2 × Nap: €98.00", "Total: €98.00", number, "Lane 1", "2611 Delft", "Netherlands"):
        assert part in text_of(email)
    assert len(links(email)) == 1


def test_it_says_what_was_ordered_once_the_order_is_inserted(box: Mailbox) -> None:
    email = first_email(box, shop_order())
    assert email["Subject"].startswith("We have your order (")
    for part in ("2 × Tidal Lines: €78.00", "Total: €78.00", "2611 Delft"):
        assert part in text_of(email)


def test_it_does_not_say_that_we_have_an_order_which_was_cancelled_meanwhile(box: Mailbox) -> None:
    email = first_email(box, shop_order(goal="compensate", process_state="processing"))
    assert email["Subject"].startswith("Your order at ")
    assert "We have" not in text_of(email)


@pytest.mark.parametrize(
    ("goal", "ended", "state"),
    [("complete", "processed", "completed"), ("compensate", "compensated", "compensated")],
)
def test_it_is_not_sent_after_the_email_that_the_order_is_on_its_way_or_was_cancelled(
    box: Mailbox, goal: str, ended: str, state: str
) -> None:
    order = shop_order({"send-confirmation": state}, goal=goal, process_state=ended)
    arguments = {"language": "en", IS_NEW: True}
    queue.post(kind=MessageKind.ORDER_LINK, recipient=EMAIL, order_id=order.order_id, arguments=arguments)
    assert box.deliver() == []


def test_a_link_that_is_asked_for_only_leads_to_the_order(box: Mailbox) -> None:
    ask_for_link(order_id=shop_order().order_id, email=EMAIL, language="en")
    (email,) = box.deliver()
    assert email["Subject"].startswith("Your order at ")
    assert "Here is your order" in text_of(email) and "Tidal Lines" not in text_of(email)
