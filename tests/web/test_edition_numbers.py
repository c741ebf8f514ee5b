"""The numbers of numbered prints: on the order's page, in the confirmation, in the console and over REST, once the
warehouse has given them."""

import re
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.models import Order, OrderLine, OrderProcess, StepState
from orders.shop.letters import compose_confirmation, read_sender
from orders.shop.models import Edition, Product
from tests.agents.calls import forward
from tests.support.enclosures import look_up
from tests.support.factories import ago
from tests.support.finished_orders import archive
from tests.support.pdf_text import read_pdf
from tests.web.conftest import Desk
from tests.web.helpers import ORDERS, place
from tests.web.shopping import STEPS, done, guest_page, shop_order
from tests.web.test_corrections_api import hers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue")]
SIGNED = {"sku": "atlas-signed", "title": "Atlas, signed", "quantity": 2, "unit_price": 100, "edition": 100}
PLAIN = {"sku": "tidal-lines", "title": "Tidal Lines", "quantity": 2, "unit_price": 3900}
RESERVED = {
    "reservation": "rsv_1",
    "editions": [{"sku": "atlas-signed", "numbers": [12, 13], "of": 100}],
}
NUMBERS = "Nos. 12 and 13 of 100"


def numbered_order(steps: Any, **process: Any) -> OrderProcess:
    """An order of two numbered prints, and of others, of which the warehouse has given the numbers."""
    order = shop_order(steps, **process)
    stored = Order.objects.get(pk=order.order_id)
    stored.data = {**stored.data, "lines": [PLAIN, SIGNED]}
    stored.save()
    OrderLine.objects.create(
        order=stored, sku="atlas-signed", title="Atlas, signed", quantity=2, unit_price=100
    )
    StepState.objects.filter(process=order, name="reserve-stock").update(result=RESERVED)
    return order


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


@pytest.mark.parametrize("part", ["", "progress/"])
def test_the_page_and_its_live_updates_have_the_numbers(client: Client, part: str) -> None:
    order = numbered_order(done("reserve-stock"))
    text = text_of(client.get(guest_page(order) + part).content.decode())
    assert f"Atlas, signed {NUMBERS}" in text


@pytest.fixture
def atlas() -> None:
    """The numbered print in the catalogue."""
    poster = Product.objects.create(sku="atlas", title="Atlas", size="30x40", price=50)
    Product.objects.create(
        sku="atlas-signed",
        variant_of=poster,
        size="60x80",
        edition=Edition.SIGNED,
        title="Atlas, signed",
        price=100,
    )


@pytest.mark.usefixtures("atlas")
def test_the_print_is_named_in_the_readers_language(client: Client) -> None:
    page = guest_page(numbered_order(done("reserve-stock")))
    text = text_of(client.get(page, headers={"Accept-Language": "hu"}).content.decode())
    assert "Atlas · 60 × 80 cm · Szignált és számozott Sorszám: 12 és 13 (100 példányból)" in text


@pytest.mark.usefixtures("atlas")
def test_the_confirmation_names_the_print_as_the_pages_do() -> None:
    order = numbered_order(done(*STEPS[:-1]))
    assert f"Atlas · 60 × 80 cm · Signed and numbered: {NUMBERS}" in confirmation(order)


@pytest.mark.parametrize("state", ["running", "compensated"])
def test_there_are_no_numbers_before_the_reservation_and_after_its_release(
    client: Client, state: str
) -> None:
    order = numbered_order({"reserve-stock": {"state": state}})
    assert "of 100" not in text_of(client.get(guest_page(order)).content.decode())


def test_an_archived_order_keeps_its_numbers(client: Client) -> None:
    order = numbered_order(done(*STEPS), process_state="processed", started_at=ago(2), finished_at=ago(1))
    archive(order.order_id)
    assert NUMBERS in text_of(client.get(guest_page(order)).content.decode())


