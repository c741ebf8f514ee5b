"""What a customer and an operator read of an order's delivery after it was placed, the same to the cent everywhere."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from orders.models import Order, OrderProcess
from orders.outbox import queue
from orders.outbox.order_link_emails import IS_NEW
from orders.shop.models import DeliveryTerms
from orders.vocabulary import MessageKind
from tests.services.edited_orders import DATA as PLACED_DATA
from tests.services.edited_orders import a_placed_order
from tests.services.test_corrections import PAYMENT, SHIPMENT, STOCK, waits
from tests.support.factories import ahead
from tests.support.mailbox import Mailbox, mailbox, text_of
from tests.support.order_bodies import EMAIL, LONDON
from tests.web.shopping import declined, done, guest_page, shop_order

pytestmark = pytest.mark.django_db
DATA = {
    "ship_to": LONDON,
    "email": EMAIL,
    "currency": "EUR",
    "delivery": {"price": 990, "fewest_days": 2, "most_days": 4},
    "tax": {"rate": 2000, "amount": 1465},
    "total": 8_790,
}
ROWS = "Delivery to the United Kingdom €9.90 Total €87.90 Includes 20% VAT €14.65"


@pytest.fixture
def box(settings: Any) -> Iterator[Mailbox]:
    with mailbox(settings) as server:
        yield server


def delivered(steps: Any = None, **process: Any) -> OrderProcess:
    """An order with a delivery."""
    order = shop_order(steps, **process)
    Order.objects.filter(pk=order.pk).update(data=DATA, total=8_790)
    return order


def words(response: Any) -> str:
    text = re.sub(r"<[^>]*>", " ", response.content.decode())
    return re.sub(r"[\s\u2009\xa0]+", " ", text)


def test_the_page_of_an_order_has_the_rows_of_its_sum(client: Client) -> None:
    page = words(client.get(guest_page(delivered())))
    assert ROWS in page
    assert re.search(r"Should arrive \w{3} \d+ \w{3,4} – \w{3} \d+ \w{3,4}", page)


def test_an_order_from_before_there_was_delivery_has_it_for_nothing_as_ever(client: Client) -> None:
    page = words(client.get(guest_page(shop_order())))
    assert "Delivery free Total €78.00" in page
    assert "VAT" not in page
    assert "Should arrive" not in page


@pytest.mark.parametrize(
    ("steps", "process"),
    [
        ({"authorise-payment": declined}, {}),
        (done("reserve-stock"), {"goal": "compensate", "process_state": "processing"}),
    ],
)
def test_an_order_that_waits_or_is_cancelled_has_its_rows_but_no_day(
    client: Client, steps: dict[str, Any], process: dict[str, Any]
) -> None:
    fields = {name: step() if callable(step) else step for name, step in steps.items()}
    page = words(client.get(guest_page(delivered(fields, **process))))
    assert ROWS in page
    assert "Should arrive" not in page


def test_an_email_about_it_has_the_same_rows(box: Mailbox) -> None:
    order = delivered()
    arguments = {"language": "en", IS_NEW: True}
    queue.post(kind=MessageKind.ORDER_LINK, recipient=EMAIL, order_id=order.pk, arguments=arguments)
    (email,) = box.deliver()
    text = re.sub(r"\s+", " ", text_of(email))
    assert "Delivery to the United Kingdom: €9.90 Total: €87.90 Includes 20% VAT: €14.65" in text


def test_the_console_says_what_the_total_is_made_of(desk: Callable[[str], Client]) -> None:
    order = delivered()
    page = words(desk("viewer").get(f"/console/orders/{order.pk}/"))
    assert "€87.90 · Delivery to the United Kingdom €9.90 · Includes 20% VAT €14.65" in page


def test_another_country_is_agreed_to_with_what_its_delivery_costs(client: Client) -> None:
    DeliveryTerms.objects.create(country="GB", price=990, fewest_days=2, most_days=4, tax_rate=2000)
    steps = {STOCK: "completed", PAYMENT: "completed", SHIPMENT: waits("address_not_served")}
    order = a_placed_order(steps, data=PLACED_DATA, not_before=ahead(3_600))
    url = f"{guest_page(order)}correct/ship_to/"
    form = client.get(url).content.decode()
    assert re.findall(r'<option value="(\w*)"', form) == ["", "GB"]
    question = words(client.post(url, LONDON))
    assert "Your order will cost €136.90 instead of €127.00." in question
    assert "Delivery to the United Kingdom €9.90 Total €136.90 Includes 20% VAT €22.82" in question
    assert "Change it to €136.90" in question
    assert Order.objects.get().total == 12_700
    assert client.post(url, {**LONDON, "agreed": "13690"}).status_code == 302
    assert Order.objects.get().total == 13_690