@pytest.mark.usefixtures("atlas")
@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Atlas · 60 × 80 cm · Signed and numbered Nos. 12 and 13 of 100"),
        ("hu", "Atlas · 60 × 80 cm · Szignált és számozott Sorszám: 12 és 13 (100 példányból)"),
        ("ko", "Atlas · 60 × 80 cm · 서명 · 넘버링 에디션 총 100장 중 12 및 13번"),
        ("zh-hans", "Atlas · 60 × 80 cm · 签名编号版 编号 12 和 13"),
    ],
)
def test_the_receipt_has_the_numbers(client: Client, language: str, words: str) -> None:
    url = f"{guest_page(numbered_order(done(*STEPS)))}receipt.pdf"
    pdf = client.get(url, headers={"Accept-Language": language}).content
    assert "".join(words.split()) in "".join("".join(read_pdf(pdf).pages).split())


def confirmation(order: OrderProcess, **changes: Any) -> str:
    request = forward("send-confirmation", lines=[PLAIN, SIGNED], **changes)
    request = type(request)(**{**vars(request), "order_id": order.order_id})
    email = compose_confirmation(
        request, sender=read_sender("Shop <orders@shop.example>"), enclosures=look_up(request)
    )
    message: Any = message_from_bytes(email.content, policy=default)
    return str(message.get_body(("plain",)).get_content())


def test_the_confirmation_has_the_numbers(client: Client) -> None:
    order = numbered_order(done(*STEPS[:-1]))
    assert f"Atlas, signed: {NUMBERS}" in confirmation(order)


def test_the_console_has_the_numbers(desk: Desk) -> None:
    order = numbered_order(done("reserve-stock"))
    text = desk("viewer").get(f"/console/orders/{order.order_id}/").content.decode()
    assert f"Edition numbers atlas-signed: {NUMBERS}" in text_of(text.partition('data-fold="storage"')[0])


def test_the_console_has_no_numbers_that_were_given_back(desk: Desk) -> None:
    order = numbered_order({"reserve-stock": {"state": "compensated"}})
    assert NUMBERS not in text_of(desk("viewer").get(f"/console/orders/{order.order_id}/").content.decode())


EDITIONS = [{"sku": "atlas-signed", "numbers": [12, 13], "of": 100}]


def test_a_client_reads_the_numbers_in_the_order(ada: APIClient) -> None:
    order = hers(ada, numbered_order(done("reserve-stock")))
    url = f"{ORDERS}/{order.order_id}"
    assert ada.get(url).json()["editions"] == EDITIONS
    assert ada.get(url, {"fields": "editions"}).json() == {"editions": EDITIONS}


@pytest.mark.parametrize("state", ["running", "compensated"])
def test_a_client_reads_none_before_the_reservation_and_after_its_release(ada: APIClient, state: str) -> None:
    order = hers(ada, numbered_order({"reserve-stock": {"state": state}}))
    assert "editions" not in ada.get(f"{ORDERS}/{order.order_id}").json()


def test_an_order_that_is_placed_or_quoted_has_no_numbers(ada: APIClient) -> None:
    assert "editions" not in place(ada)


def test_a_client_reads_the_numbers_of_an_archived_order(ada: APIClient) -> None:
    order = hers(
        ada, numbered_order(done(*STEPS), process_state="processed", started_at=ago(2), finished_at=ago(1))
    )
    archive(order.order_id)
    assert ada.get(f"{ORDERS}/{order.order_id}").json()["editions"] == EDITIONS


@pytest.mark.parametrize("answer", [None, [], "none", {"editions": "none"}, {"editions": [{"sku": "x"}]}])
def test_what_the_warehouse_answers_may_be_anything(ada: APIClient, answer: Any) -> None:
    order = hers(ada, numbered_order(done("reserve-stock")))
    StepState.objects.filter(process=order, name="reserve-stock").update(result=answer)
    response = ada.get(f"{ORDERS}/{order.order_id}")
    assert response.status_code == 200
    assert "editions" not in response.json()
